# SPDX-License-Identifier: Apache-2.0
"""The interface: a detector is fitted on a calm stream, then flags the steps at which it alarms.

Every detector has one limit, higher for fewer alarms: by it all can be brought to the same count
of false alarms.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.scores.score import Floats, softmax
from tcuq import Monitor, Profile, Stream

Bools = NDArray[np.bool_]
SIGNALS = ("max_prob", "risk")


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A stream, our profile for it, and the label-free signals that other detectors are fed.

    `max_prob` is 1 - max p, `risk` our score's.
    """

    stream: Stream
    profile: Profile
    values: Mapping[str, Floats]


class Detector(Protocol):
    """One way to detect; `limits` are those to choose from, ascending, `usual` is its default."""

    @property
    def usual(self) -> float:
        """The limit that its authors or textbooks give."""

    @property
    def limits(self) -> Sequence[float]:
        """Limits to choose from, ascending."""

    def fit(self, calibration: Watched) -> None:
        """Learn what is ordinary, if it has to be told."""

    def alarms(self, seen: Watched, limit: float) -> Bools:
        """Where it alarms; after each alarm it goes on as its authors let it."""


def watched(profile: Profile, stream: Stream) -> Watched:
    """The stream with its signals."""
    confidence = softmax(stream.posteriors).max(axis=1)
    risk = Monitor(profile).run(stream).risk.astype(np.float64)
    return Watched(stream, profile, {"max_prob": 1 - confidence, "risk": risk})


def least(limits: Sequence[float], enough: Callable[[float], bool]) -> float:
    """The first limit that is enough, by bisection; infinite if the last is not.

    A higher limit must not alarm more often. Detectors that start anew after an alarm may break
    this by an alarm or two, so the limit found is near the best one, and is always enough.
    """
    place = bisect_left(limits, 1, key=enough)
    return limits[place] if place < len(limits) else float("inf")


def quiet(pairs: Sequence[tuple[Detector, Watched]], most: int = 0) -> Callable[[float], bool]:
    """Whether a limit gives at most so many alarms over all these streams, each by its detector."""

    def enough(limit: float) -> bool:
        count = 0
        for detector, stream in pairs:
            count += int(detector.alarms(stream, limit).sum())
            if count > most:
                return False
        return True

    return enough
