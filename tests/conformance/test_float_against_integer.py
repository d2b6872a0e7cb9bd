# SPDX-License-Identifier: Apache-2.0
"""The device's integers against the float reference on the same inputs, stage by stage."""

import pytest

import tcuq
import tcuq.reference
from tcuq.demo import demo_stream
from tcuq.monitor import Monitor
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
    signal_differences,
)


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
    assert differences.pop("novelty") <= 1e-2
    assert set(differences.values()) == {0}


@pytest.mark.parametrize("preset", PRESETS)
def test_quality_equals_the_float_path(preset: Preset) -> None:
    """On clean and faulted speech, failure AUROC and AUPRC are within 0.005 of the float path's."""
    stream = demo_stream("development")
    for reference, device in qualities(recorded_profile(preset), stream).values():
        assert abs(device - reference) <= 0.005


def test_step_is_run() -> None:
    """The engine decides the same step by step and in bulk."""
    stream = demo_stream("fault_clipping")
    assert stream.features is not None
    one, many = Monitor(recorded_profile()), Monitor(recorded_profile())
    trace = many.run(stream.posteriors[:500], stream.features[:500])
    for index in range(500):
        assert one.step(stream.posteriors[index], stream.features[index]) == trace[index]


def test_alarms_agree_with_the_reference() -> None:
    """On a detected fault, device and reference alarm in the same block."""
    stream = demo_stream("fault_clipping")
    reference = tcuq.reference.ReferenceMonitor(recorded_profile()).run(stream)
    device = Monitor(recorded_profile()).run(stream)
    assert reference.alarm.any()
    assert device.alarm.nonzero()[0].tolist() == reference.alarm.nonzero()[0].tolist()
