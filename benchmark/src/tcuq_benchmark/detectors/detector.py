# SPDX-License-Identifier: Apache-2.0
"""The interface: a detector is fitted on an in-distribution stream, then flags alarm steps.

Every detector has one limit, higher for fewer alarms, by which all can be set to the same number
of false alarms.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tcuq import Monitor, Profile, Stream
from tcuq_benchmark.scores.score import Floats, softmax

Bools = NDArray[np.bool_]
SIGNALS = ("max_prob", "risk")


@dataclass(frozen=True, slots=True, eq=False)
class DetectorInput:
    """A stream, our profile for it, and the label-free signals that other detectors read.

    `max_prob` is 1 - max p, `risk` is the risk of our score.
    """

    stream: Stream
    profile: Profile
    signals: Mapping[str, Floats]


class Detector(Protocol):
    """A drift detector with one limit."""

    @property
    def default_limit(self) -> float:
        """The limit that its authors or textbooks give."""

    @property
    def limits(self) -> Sequence[float]:
        """Limits to choose from, ascending."""

    def fit(self, calibration: DetectorInput) -> None:
        """Learn from an in-distribution stream, if the detector needs it."""

    def alarms(self, stream: DetectorInput, limit: float) -> Bools:
        """Return the steps at which it alarms; after an alarm it restarts as its authors define."""


def detector_input(profile: Profile, stream: Stream) -> DetectorInput:
    """Return the stream with its signals."""
    confidence = softmax(stream.posteriors).max(axis=1)
    risk = Monitor(profile).run(stream).risk.astype(np.float64)
    return DetectorInput(stream, profile, {"max_prob": 1 - confidence, "risk": risk})


def signal_input(name: str, values: Floats) -> DetectorInput:
    """Return one signal alone, for river's detectors: they read neither stream nor profile."""
    return DetectorInput(None, None, {name: values})  # type: ignore[arg-type]


def lowest_limit(limits: Sequence[float], accepts: Callable[[float], bool]) -> float:
    """Return the lowest accepted limit, by bisection; infinite if none is.

    Assumes that a higher limit does not alarm more often. Detectors that restart after an alarm
    may violate this by an alarm or two: the limit returned is then near the lowest, and accepted.
    """
    position = bisect_left(limits, 1, key=accepts)
    return limits[position] if position < len(limits) else float("inf")


def at_most_alarms(
    pairs: Sequence[tuple[Detector, DetectorInput]], most: int = 0
) -> Callable[[float], bool]:
    """Return a test whether a limit gives at most `most` alarms over all streams."""

    def accepts(limit: float) -> bool:
        count = 0
        for detector, stream in pairs:
            count += int(detector.alarms(stream, limit).sum())
            if count > most:
                return False
        return True

    return accepts
