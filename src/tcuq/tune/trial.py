# SPDX-License-Identifier: Apache-2.0
"""A trial: one candidate fitted on the fitting part and judged on the judging part."""

import math
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

from tcuq.budget import Outcome
from tcuq.calibrate import fit
from tcuq.errors import CalibrationWarning, FitError
from tcuq.evaluate import Evaluation, evaluate
from tcuq.export.footprint import footprint
from tcuq.profile import Profile
from tcuq.stream import Stream
from tcuq.tune.grid import Candidate
from tcuq.tune.split import usual


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
            false_alarms=found["false alarms per million steps"].value,
            deviation=found["exceedance deviation from alpha"].value,
        )
        return self._by_labels(trial, found) if self.labelled else trial

    def _delay(self, profile: Profile, found: Evaluation) -> float:
        """Median steps to the alarm where shifts are marked, else the fewest it could take."""
        shifted = self.judging.shifted
        if shifted is not None and shifted.any():
            return found["detection delay, median steps"].value
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
            wrong=float((wrong & ~abstained).mean()),
            abstained=float(abstained.mean()),
            auroc=0.5 if math.isnan(auroc) else auroc,
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate and what it took, missed and cost; without labels the last three are 0.

    ``wrong`` and ``abstained`` are shares of the labelled steps: wrong and let through, abstained.
    ``delay`` and ``deviation`` are in steps and of the exceedances from alpha, ``false_alarms``
    per million steps.
    """

    options: Candidate
    flash: int = 0
    ram: int = 0
    instructions: int = 0
    delay: float = math.inf
    false_alarms: float = 0.0
    deviation: float = 0.0
    wrong: float = 0.0
    abstained: float = 0.0
    auroc: float = 0.5
    failed: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values; an alarm that never comes is null."""
        return {**asdict(self), "delay": self.delay if math.isfinite(self.delay) else None}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Trial":
        """The reverse."""
        delay = math.inf if document["delay"] is None else document["delay"]
        options = {**document["options"], "lags": tuple(document["options"]["lags"])}
        return cls(**{**document, "delay": delay, "options": options})


def fitted(stream: Stream, candidate: Candidate) -> Profile:
    """A profile with these options: calibrated on usual steps, the tcuq score on all."""
    development = stream if candidate["score"] == "tcuq" else None
    return fit(usual(stream), development, verbose=False, **candidate)


def longest_block(stream: Stream, candidate: Candidate) -> int:
    """Steps of the longest block of a candidate's alarm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        alarm = fitted(stream, candidate).alarm
    assert alarm is not None  # noqa: S101 - every candidate has one; for the type checker
    return max(channel.block for channel in alarm.channels)
