# SPDX-License-Identifier: Apache-2.0
"""What an alarm means: sentences, the change behind them, and what a repair forgets."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq import causes
from tcuq.demo import demo_stream
from tcuq.health import SampleReader, read_health
from tcuq.profile import Profile
from tcuq.reference import ReferenceMonitor
from tcuq.telemetry import AMBER, decode

HEALTH = "input health: "
Samples = NDArray[np.int16]
Sensing = tuple[Profile, Samples, np.random.Generator]


SENTENCES = [
    ("", 0.0, ""),
    (HEALTH + "camera level", 1.0, "The camera level rose to 2 times."),
    (HEALTH + "camera level", -0.2, "The camera level fell a little."),
    (HEALTH + "camera level", -9.0, "The camera level fell to almost nothing."),
    (HEALTH + "camera level", 9.0, "The camera level rose to more than 100 times."),
    (HEALTH + "motor roughness", 3.0, "The motor is noisier: its roughness rose to 8 times."),
    (HEALTH + "motor roughness", -0.5, "The motor is smoother: its roughness fell to 71%."),
    (
        HEALTH + "motor spread",
        -8.0,
        "The motor is dead or stuck: its spread fell to almost nothing.",
    ),
    (HEALTH + "motor repeats", -0.1, "The motor's samples repeat less than they did."),
    (HEALTH + "battery", -1.25, "The battery fell by 1.2."),
    (HEALTH + "motor level", 0.0, "The motor level: not as in calibration."),
    ("divergence", 0, "Outputs change otherwise from step to step than in calibration."),
    ("risk", 1.0, "The risk of an error is beyond the highest of calibration."),
    ("novelty since boot", 1.0, "Inputs are unlike those of calibration."),
    ("divergence", 1.58, "Outputs change 3 times as much from step to step."),
    ("instability", -1.0, "Features change half as much from step to step."),
    ("instability", -3.0, "Features hardly change any more: stuck at class 3."),
]


def test_a_cause_is_one_sentence() -> None:
    """The sentence names what changed, in which direction and by how much."""
    for cause, change, sentence in SENTENCES:
        assert causes.meaning(cause, change, 3) == sentence


def test_a_label_that_is_not_known_is_not_named() -> None:
    """A record has one byte for the label: 255 stands for all that do not fit."""
    assert causes.meaning("divergence", -3, 255) == "Outputs hardly change any more."


def sensed(windows: Samples, rng: np.random.Generator) -> tcuq.Stream:
    """A classifier's outputs that tell nothing of the sensor, and its health."""
    labels = np.repeat(rng.integers(3, size=len(windows) // 20), 20)
    posteriors = 0.6 * rng.dirichlet((1, 1, 1), len(windows)) + 0.4 * np.eye(3)[labels]
    starts = range(0, len(windows), 500)
    return tcuq.Stream(posteriors, health=tcuq.health(windows, names=["motor"]), starts=starts)


@pytest.fixture(scope="module")
def sensing() -> Sensing:
    """A profile with health, 1,000 steps of the same kind, and the generator."""
    rng = np.random.default_rng(0)
    windows = rng.normal(0, 60, (9000, 64)).round().astype(np.int16)
    alarm = tcuq.AlarmOptions(1 << 17)
    return tcuq.fit(sensed(windows[:8000], rng), alarm=alarm), windows[8000:], rng


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (lambda x: np.repeat(x[:1], len(x), 0), "The motor is frozen: its samples repeat."),
        (lambda x: 0 * x, "The motor is frozen: its samples repeat."),
        (lambda x: x * 4, "The motor varies more: its spread rose to 4 times."),
        (lambda x: x // 4, "The motor varies less: its spread fell to a quarter."),
        (lambda x: x + 2000, "The motor level rose to more than 100 times."),
    ],
)
def test_alarms_of_the_sensor_say_what_happened(
    sensing: Sensing, fault: Callable[[Samples], Samples], sentence: str
) -> None:
    """Decision, trace and record say the same of each fault, frozen windows included."""
    profile, windows, rng = sensing
    broken = windows.copy()
    broken[500:] = fault(broken[500:])
    stream = sensed(broken, rng)
    monitor = tcuq.Monitor(profile)
    trace = monitor.run(stream)
    step = next(iter(trace.alarms))
    assert step >= 500
    roughness = sentence.replace("varies more: its spread", "is noisier: its roughness")
    roughness = roughness.replace("varies less: its spread", "is smoother: its roughness")
    assert trace.meanings[step] == trace[step].meaning in {sentence, roughness}
    steps = zip(stream.posteriors, np.asarray(stream.health), strict=True)
    one = tcuq.Monitor(profile)
    decisions = [one.step(posterior, None, values) for posterior, values in steps]
    assert decisions[step].meaning == trace.meanings[step]
    (record,) = decode(monitor.record(device=1, firmware=1, boot=0, sequence=0)).records
    assert (record["cause"] & 7, record["label"]) == (5, trace.label[-1])
    assert abs(record["change"] / 8) <= 127 / 8


def test_a_window_that_repeats_is_seen_across_parts() -> None:
    """Windows read one after another are compared as those read at once."""
    windows = np.random.default_rng(1).normal(0, 60, (40, 32)).round().astype(np.int16)
    windows[21:30] = windows[20]
    whole = tcuq.health(windows).values
    reader = SampleReader(1.0)
    parts = [read_health(part, None, reader).values for part in np.split(windows, 8)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert np.flatnonzero(whole[:, 2] == 1).tolist() == list(range(21, 30))


def test_a_repair_brings_back_the_delay(profile: Profile) -> None:
    """After acknowledge the same fault is found as by a new monitor; without it, later."""
    fault = demo_stream("fault_hum")
    first, second = fault.recordings()
    for make in (tcuq.Monitor, ReferenceMonitor):
        new, repaired, left = make(profile), make(profile), make(profile)
        repaired.run(first), left.run(first)
        repaired.acknowledge()
        expected = np.flatnonzero(new.run(second).alarm)[0]
        assert np.flatnonzero(repaired.run(second).alarm)[0] == expected
        assert np.flatnonzero(left.run(second).alarm)[0] > expected


def test_acknowledging_keeps_all_but_the_alarm(profile: Profile) -> None:
    """Past, threshold, budget, telemetry and epoch stay; the alarm stands no longer."""
    stream = demo_stream("fault_hum")
    monitor, other = tcuq.Monitor(profile), tcuq.Monitor(profile)
    for each in (monitor, other):
        each.run(stream[:900])
    stood = monitor.alarm_stands
    monitor.acknowledge()
    assert (stood, monitor.alarm_stands) == (True, False)
    assert monitor.epoch == other.epoch
    after, without = monitor.run(stream[900:1000]), other.run(stream[900:1000])
    for name in ("risk", "threshold", "outcome", "novelty"):
        np.testing.assert_array_equal(getattr(after, name), getattr(without, name))
    fields = [
        decode(each.record(device=1, firmware=1, boot=0, sequence=0)).records[0]
        for each in (monitor, other)
    ]
    assert fields[0]["steps"] == fields[1]["steps"] == 1000
    assert fields[0]["alarms"] <= fields[1]["alarms"]


def test_amber_alone_is_no_alarm_that_stands(profile: Profile) -> None:
    """The record's amber bit lies beside the channel's: an alarm stands by the channel alone."""
    stream, monitor = demo_stream("fault_offset"), tcuq.Monitor(profile)
    ambers = 0
    for step in range(460):
        part = stream[step : step + 1]
        assert not monitor.run(part.posteriors, part.features, part.health).alarm.any()
        (record,) = decode(monitor.record(device=1, firmware=1, boot=0, sequence=0)).records
        ambers += bool(record["cause"] & AMBER)
        assert not monitor.alarm_stands
    assert ambers > 0
