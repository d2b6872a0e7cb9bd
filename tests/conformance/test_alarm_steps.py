# SPDX-License-Identifier: Apache-2.0
"""The device's alarm against the float alarm, given the device's risk: the same steps and flags."""

import warnings

import numpy as np
import pytest

import tcuq
from tcuq.calibrate.observe import observe
from tcuq.demo import FAULTS, demo_stream
from tcuq.monitor import Monitor
from tcuq.profile.settings import RISK_LEVELS
from tcuq.stages.alarm import Alarm
from tcuq.stages.columns import concatenate
from tcuq.stages.score import risk_odds

STREAMS = ("calibration", "test", *(f"fault_{fault}" for fault in FAULTS))
MIN_ALARMS = 10


@pytest.mark.parametrize("power", [8, 12, 17])
def test_alarms_come_at_the_same_steps(power: int) -> None:
    """Integer and float alarms of all recorded streams agree, at every step and in every flag."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        profile = tcuq.fit(demo_stream("calibration"), steps_per_false_alarm=1 << power)
    assert profile.alarm is not None
    alarms = 0
    for name in STREAMS:
        stream = demo_stream(name)
        trace = Monitor(profile).run(stream)
        columns = concatenate(observe(stream, profile.inputs, profile.signals))
        levels = np.rint(trace.risk * RISK_LEVELS).astype(np.int64)
        expected = Alarm(profile.alarm).run(columns, risk_odds(levels))
        np.testing.assert_array_equal(trace.alarm, expected)
        alarms += int(np.count_nonzero(expected))
    assert alarms >= MIN_ALARMS
