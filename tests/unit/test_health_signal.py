# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tcuq
import tcuq.reference
from tcuq._columns import HEALTH_ONE
from tcuq.calibrate.observe import observe, observe_calibration
from tcuq.decision import cause_in_words
from tcuq.errors import CalibrationWarning, InputError, ProfileError
from tcuq.options import FitOptions
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.stages.inputs import device_health
from tcuq.stages.signals import health_signal

NAMES = ("accelerometer level", "accelerometer roughness", "gyroscope repeats")
SCALES = (2.0, 0.5, 1 / 128)


def statistics(steps: int, seed: int = 0) -> Any:
    """Three statistics of three scales."""
    return 3 + np.random.default_rng(seed).normal(size=(steps, 3)) * SCALES


def with_health(stream: tcuq.Stream, health: Any, names: Any = NAMES) -> tcuq.Stream:
    """The same stream with health."""
    return tcuq.Stream(
        stream.posteriors,
        stream.features,
        stream.labels,
        kind=stream.kind,
        starts=stream.starts,
        health=health,
        health_names=names,
    )


@pytest.fixture(scope="module")
def stream(synthetic: Callable[..., tcuq.Stream]) -> tcuq.Stream:
    """A synthetic stream with health."""
    plain = synthetic(seed=1)
    return with_health(plain, statistics(len(plain)))


@pytest.fixture(scope="module")
def profile(stream: tcuq.Stream) -> Profile:
    """A profile that reads health."""
    with pytest.warns(CalibrationWarning):
        return tcuq.fit(stream)


def same(one: tcuq.Trace, other: tcuq.Trace) -> bool:
    """Whether two traces hold the same decisions."""
    return all((getattr(one, n) == getattr(other, n)).all() for n in tcuq.Trace.__slots__)


def test_a_stream_holds_health_and_its_names(stream: tcuq.Stream) -> None:
    """Values are float64, a slice keeps its part, and names default to numbers."""
    assert stream.health is not None
    assert stream.health.dtype == np.float64
    assert stream.health_names == NAMES
    assert np.array_equal(stream[5:9].health, stream.health[5:9])  # type: ignore[arg-type]
    assert "3 health statistics" in repr(stream)
    assert NAMES[1] in stream._repr_html_()
    unnamed = with_health(stream, stream.health, None)
    assert unnamed.health_names == ("statistic 1", "statistic 2", "statistic 3")
    assert unnamed.sha256 == stream.sha256 != with_health(stream, None, None).sha256
    computed = SimpleNamespace(values=stream.health, names=NAMES)
    assert with_health(stream, computed, None).health_names == NAMES


@pytest.mark.parametrize(
    ("health", "names", "message"),
    [
        (np.zeros((7, 2)), None, r"health must have the shape \(600, 1 to 16"),
        (np.zeros((600, 17)), None, r"got \(600, 17\)"),
        (np.zeros(600), None, r"got \(600,\)"),
        (np.full((600, 1), np.nan), None, "finite.* got nan at step 0, column 0"),
        (np.full((600, 1), 1e10), None, "within"),
        (np.zeros((600, 2)), ["one"], "health_names must be 2 different names"),
        (np.zeros((600, 2)), ["one", "one"], "2 different names"),
        (np.zeros((600, 2)), ["one", ""], "2 different names"),
        (None, ["one"], "must not be given without health"),
    ],
)
def test_wrong_health_is_refused(
    stream: tcuq.Stream, health: Any, names: Any, message: str
) -> None:
    """Shape, values and names are checked when a stream is made."""
    with pytest.raises(InputError, match=message):
        with_health(stream[:600], health, names)


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_files_keep_health(stream: tcuq.Stream, tmp_path: Path, ending: str) -> None:
    """A saved stream has the same health and names; one without has none."""
    for one in (stream, with_health(stream, None, None)):
        path = tmp_path / f"stream{ending}"
        one.save(path)
        again = tcuq.Stream.load(path)
        assert again.sha256 == one.sha256
        assert again.health_names == one.health_names


def test_the_fit_takes_means_and_deviations(profile: Profile, stream: tcuq.Stream) -> None:
    """The reference is calibration's, a file keeps it, and as many means as names are needed."""
    health = profile.signals.health
    assert health is not None
    assert stream.health is not None
    assert health.names == NAMES
    assert np.allclose(health.means, stream.health.mean(axis=0), atol=1e-3)
    assert np.allclose(health.scales, [*stream.health.std(axis=0)[:2], 1 / 64], atol=1e-3)
    assert Profile.from_json(profile.to_json()) == profile
    spec = quantize(profile)
    assert np.frombuffer(spec["health_weights_q9"], "<u2").tolist() == [
        round(512 / scale) for scale in health.scales
    ]
    assert quantize(replace(profile, alarm=None))["health_count"] == 0
    assert health is not None
    signals = replace(profile.signals, health=replace(health, means=(0.0,)))
    with pytest.raises(ProfileError, match=r"signals\.health\.means must be 3"):
        Profile.from_json(replace(profile, signals=signals).to_json())


