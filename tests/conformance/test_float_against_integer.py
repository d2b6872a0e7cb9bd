# SPDX-License-Identifier: Apache-2.0
"""The device's integers against the float reference on the same inputs, stage by stage."""

import numpy as np
import pytest

import tcuq
import tcuq.reference
from tcuq.calibrate.observe import observe
from tcuq.demo import FAULTS, demo_stream
from tcuq.monitor import Monitor
from tcuq.profile.settings import RISK_LEVELS
from tcuq.stages.alarm import Alarm
from tcuq.stages.columns import concatenate
from tcuq.stages.score import risk_odds
from tests.fixtures.conformance import (
    PRESETS,
    RECORDED,
    Preset,
    bounds,
    decision_differences,
    qualities,
    quiet_fit,
    random_stream,
    recorded_profile,
    settled,
    signal_differences,
)

STREAMS = ("calibration", "test", *(f"fault_{fault}" for fault in FAULTS))
# Logarithms are rounded down on the device: at 2^8 and 2^15 a few alarms come a block later.
POWERS = (10, 12, 14, 16, 18, 20)
MIN_ALARMS = 200
APART_FAULTS = ("clipping", "dropout")


def refuse_beyond_bounds(profile: tcuq.Profile, stream: tcuq.Stream) -> None:
    """Assert that labels agree and every signal is within the specified error."""
    differences, limits = signal_differences(profile, stream), bounds(profile)
    assert not {name: worst for name, worst in differences.items() if worst > limits[name]}


@pytest.mark.parametrize("name", RECORDED)
def test_signals_are_within_the_stated_bounds(name: str) -> None:
    """Every signal of every step of the recorded streams is within its bound."""
    refuse_beyond_bounds(recorded_profile(), demo_stream(name))


@pytest.mark.parametrize(("classes", "width"), [(2, 1), (3, 5), (10, 32)])
def test_signals_of_random_streams_are_within_the_stated_bounds(classes: int, width: int) -> None:
    """Random streams from certain to uniform, with few and many features, are within bounds."""
    profile = quiet_fit(random_stream(classes, width, 3000, seed=1))
    stream = random_stream(classes, width, 5000, seed=2)
    refuse_beyond_bounds(profile, stream)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ["test", "fault_clipping"])
def test_stages_after_the_signals(preset: Preset, name: str) -> None:
    """Given the previous stage's output, each integer stage decides as the float stage."""
    differences = decision_differences(recorded_profile(preset), demo_stream(name))
    assert differences.pop("score") <= 5e-3
    assert differences.pop("expected error") <= 5e-3
    assert differences.pop("novelty") <= 1e-2
    assert set(differences.values()) == {0}


@pytest.mark.parametrize("preset", PRESETS)
def test_quality_equals_the_float_path(preset: Preset) -> None:
    """On clean and faulted speech, failure AUROC and AUPRC are within 0.005 of the float path's."""
    stream = demo_stream("development")
    for reference, device in qualities(recorded_profile(preset), stream).values():
        assert abs(device - reference) <= 0.005


@pytest.mark.parametrize("fault", FAULTS)
def test_alarms_agree_with_the_reference(fault: str) -> None:
    """Device and reference first alarm within a block of each other, and as often where settled.

    Of clipping and dropouts the number differs: after the first alarm the learned evidence of the
    two is apart by roundings that add up.
    """
    profile, stream = recorded_profile(), demo_stream(f"fault_{fault}")
    assert profile.alarm is not None
    block = max(channel.block for channel in profile.alarm.channels)
    monitors = (tcuq.reference.ReferenceMonitor(profile), Monitor(profile))
    alarms = [monitor.run(stream).alarm for monitor in monitors]
    first = [np.flatnonzero(alarm)[0] for alarm in alarms]
    assert abs(first[0] - first[1]) <= block
    if fault not in APART_FAULTS:
        same = settled(*alarms)
        steps = [np.flatnonzero(same & (alarm > 0)) for alarm in alarms]
        assert len(steps[0]) == len(steps[1])
        assert np.abs(steps[0] - steps[1]).max(initial=0) <= block


def test_alarms_come_at_the_same_steps() -> None:
    """Integer and float alarms of all recorded streams agree, at every step and in every flag."""
    alarms = 0
    for power in POWERS:
        profile = quiet_fit(demo_stream("calibration"), alarm=tcuq.AlarmOptions(1 << power))
        assert profile.alarm is not None
        for name in STREAMS:
            stream = demo_stream(name)
            trace = Monitor(profile).run(stream)
            columns = concatenate(observe(stream, profile.inputs, profile.signals))
            levels = np.rint(trace.risk * RISK_LEVELS).astype(np.int64)
            expected, amber = Alarm(profile.alarm).run(columns, risk_odds(levels))
            same = settled(expected, trace.alarm)
            np.testing.assert_array_equal(trace.alarm[same], expected[same])
            np.testing.assert_array_equal(trace.amber[same], amber[same])
            alarms += int(np.count_nonzero(expected))
    assert alarms >= MIN_ALARMS
