# SPDX-License-Identifier: Apache-2.0
"""The device's alarm against the float alarm, given the device's risk: the same steps and flags."""

import warnings

import numpy as np

import tcuq
from tcuq.calibrate.observe import observe
from tcuq.demo import FAULTS, demo_stream
from tcuq.errors import CalibrationWarning
from tcuq.monitor import Monitor
from tcuq.profile.settings import RISK_LEVELS
from tcuq.stages.alarm import Alarm
from tcuq.stages.columns import concatenate
from tcuq.stages.score import risk_odds

STREAMS = ("calibration", "test", *(f"fault_{fault}" for fault in FAULTS))
# Logarithms are rounded down on the device: at 2^8 and 2^15 a few alarms come a block later.
POWERS = (10, 12, 14, 16, 18, 20)
MIN_ALARMS = 200


def test_alarms_come_at_the_same_steps() -> None:
    """Integer and float alarms of all recorded streams agree, at every step and in every flag."""
    alarms = 0
    for power in POWERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            profile = tcuq.fit(
                demo_stream("calibration"),
                alarm=tcuq.AlarmOptions(steps_per_false_alarm=1 << power),
            )
        assert profile.alarm is not None
        for name in STREAMS:
            stream = demo_stream(name)
            trace = Monitor(profile).run(stream)
            columns = concatenate(observe(stream, profile.inputs, profile.signals))
            levels = np.rint(trace.risk * RISK_LEVELS).astype(np.int64)
            expected = Alarm(profile.alarm).run(columns, risk_odds(levels))
            np.testing.assert_array_equal(trace.alarm, expected)
            alarms += int(np.count_nonzero(expected))
    assert alarms >= MIN_ALARMS