def test_the_engine_computes_the_float_signal(profile: Profile, stream: tcuq.Stream) -> None:
    """On calibration and on faults the device's health is the reference's within its bound."""
    health = profile.signals.health
    assert health is not None
    for values in (statistics(len(stream), 5), 40 * statistics(len(stream), 6) - 90):
        changed = with_health(stream, values)
        columns = observe(changed, profile.inputs, profile.signals)
        integers = device_health(values, health, len(stream))
        assert integers is not None
        expected = health_signal(integers / HEALTH_ONE, health)
        ours = np.concatenate([part.named("health") for part in columns])
        assert np.abs(ours - expected).max() < 0.1


def test_calibration_is_measured_out_of_fold(profile: Profile, stream: tcuq.Stream) -> None:
    """On average a step is no nearer to references fitted without it."""
    observed = observe_calibration(stream, profile.inputs, FitOptions())
    assert observed.signals.health == profile.signals.health
    fair = np.concatenate([part.named("health") for part in observed.parts])
    columns = observe(stream, profile.inputs, observed.signals)
    assert fair.mean() > np.concatenate([part.named("health") for part in columns]).mean()
    bare = observe_calibration(with_health(stream, None, None), profile.inputs, FitOptions())
    assert bare.signals.health is None
    assert all(part.health is None for part in bare.parts)


@pytest.mark.parametrize("monitor", [tcuq.Monitor, tcuq.reference.ReferenceMonitor])
def test_steps_are_a_run(monitor: Any, profile: Profile, stream: tcuq.Stream) -> None:
    """Steps with health decide what a run decides, from floats and from the device's integers."""
    part = stream[:200]
    assert part.health is not None
    assert part.features is not None
    trace = monitor(profile).run(part)
    one = monitor(profile)
    steps = [
        one.step(*rows) for rows in zip(part.posteriors, part.features, part.health, strict=True)
    ]
    assert steps == [trace[step] for step in range(len(part))]
    integers = device_health(part.health, profile.signals.health, len(part))
    assert same(monitor(profile).run(part.posteriors, part.features, integers), trace)


@pytest.mark.parametrize("monitor", [tcuq.Monitor, tcuq.reference.ReferenceMonitor])
def test_health_may_be_absent_or_unread(
    monitor: Any, profile: Profile, stream: tcuq.Stream
) -> None:
    """A stream without health runs; a profile that does not read health ignores it."""
    bare = with_health(stream, None, None)
    assert profile.alarm is not None
    others = tuple(c for c in profile.alarm.channels if c.signal != "health")
    unread = replace(
        profile,
        signals=replace(profile.signals, health=None),
        alarm=replace(profile.alarm, channels=others),
    )
    assert len(monitor(profile).run(bare)) == len(bare)
    assert same(monitor(unread).run(stream), monitor(unread).run(bare))
    monitor(unread).step(stream.posteriors[0], stream.features[0], np.zeros(9))  # type: ignore[index]


@pytest.mark.parametrize("monitor", [tcuq.Monitor, tcuq.reference.ReferenceMonitor])
@pytest.mark.parametrize(
    ("health", "message"),
    [
        (np.zeros((9, 2)), r"shape \(9, 3\), as the profile's statistics \(accelerometer level, "),
        (np.zeros((8, 3)), r"got \(8, 3\)"),
        (np.full((9, 3), np.nan), "health must be finite"),
        (np.array([["a"] * 3] * 9), "health must be real numbers"),
    ],
)
def test_health_that_does_not_fit_is_refused(
    monitor: Any, profile: Profile, stream: tcuq.Stream, health: Any, message: str
) -> None:
    """Another width, another length and NaN are refused, and the monitor stays as it was."""
    one = monitor(profile)
    part = stream[:9]
    with pytest.raises(InputError, match=message):
        one.run(part.posteriors, part.features, health)
    with pytest.raises(InputError, match="must not be given beside a Stream"):
        one.run(part, None, part.health)
    assert same(one.run(part), monitor(profile).run(part))


def test_a_cause_has_words() -> None:
    """Channels by their names, none without an alarm."""
    assert cause_in_words(NAMES, 0, 0) == ""
    assert cause_in_words(NAMES, int(tcuq.AlarmFlag.NOVELTY), 0) == "novelty"
    explained = cause_in_words(NAMES, int(tcuq.AlarmFlag.NOVELTY), 1)
    assert explained == f"novelty, input health: {NAMES[0]}"
    both = tcuq.AlarmFlag.NOVELTY | tcuq.AlarmFlag.DIVERGENCE
    assert cause_in_words((), int(both), 0) == "novelty, divergence"
