# SPDX-License-Identifier: Apache-2.0
"""The monitor: its inputs, its refusals and many streams at once."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
import tcuq.reference
from tcuq._conversion import MAX_MAGNITUDE
from tcuq.decision import Decision
from tcuq.errors import CalibrationWarning, InputError
from tcuq.monitor import ALARMS, OUTCOMES, Monitor, run_many
from tcuq.profile.quantize import quantize
from tcuq.runtime import Engine
from tcuq.stages.inputs import Inputs
from tcuq.stages.threshold import REASONS
from tcuq.stream import SUM_TOLERANCE, Kind
from tests.fixtures.conformance import feature_bytes, posterior_bytes, probabilities_of

SCALARS: list[Callable[[float], Any]] = [
    float,
    np.float32,
    np.array,
    lambda p: [p],
    lambda p: np.array([p]),
]


@pytest.fixture(scope="module")
def narrow(synthetic: Callable[..., tcuq.Stream]) -> tcuq.Profile:
    """Three classes, four features, probabilities."""
    with pytest.warns(CalibrationWarning):
        return tcuq.fit(synthetic(seed=1))


def engine_of(profile: tcuq.Profile, **changes: object) -> Engine:
    """Return the engine of a changed profile."""
    rules = {
        "logits": 0,
        "promise": 0,
        "feature_scale": 0.05,
        "max_magnitude": MAX_MAGNITUDE,
        "sum_tolerance": SUM_TOLERANCE,
        "output_centres": None,
        "output_scales": None,
    }
    spec = {**quantize(profile), **rules, **changes}
    return Engine(spec, Decision, OUTCOMES, REASONS, ALARMS, lambda *_: "")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("logits", [0, 1])
def test_posteriors_are_quantised_as_specified(
    narrow: tcuq.Profile, dtype: type, logits: int
) -> None:
    """Quantised rows equal NumPy's, from uniform to certain, with ties, whatever their sum."""
    for classes in (2, 7, 8, 9, 10, 129, 1000):
        check_quantised(narrow, classes, dtype, logits)


def check_quantised(narrow: tcuq.Profile, classes: int, dtype: type, logits: int) -> None:
    """Quantise rows of so many classes."""
    rng = np.random.default_rng(classes)
    rows = rng.normal(size=(2000, classes)) * rng.exponential(4, (2000, 1))
    rows[:5] = 0
    rows[1, 0] = 1000
    rows[2, 1] = -1000
    rows[3] = np.log(1 + np.arange(classes) % 2)
    if not logits:
        rows = probabilities_of(rows)
        rows[4] = np.arange(classes) < 2
        rows[4, :2] = [1.5 / 256, 254.5 / 256]  # ties go to even
        rows[5:] *= rng.uniform(0.985, 1.015, (1995, 1))
    given: Any = rows.astype(dtype)
    columns: Any = np.zeros((2000, 4), dtype)
    quantised = engine_of(narrow, classes=classes, logits=logits).quantize(given, columns)
    assert quantised is not None
    values = given.astype(np.float64)
    expected = posterior_bytes(probabilities_of(values) if logits else values)
    assert (np.frombuffer(quantised[0], np.uint8).reshape(rows.shape) == expected).all()


def test_a_devices_bytes_come_back_unchanged(
    profile: tcuq.Profile, test_stream: tcuq.Stream
) -> None:
    """A recording in 1/256 is decided by the bytes that the device had, whatever they sum to."""
    assert (test_stream.posteriors.sum(axis=1) != 1).any()
    rows, _ = Monitor(profile).quantize(test_stream.posteriors, test_stream.features)
    assert (rows == np.minimum(test_stream.posteriors * 256, 255)).all()
    reference = Inputs(profile.inputs)
    shares, _ = reference.run(test_stream.posteriors, test_stream.features)
    assert (shares == rows / rows.sum(axis=1, keepdims=True)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.05, 0.25, 1e-12, 1e12])
def test_features_are_quantised_as_specified(
    narrow: tcuq.Profile, dtype: type, scale: float
) -> None:
    """Quantised features equal NumPy's: ties to even, saturated, without overflow."""
    rng = np.random.default_rng(3)
    wide: Any = (rng.normal(size=(3000, 4)) * rng.choice([1, 60, 200], (3000, 1))) * scale
    ties = (np.arange(1200) - 600).reshape(300, 4) / 4
    wide[:300] = ties * scale
    wide[300:302] = [[1e9, -1e9, 0, -0.0], [1e-300, -1e-300, 127.5 * scale, -127.5 * scale]]
    wide = np.clip(wide, -MAX_MAGNITUDE, MAX_MAGNITUDE).astype(dtype)
    rows: Any = np.full((3000, 3), 1 / 3, dtype)
    quantised = engine_of(narrow, feature_scale=scale).quantize(rows, wide)
    assert quantised is not None
    bytes_ = np.frombuffer(quantised[1], np.int8).reshape(wide.shape)
    assert (bytes_ == feature_bytes(wide, scale)).all()


