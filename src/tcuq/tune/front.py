# SPDX-License-Identifier: Apache-2.0
"""Limits, the Pareto front of what keeps them, and the choice."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import FitError, InputError
from tcuq.tune.trial import Trial

MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Limits:
    """What a profile may take and do.

    Parameters
    ----------
    ram, flash
        Bytes of the monitor's state, and of its code and tables.
    false_alarms
        In a million steps: what the alarm must promise, and not exceed on the judging part.
    """

    ram: int | None = None
    flash: int | None = None
    false_alarms: float = 1.0

    def __post_init__(self) -> None:
        if not 1e-6 <= self.false_alarms <= 3906:
            raise InputError(
                f"false_alarms must lie in 1e-6..3906 per million steps, got {self.false_alarms}"
            )

    @property
    def h(self) -> int:
        """The alarm's promise, one in 2^h steps, that keeps to the limit."""
        return math.ceil(math.log2(MILLION / self.false_alarms))

    def broken(self, trial: Trial) -> list[str]:
        """The limits that a trial breaks."""
        return [
            name
            for name, limit in (
                ("ram", self.ram),
                ("flash", self.flash),
                ("false_alarms", self.false_alarms),
            )
            if limit is not None and getattr(trial, name) > limit
        ]


@dataclass(frozen=True, slots=True)
class Judge:
    """What counts, and in which order.

    With labels the first is Chow's cost of a step: 1 if it was wrong and let through, `price` if it
    was abstained. Without, it is the fastest possible alarm.

    References
    ----------
    C. K. Chow, On optimum recognition error and reject tradeoff, 1970.
    L. Breiman et al., Classification and Regression Trees, 1984: the rule of one standard error.
    """

    labelled: bool
    price: float

    def cost(self, trial: Trial) -> float:
        """Chow's cost."""
        return trial.wrong + self.price * trial.abstained

    def measures(self, trial: Trial) -> tuple[float, ...]:
        """Of these less is better."""
        size = (trial.ram, trial.flash)
        if self.labelled:
            return (self.cost(trial), trial.delay, *size)
        return (trial.delay, trial.deviation, *size)

    def front(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials that no other betters in every measure, best first, one of each measure."""
        by_measures = {self.measures(trial): trial for trial in reversed(trials)}
        return [
            trial
            for own, trial in sorted(by_measures.items(), key=lambda item: item[0])
            if not any(_betters(other, own) for other in by_measures)
        ]

    def chosen(self, front: Sequence[Trial]) -> Trial:
        """The first; with labels, the least RAM of those whose cost is within its noise."""
        if not self.labelled:
            return front[0]
        alike = [trial for trial in front if self._is_within_noise(trial, front[0])]
        return min(alike, key=lambda t: (math.isinf(t.delay), t.ram, t.delay, t.flash))

    def _is_within_noise(self, trial: Trial, best: Trial) -> bool:
        """Whether it costs at most one standard error more, part by part of the judging part."""
        excess = self._cost_by_part(trial) - self._cost_by_part(best)
        error = math.sqrt(len(excess)) * excess.std(ddof=1)
        return bool(excess.sum() <= error)

    def _cost_by_part(self, trial: Trial) -> NDArray[np.float64]:
        return np.array(trial.wrong_by_part) + self.price * np.array(trial.abstained_by_part)


def kept(trials: Sequence[Trial], limits: Limits) -> list[Trial]:
    """The trials that were fitted and keep every limit; an error that counts if there are none."""
    made = [trial for trial in trials if not trial.failed]
    if not made:
        raise FitError(f"no candidate can be fitted: {trials[0].failed}")
    found = [trial for trial in made if not limits.broken(trial)]
    if not found:
        reasons = [name for trial in made for name in limits.broken(trial)]
        said = ", ".join(
            f"{name} by {reasons.count(name)} (least {min(getattr(t, name) for t in made):,.6g})"
            for name in dict.fromkeys(reasons)
        )
        raise FitError(f"none of {len(made)} candidates keeps the limits; broken: {said}")
    return found


def _betters(other: tuple[float, ...], own: tuple[float, ...]) -> bool:
    return other != own and all(o <= w for o, w in zip(other, own, strict=True))
