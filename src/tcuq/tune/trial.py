# SPDX-License-Identifier: Apache-2.0
"""A trial: one candidate fitted on the fitting part and judged on the judging part."""

import math
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate import fit
from tcuq.errors import CalibrationWarning, FitError
from tcuq.evaluate import Evaluation, evaluate
from tcuq.export.footprint import footprint
from tcuq.profile import Profile
from tcuq.stages.budget import Outcome
from tcuq.stream import Stream
from tcuq.tune.grid import Candidate
from tcuq.tune.split import usual

PARTS = 16  # of the judging part, to tell a difference from noise
BY_PART = ("wrong_by_part", "abstained_by_part")


@dataclass(frozen=True, slots=True)
class Bench:
    """What every candidate is fitted and judged on, and the device it is for."""

    fitting: Stream
    judging: Stream
    cpu: str
    telemetry: bool

    @property
    def labelled(self) -> bool:
        """Whether both parts have labels to learn from and to judge by."""
        return all(
            part.labels is not None and bool((part.labels >= 0).any())
            for part in (self.fitting, self.judging)
        )

    def trial(self, candidate: Candidate) -> "Trial":
        """Fit and judge; a candidate that cannot be fitted says why."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CalibrationWarning)  # the chosen one will warn
                profile = fitted(self.fitting, candidate)
        except FitError as error:
            return Trial(candidate, failed=str(error))
        size = footprint(profile, self.cpu, telemetry=self.telemetry)
        found = evaluate(profile, self.judging, rounds=0)
        trial = Trial(
            candidate,
            flash=size.flash,
            ram=size.ram,
            instructions=size.instructions,
            delay=self._delay(profile, found),
            false_alarms=found["false alarms per million"].value,
            deviation=found["deviation from alpha"].value,
        )
        return self._by_labels(trial, found) if self.labelled else trial

    def _delay(self, profile: Profile, found: Evaluation) -> float:
        """Median steps to the alarm where shifts are marked, else the fewest it could take."""
        shifted = self.judging.shifted
        if shifted is not None and shifted.any():
            return found["detection delay"].value
        fastest = [
            steps
            for name, steps in profile.provenance.figures.items()
            if name.endswith(".fastest_alarm_steps") and steps > 0
        ]
        return min(fastest, default=math.inf)

    def _by_labels(self, trial: "Trial", found: Evaluation) -> "Trial":
        labels = self.judging.labels
        assert labels is not None  # noqa: S101 - labelled; for the type checker
        known = labels >= 0
        abstained = (found.trace.outcome == Outcome.ABSTAIN)[known]
        wrong = (found.trace.label != labels)[known]
        auroc = found["failure AUROC"].value
        return replace(
            trial,
            wrong_by_part=_by_part(wrong & ~abstained),
            abstained_by_part=_by_part(abstained),
            auroc=0.5 if math.isnan(auroc) else auroc,
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate, what it takes of a device, and what it did on the judging part.

    ``delay`` is the alarm's, in steps; ``false_alarms`` are in a million steps; ``deviation`` is of
    the exceedances from alpha. With labels, the shares of steps that were wrong and let through,
    or abstained, are kept by consecutive parts, which add up to ``wrong`` and ``abstained``.
    """

    options: Candidate
    flash: int = 0
    ram: int = 0
    instructions: int = 0
    delay: float = math.inf
    false_alarms: float = 0.0
    deviation: float = 0.0
    wrong_by_part: tuple[float, ...] = ()
    abstained_by_part: tuple[float, ...] = ()
    auroc: float = 0.5
    failed: str = ""

    @property
    def wrong(self) -> float:
        """Share of steps that were wrong and let through."""
        return sum(self.wrong_by_part)

    @property
    def abstained(self) -> float:
        """Share of steps that were abstained."""
        return sum(self.abstained_by_part)

    def as_json(self) -> dict[str, Any]:
        """Plain values; an alarm that never comes is null."""
        return {**asdict(self), "delay": self.delay if math.isfinite(self.delay) else None}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Trial":
        """The reverse."""
        changed: dict[str, Any] = {n: tuple(document[n]) for n in BY_PART}
        changed["delay"] = math.inf if document["delay"] is None else document["delay"]
        changed["options"] = document["options"] | {"lags": tuple(document["options"]["lags"])}
        return cls(**{**document, **changed})


def _by_part(event: NDArray[np.bool_]) -> tuple[float, ...]:
    """What each of consecutive parts adds to the share of an event."""
    return tuple(float(part.sum() / len(event)) for part in np.array_split(event, PARTS))


def fitted(stream: Stream, candidate: Candidate) -> Profile:
    """A profile with these options: calibrated on usual steps, the tcuq score on all."""
    development = stream if candidate["score"] == "tcuq" else None
    return fit(usual(stream), development, **candidate)


def longest_block(stream: Stream) -> int:
    """Steps of the alarm's longest block at the largest factor; the same for every grid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        alarm = fit(usual(stream), block_factor=4).alarm
    assert alarm is not None  # noqa: S101 - the recommended preset has one; for the type checker
    return max(channel.block for channel in alarm.channels)
