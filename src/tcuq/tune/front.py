# SPDX-License-Identifier: Apache-2.0
"""Limits, the Pareto front of the trials within them, and the choice from the front."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import FitError, InputError
from tcuq.profile.settings import MAX_STEPS_PER_FALSE_ALARM
from tcuq.tune.trial import Trial

MILLION = 1e6
# Per million steps, rounded to what a fit takes.
FEWEST, MOST = math.ceil(100 * MILLION / MAX_STEPS_PER_FALSE_ALARM) / 100, 3906


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds for a profile.

    Parameters
    ----------
    ram, flash
        Bytes of the monitor's state, and of its code and tables.
    false_alarms
        Per million steps: the rate that the alarm must promise and keep on the validation part.
    """

    ram: int | None = None
    flash: int | None = None
    false_alarms: float = 1.0

    def __post_init__(self) -> None:
        if not FEWEST <= self.false_alarms <= MOST:
            raise InputError(
                f"false_alarms must lie in {FEWEST}..{MOST} per million steps,"
                f" got {self.false_alarms}"
            )

    @property
    def h(self) -> int:
        """The smallest h whose promise, one false alarm in 2^h steps, is within the limit."""
        return math.ceil(math.log2(MILLION / self.false_alarms))

    def violations(self, trial: Trial) -> list[str]:
        """The names of the limits that a trial exceeds."""
        limits = {"ram": self.ram, "flash": self.flash, "false_alarms": self.false_alarms}
        return [n for n, limit in limits.items() if limit is not None and getattr(trial, n) > limit]


@dataclass(frozen=True, slots=True)
class Objective:
    """The measures to minimise, in order of importance.

    With labels the first is Chow's cost of a step: 1 for an error without abstention, `price` for
    an abstention. Without labels it is the fastest possible alarm.

    References
    ----------
    C. K. Chow, On optimum recognition error and reject tradeoff, 1970.
    L. Breiman et al., Classification and Regression Trees, 1984: the rule of one standard error.
    """

    labelled: bool
    price: float

    def cost(self, trial: Trial) -> float:
        """Return Chow's cost: errors, and abstentions at their price."""
        return trial.wrong + self.price * trial.abstained

    def measures(self, trial: Trial) -> tuple[float, ...]:
        """The measures of a trial; less is better."""
        size = (trial.ram, trial.flash)
        if self.labelled:
            return (self.cost(trial), trial.delay, *size)
        return (trial.delay, trial.deviation, *size)

    def front(self, trials: Sequence[Trial]) -> list[Trial]:
        """The Pareto front: trials that no other dominates, best first, one per set of measures."""
        by_measures = {self.measures(trial): trial for trial in reversed(trials)}
        return [
            trial
            for own, trial in sorted(by_measures.items(), key=lambda item: item[0])
            if not any(_dominates(other, own) for other in by_measures)
        ]

    def choose(self, front: Sequence[Trial]) -> Trial:
        """The first; with labels, the least RAM among those within one standard error of it."""
        if not self.labelled:
            return front[0]
        close = [trial for trial in front if self._is_within_one_error(trial, front[0])]
        return min(close, key=lambda t: (math.isinf(t.delay), t.ram, t.delay, t.flash))

    def _is_within_one_error(self, trial: Trial, best: Trial) -> bool:
        """Whether the extra cost is at most its standard error over the validation blocks."""
        excess = self._block_costs(trial) - self._block_costs(best)
        error = math.sqrt(len(excess)) * excess.std(ddof=1)
        return bool(excess.sum() <= error)

    def _block_costs(self, trial: Trial) -> NDArray[np.float64]:
        return np.array(trial.wrong_by_block) + self.price * np.array(trial.abstained_by_block)


def within_limits(trials: Sequence[Trial], limits: Limits) -> list[Trial]:
    """The fitted trials that exceed no limit; an error with counts if there are none."""
    fitted = [trial for trial in trials if not trial.error]
    if not fitted:
        raise FitError(f"no candidate can be fitted: {trials[0].error}")
    allowed = [trial for trial in fitted if not limits.violations(trial)]
    if not allowed:
        names = [name for trial in fitted for name in limits.violations(trial)]
        counts = ", ".join(
            f"{name} by {names.count(name)} (least {min(getattr(t, name) for t in fitted):,.6g})"
            for name in dict.fromkeys(names)
        )
        raise FitError(f"none of {len(fitted)} candidates is within the limits; exceeded: {counts}")
    return allowed


def _dominates(other: tuple[float, ...], own: tuple[float, ...]) -> bool:
    return other != own and all(o <= w for o, w in zip(other, own, strict=True))