def test_every_input_type_decides_alike(
    narrow: tcuq.Profile, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """Lists, dtypes, orders and device bytes decide alike; a one-hot integer row is certain."""
    stream = synthetic(steps=200, seed=2)
    rows, wide = stream.posteriors.astype(np.float32), np.asarray(stream.features, np.float32)
    trace = Monitor(narrow).run(rows, wide)
    row_bytes, wide_bytes = Monitor(narrow).quantize(rows, wide)
    ways: dict[str, tuple[Any, Any]] = {
        "double": (rows.astype(np.float64), wide.astype(np.float64)),
        "mixed": (rows.astype(np.float64), wide),
        "lists": (rows.tolist(), wide.tolist()),
        "fortran": (np.asfortranarray(rows), np.asfortranarray(wide)),
        "strided": (np.repeat(rows, 2, axis=0)[::2], np.repeat(wide, 2, axis=1)[:, ::2]),
        "swapped": (rows.astype(">f4"), wide.astype(">f8")),
        "quantised": (row_bytes, wide_bytes),
        "quantised, fortran": (np.asfortranarray(row_bytes), np.asfortranarray(wide_bytes)),
    }
    for posteriors, features in ways.values():
        other = Monitor(narrow).run(posteriors, features)
        assert all((getattr(other, n) == getattr(trace, n)).all() for n in tcuq.Trace.__slots__)
        monitor = Monitor(narrow)
        assert [monitor.step(p, f) for p, f in zip(posteriors, features, strict=True)] == [
            trace[step] for step in range(200)
        ]
    monitor = Monitor(narrow)
    for kind in (np.int64, np.uint8):
        monitor.reset()
        decision = monitor.step(np.array([0, 1, 0], kind), [0, 0, 0, 0])
        assert decision.label == 1
        assert decision == Monitor(narrow).step([0.0, 1.0, 0.0], [0.0] * 4)


def wrong_steps() -> list[tuple[Any, Any]]:
    """Yield invalid steps for three classes and four features."""
    good, wide = np.full(3, 1 / 3, np.float32), np.zeros(4, np.float32)
    off: list[tuple[Any, Any]] = [(good * factor, wide) for factor in (1.03, 0.97, 0, np.nan)]
    for dtype in (np.float32, np.float64):
        for wrong in (np.nan, np.inf, 1.5e9, -2e9):
            off.append((good, np.array([0, wrong, 0, 0], dtype)))
            off.append((np.array([0.5, wrong, 0.5], dtype), wide))
        off.append((np.array([1.1, -0.1, 0], dtype), wide))
    return [
        *off, (good[:2], wide), (good, wide[:3]), (good, None), (good, good), ("no", wide),
        (good, ["a"] * 4), (good.astype(complex), wide), (good, wide[None]), (good, 1.0),
        ([0.2, [0.8]], wide), (good, [[1], [1, 2]]), (None, None),
    ]  # fmt: skip


@pytest.mark.parametrize("index", range(len(wrong_steps())))
def test_refusals_equal_the_references(narrow: tcuq.Profile, index: int) -> None:
    """The monitor refuses a step with the reference's message and keeps its state."""
    posterior, features = wrong_steps()[index]
    monitor, reference = Monitor(narrow), tcuq.reference.ReferenceMonitor(narrow)
    state = monitor.snapshot()
    with pytest.raises(InputError) as expected:
        reference.step(posterior, features)
    with pytest.raises(InputError) as error:
        monitor.step(posterior, features)
    assert str(error.value) == str(expected.value)
    assert monitor.snapshot() == state


def test_refused_run_leaves_the_monitor_unchanged(
    narrow: tcuq.Profile, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """One NaN at the end of either array is named, and run and quantize keep the state."""
    stream = synthetic(steps=5000)
    monitor = Monitor(narrow)
    monitor.run(stream.posteriors[:100], stream.features[:100])  # type: ignore[index]
    state = monitor.snapshot()
    for name, column in (("posteriors", 2), ("features", 3)):
        rows, wide = stream.posteriors.copy(), np.array(stream.features)
        {"posteriors": rows, "features": wide}[name][4990, column] = np.nan
        message = f"^{name} must be finite .* got nan at step 4990, column {column}$"
        with pytest.raises(InputError, match=message):
            monitor.run(rows, wide, starts=[0, 1000])
        with pytest.raises(InputError, match=message):
            monitor.quantize(rows, wide)
        assert monitor.snapshot() == state


def test_bytes_of_another_shape_are_refused(narrow: tcuq.Profile) -> None:
    """Classes, width, steps and missing features, by name, rule and value."""
    monitor = Monitor(narrow)
    rows, wide = np.zeros((5, 3), np.uint8), np.zeros((5, 4), np.int8)
    for posteriors, features, message in (
        (rows[:, :2], wide, r"^posteriors must have the shape \(steps, 3\), got \(5, 2\)"),
        (rows[0], wide, r"^posteriors must have the shape \(steps, 3\), got \(3,\)"),
        (rows, wide[:4], r"^features must have the shape \(5, 4\), got \(4, 4\)"),
        (rows, None, r"^features must have the shape \(5, 4\), got None"),
    ):
        with pytest.raises(InputError, match=message):
            monitor.run(posteriors, features)


def test_progress_and_starts(narrow: tcuq.Profile, synthetic: Callable[..., tcuq.Stream]) -> None:
    """Progress gets the steps of each part; history does not reach across parts."""
    stream = synthetic(steps=300)
    parts: list[int] = []
    one, many = Monitor(narrow), Monitor(narrow)
    trace = one.run(stream.posteriors, stream.features, starts=[0, 100, 250], progress=parts.append)
    assert parts == [100, 150, 50]
    for begin, end in ((0, 100), (100, 250), (250, 300)):
        many.reset_history()
        part = many.run(stream.posteriors[begin:end], stream.features[begin:end])  # type: ignore[index]
        assert (part.risk == trace.risk[begin:end]).all()


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_streams_in_threads_do_not_interact(
    narrow: tcuq.Profile, synthetic: Callable[..., tcuq.Stream], threads: int | None
) -> None:
    """In threads every stream has the same decisions and final state as alone."""
    streams = [synthetic(steps=2000 + 100 * seed, seed=seed) for seed in range(7)]
    alone = [Monitor(narrow) for _ in streams]
    together = [Monitor(narrow) for _ in streams]
    expected = [m.run(s) for m, s in zip(alone, streams, strict=True)]
    traces = run_many(together, streams, threads=threads)
    for one, other in zip(expected, traces, strict=True):
        assert all((getattr(one, n) == getattr(other, n)).all() for n in tcuq.Trace.__slots__)
    assert [m.snapshot() for m in alone] == [m.snapshot() for m in together]


def test_many_streams_need_monitors_of_their_own(
    narrow: tcuq.Profile, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """One monitor for two streams is refused; an invalid stream gives its own error."""
    stream = synthetic(kind="logits")
    with pytest.raises(InputError, match=r"must be 2 different ones, .* got 1"):
        run_many([Monitor(narrow)] * 2, [stream, stream])
    with pytest.raises(InputError, match="kind must be probabilities"):
        run_many([Monitor(narrow)], [stream])


def test_time_grew_with_the_square_of_the_recordings(
    narrow: tcuq.Profile, synthetic: Callable[..., tcuq.Stream]
) -> None:
    """A recording per step: 60,000 of them take seconds of CPU time, not minutes."""
    stream = synthetic(steps=60_000, starts=np.arange(60_000))
    begun = time.process_time()
    trace = Monitor(narrow).run(stream)
    assert time.process_time() - begun < 6
    assert len(trace) == 60_000


def fitted(kind: Kind, synthetic: Callable[..., tcuq.Stream]) -> tuple[tcuq.Profile, Any]:
    """A profile of two classes from one column, and the column."""
    logits = np.diff(synthetic(classes=2, kind="logits").posteriors, axis=1).ravel()
    column = logits if kind == "logits" else 1 / (1 + np.exp(-logits))
    return tcuq.fit(tcuq.Stream(column, kind=kind, classes=["no", "yes"])), column


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
@pytest.mark.parametrize("kind", ["probabilities", "logits"])
def test_one_column_runs_as_two(kind: Kind, synthetic: Callable[..., tcuq.Stream]) -> None:
    """A column, a step alone and the stacked rows all give the same decisions."""
    profile, column = fitted(kind, synthetic)
    rows = tcuq.Stream(column, kind=kind, classes=["no", "yes"]).posteriors
    expected = Monitor(profile).run(rows)
    for given in (column, column[:, None], column.tolist()):
        trace = Monitor(profile).run(given)
        np.testing.assert_array_equal(trace.risk, expected.risk)
        np.testing.assert_array_equal(trace.outcome, expected.outcome)
    for scalar in SCALARS:
        one = Monitor(profile)
        assert [one.step(scalar(p)).risk for p in column[:9].tolist()] == pytest.approx(
            expected.risk[:9].tolist(), abs=1e-3
        )


def test_one_column_is_no_step_of_seven_classes(profile: tcuq.Profile) -> None:
    """Where the profile has other than two classes, one column is refused as before."""
    with pytest.raises(InputError, match=r"the shape \(steps, classes\), got \(7,\)"):
        Monitor(profile).run(np.zeros(7), np.zeros((1, 32)))
    with pytest.raises(InputError, match="2 to 1000 classes, got 1"):
        Monitor(profile).step(0.5, np.zeros(32))


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
def test_regression_output_is_refused(synthetic: Callable[..., tcuq.Stream]) -> None:
    """A value outside 0..1 is refused in a step and in a run."""
    profile, _ = fitted("probabilities", synthetic)
    with pytest.raises(InputError, match="regressor"):
        Monitor(profile).run([0.5, 21.5])
    with pytest.raises(InputError, match="regressor"):
        Monitor(profile).step(21.5)
