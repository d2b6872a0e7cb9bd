# SPDX-License-Identifier: Apache-2.0
"""A trial: one candidate, fitted on the training part and evaluated on the validation part."""

import math
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.calibrate import fit
from tcuq.errors import CalibrationWarning, FitError
from tcuq.evaluation import Evaluation, evaluate
from tcuq.firmware.footprint import footprint
from tcuq.options import AlarmOptions, grouped
from tcuq.profile import Profile
from tcuq.stages.budget import Outcome
from tcuq.stream import Stream
from tcuq.tune.grid import Candidate

BLOCKS = 16  # of the validation part, to estimate the standard error of a cost
BY_BLOCK = ("wrong_by_block", "abstained_by_block")
TRAINING_SHARE = 0.6
MIN_STEPS = 256  # that are not shifted, in either part


@dataclass(frozen=True, slots=True)
class TrialRunner:
    """Fits and evaluates candidates on the two parts of a stream, for one device."""

    training: Stream
    validation: Stream
    cpu: str
    telemetry: bool

    @property
    def labelled(self) -> bool:
        """Whether both parts have labels."""
        return all(part.labelled > 0 for part in (self.training, self.validation))

    def run(self, candidate: Candidate) -> "Trial":
        """Fit and evaluate one candidate; if it cannot be fitted, the trial holds the error."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CalibrationWarning)  # the final fit warns
                profile = fit_candidate(self.training, candidate)
        except FitError as error:
            return Trial(candidate, error=str(error))
        size = footprint(profile, self.cpu, telemetry=self.telemetry)
        evaluation = evaluate(profile, self.validation, rounds=0)
        trial = Trial(
            candidate,
            flash=size.flash,
            ram=size.ram,
            delay=self._delay(profile, evaluation),
            false_alarms=evaluation["false alarms per million"].value,
            deviation=evaluation["deviation from alpha"].value,
        )
        return self._with_labels(trial, evaluation) if self.labelled else trial

    def _delay(self, profile: Profile, evaluation: Evaluation) -> float:
        """Median detection delay if shifts are marked, else the fastest possible alarm."""
        shifted = self.validation.shifted
        if shifted is not None and shifted.any():
            return evaluation["detection delay"].value
        fastest = [
            steps
            for name, steps in profile.provenance.figures.items()
            if name.endswith(".fastest_alarm_steps") and steps > 0
        ]
        return min(fastest, default=math.inf)

    def _with_labels(self, trial: "Trial", evaluation: Evaluation) -> "Trial":
        """The trial with the measures that need labels."""
        labels = self.validation.labels
        assert labels is not None  # noqa: S101 - labelled; for the type checker
        known = labels != UNKNOWN
        abstained = (evaluation.trace.outcome == Outcome.ABSTAIN)[known]
        wrong = (evaluation.trace.label != labels)[known]
        auroc = evaluation["failure AUROC"].value
        return replace(
            trial,
            wrong_by_block=_by_block(wrong & ~abstained),
            abstained_by_block=_by_block(abstained),
            auroc=0.5 if math.isnan(auroc) else auroc,
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate, its size on the device and its measures on the validation part.

    ``delay`` is the alarm's, in steps; ``false_alarms`` are per million steps; ``deviation`` is the
    distance of the exceedance rate from alpha. With labels, the shares of errors without abstention
    and of abstentions are stored for consecutive blocks; their sums are ``wrong`` and
    ``abstained``.
    """

    options: Candidate
    flash: int = 0
    ram: int = 0
    delay: float = math.inf
    false_alarms: float = 0.0
    deviation: float = 0.0
    wrong_by_block: tuple[float, ...] = ()
    abstained_by_block: tuple[float, ...] = ()
    auroc: float = 0.5
    error: str = ""  # why it could not be fitted

    @property
    def wrong(self) -> float:
        """Share of steps with an error and no abstention."""
        return sum(self.wrong_by_block)

    @property
    def abstained(self) -> float:
        """Share of steps with an abstention."""
        return sum(self.abstained_by_block)

    def as_json(self) -> dict[str, Any]:
        """The trial as JSON values; an infinite delay is null."""
        return {**asdict(self), "delay": self.delay if math.isfinite(self.delay) else None}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Trial":
        """The trial that ``as_json`` gave."""
        values: dict[str, Any] = {n: tuple(document[n]) for n in BY_BLOCK}
        values["delay"] = math.inf if document["delay"] is None else document["delay"]
        values["options"] = document["options"] | {"lags": tuple(document["options"]["lags"])}
        return cls(**{**document, **values})


def _by_block(event: NDArray[np.bool_]) -> tuple[float, ...]:
    """The share of an event, split over consecutive blocks."""
    return tuple(float(block.sum() / len(event)) for block in np.array_split(event, BLOCKS))


def fit_candidate(stream: Stream, candidate: Candidate) -> Profile:
    """Fit with these options: calibrate on unshifted steps, train the tcuq score on all."""
    development = stream if candidate["score"] == "tcuq" else None
    return fit(unshifted(stream), development, **grouped("recommended", candidate))


def longest_block(stream: Stream) -> int:
    """Steps of the alarm's longest block at the largest factor; the same for every grid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        alarm = fit(unshifted(stream), alarm=AlarmOptions(block_factor=4)).alarm
    assert alarm is not None  # noqa: S101 - the recommended preset has one; for the type checker
    return max(channel.block for channel in alarm.channels)


def training_part(stream: Stream) -> Stream:
    """The first 60 % of the steps."""
    part = stream[: max(1, int(TRAINING_SHARE * len(stream)))]
    _check("training", part)
    return part


def validation_part(stream: Stream, gap: int) -> Stream:
    """The steps after the training part and a gap."""
    begin = int(TRAINING_SHARE * len(stream)) + gap
    if begin >= len(stream):
        raise FitError(
            f"a gap of {gap} steps, the alarm's longest block, leaves none of the last"
            f" {len(stream) - begin + gap} steps for validation; give a longer stream"
        )
    part = stream[begin:]
    _check("validation", part)
    return part


def unshifted(stream: Stream) -> Stream:
    """The steps that are not marked as shifted; a new recording begins after each gap."""
    if stream.shifted is None or not stream.shifted.any():
        return stream
    keep = ~stream.shifted
    begins = np.zeros(len(stream), np.bool_)
    begins[stream.starts] = True
    begins[1:] |= stream.shifted[:-1]
    return Stream(
        stream.posteriors[keep],
        None if stream.features is None else stream.features[keep],
        None if stream.labels is None else stream.labels[keep],
        classes=stream.class_names,
        kind=stream.kind,
        starts=np.flatnonzero(begins[keep]),
        health=None if stream.health is None else stream.health[keep],
        health_names=None if stream.health is None else stream.health_names,
    )


def _check(name: str, part: Stream) -> None:
    steps = len(part) if part.shifted is None else int((~part.shifted).sum())
    if steps < MIN_STEPS:
        raise FitError(
            f"the {name} part must hold at least {MIN_STEPS} steps that are not shifted,"
            f" got {steps}; give a longer stream"
        )
