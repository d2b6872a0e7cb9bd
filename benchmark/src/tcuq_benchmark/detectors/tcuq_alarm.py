# SPDX-License-Identifier: Apache-2.0
"""The library's alarm as a detector; its limit is h: one false alarm in 2^h steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tcuq import Monitor
from tcuq_benchmark.detectors.detector import Bools, DetectorInput

SMALLEST_H, DEFAULT_H, LARGEST_H = 8, 20, 24  # as the profile of any alarm allows


@dataclass(frozen=True, slots=True)
class TcuqAlarm:
    """The library's alarm, all channels."""

    default_limit: float = DEFAULT_H
    limits: Sequence[float] = tuple(range(SMALLEST_H, LARGEST_H + 1))

    def fit(self, calibration: DetectorInput) -> None:
        """Learn nothing: the profile comes with the stream."""

    def alarms(self, stream: DetectorInput, limit: float) -> Bools:
        """Return the steps at which any channel alarms."""
        return self.flags(stream, limit) > 0

    def flags(self, stream: DetectorInput, limit: float) -> NDArray[np.uint8]:
        """Return the channels that alarm at each step, as bits."""
        if stream.profile.alarm is None:
            raise ValueError("the profile must have an alarm, got none: fit it with alarm=True")
        alarm = replace(stream.profile.alarm, steps_per_false_alarm=1 << int(limit))
        profile = replace(stream.profile, alarm=alarm)
        return Monitor(profile).run(stream.stream).alarm
