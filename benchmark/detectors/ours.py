# SPDX-License-Identifier: Apache-2.0
"""Our alarm as the device runs it, or in float; its limit is h: one false alarm in 2^h steps."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchmark.detectors.detector import Bools, Watched
from tcuq import CalibrationWarning, Monitor, Profile, Stream, fit

SMALLEST_H, USUAL_H, LARGEST_H = 8, 20, 40


def calibrated(stream: Stream, caution: int = 1) -> Profile:
    """The recommended profile, without labels; its warnings are kept in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return fit(stream, caution=caution)


@dataclass(frozen=True, slots=True)
class Ours:
    """The library's alarm, all channels."""

    device: bool = True
    usual: float = USUAL_H
    limits: Sequence[float] = tuple(range(SMALLEST_H, LARGEST_H + 1))

    def fit(self, calibration: Watched) -> None:
        """Done already: the profile comes with the stream."""

    def alarms(self, seen: Watched, limit: float) -> Bools:
        """Any channel."""
        return self.flags(seen, limit) > 0

    def flags(self, seen: Watched, limit: float) -> NDArray[np.uint8]:
        """The channels that alarm at each step, as bits."""
        if seen.profile.alarm is None:
            raise ValueError("the profile must have an alarm, got none")
        profile = replace(seen.profile, alarm=replace(seen.profile.alarm, h=int(limit)))
        monitor = Monitor(profile) if self.device else Monitor(profile)
        return monitor.run(seen.stream).alarm
