# SPDX-License-Identifier: Apache-2.0
"""The C engine by hand: its arithmetic, its spec, its refusals and its threads."""

import gc
import threading
import tracemalloc
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tcuq.decision import Decision, Trace
from tcuq.monitor import ALARMS, OUTCOMES
from tcuq.profile.settings import AlarmFlag
from tcuq.runtime import Engine
from tcuq.stages.budget import Outcome
from tcuq.stages.threshold import REASONS
from tests.fixtures.effort import cases
from tests.fixtures.engine import (
    FEATURES,
    HEALTH,
    MANY_MEANS,
    NOVELTY,
    POSTERIOR,
    PROJECTION,
    VARIANTS,
    cause,
    channel,
    make,
    outputs,
    packed,
    spec,
    stream,
    term,
)


@pytest.mark.parametrize("name", VARIANTS)
def test_run_is_repeated_steps(name: str) -> None:
    """A run, in one or two calls, decides what steps decide, and leaves the same counters."""
    posteriors, *others = stream(VARIANTS[name])
    one, many = make(VARIANTS[name]), make(VARIANTS[name])
    rows = ([None] * len(posteriors) if other is None else other for other in others)
    steps = [one.step(*step) for step in zip(posteriors, *rows, strict=True)]
    into = outputs(len(posteriors))
    for at in (slice(0, 123), slice(123, None)):
        parts = (None if other is None else other[at] for other in others)
        assert many.run(posteriors[at], *parts, *(o[at] for o in into)) == len(posteriors[at])
    trace = Trace(*into)
    decisions = [trace[step] for step in range(len(trace))]
    worded = [
        replace(each, cause=cause(each.alarm, int(number)) if each.alarm else "")
        for each, number in zip(decisions, trace.cause, strict=True)
    ]
    assert worded == steps
    assert one.telemetry() == many.telemetry()
    assert one.telemetry()["steps"] == sum(one.telemetry()["histogram"]) == len(posteriors)
    assert one.epoch() == many.epoch()
    assert one.snapshot() == many.snapshot()


def test_first_step_by_hand() -> None:
    """With no past the risk is the mean of the doubt's sigmoid and the confidence's shortfall."""
    doubt, shortfall = 1 - (200 + 144) / 512, 1 - 200 / 256
    decision = make(spec()).step(POSTERIOR, FEATURES, None)
    assert decision is not None
    assert decision.risk == pytest.approx((1 / (1 + np.exp(1 - doubt)) + shortfall) / 2, abs=1e-3)
    risk = decision.risk
    accepted = (False, "", OUTCOMES[0], False)
    assert decision == Decision(0, 0, risk, risk, 0.0, 0.5, *accepted, ALARMS[0])
    kinds = [type(getattr(decision, name)) for name in Decision.__slots__]
    numbers = [int, int, float, float, float, float]
    assert kinds == [*numbers, bool, str, Outcome, bool, AlarmFlag, bool, str, float, bool]


def test_signals_and_health_by_hand() -> None:
    """A step turned upside down differs in every lagged signal; health is log2(1 + squares)."""
    engine = make(spec(**NOVELTY))
    first = engine.signals(POSTERIOR, FEATURES, None)
    engine.signals(POSTERIOR, FEATURES, None)
    now = engine.signals(POSTERIOR[::-1].copy(), -FEATURES, None)
    assert first is not None
    assert first[:6] == (0, 51201, 0, 0, 0, 10752)
    assert now is not None
    assert (now[0], now[4], now[9]) == (1, 32768, 1)
    assert now[2] > 1000
    assert now[3] == pytest.approx(65535, abs=16)
    assert now[6:8] == pytest.approx(1024 * np.log2([56 / 256, 1 + 200**2]), abs=3)
    engine = make(spec(**HEALTH))
    given = engine.signals(POSTERIOR, FEATURES, np.array([2048, -8192], np.int16))
    assert given is not None
    assert given[10] == pytest.approx(1024 * np.log2(11), abs=2)
    assert given[11] == 1
    far = engine.signals(POSTERIOR, FEATURES, np.array([32767, -32768], np.int16))
    assert far is not None
    assert far[10] == pytest.approx(1024 * np.log2(1 + 31**2 + 15**2), abs=3)
    for one, health in ((engine, None), (make(spec()), np.zeros(5, np.int16))):
        assert (one.signals(POSTERIOR, FEATURES, health) or ())[10:] == (0, 0)


@pytest.mark.parametrize(
    "wrong",
    [np.zeros(2), np.zeros(3, np.int16), np.zeros(2, np.int32), np.zeros((1, 2), np.int16), [0, 0]],
)
def test_health_of_another_type_or_width_is_left_to_python(wrong: Any) -> None:
    """The engine takes int16 of its own width alone."""
    engine = make(spec(**HEALTH))
    assert engine.step(POSTERIOR, FEATURES, wrong) is None
    assert not engine.takes(POSTERIOR[None], FEATURES[None], np.asarray(wrong)[None])
    assert not engine.takes(POSTERIOR[None], FEATURES[None], np.zeros((2, 2), np.int16))
    assert engine.takes(POSTERIOR[None], FEATURES[None], np.zeros((1, 2), np.int16))


def test_selected_features_are_those_of_a_step_without_the_others() -> None:
    """Signals see the selected features in the profile's order, and no other."""
    posteriors, features, _ = stream(VARIANTS["selected"], 40)
    every, some = make(VARIANTS["selected"]), make(spec())
    chosen = np.ascontiguousarray(features[:, [2, 0]])
    for posterior, wide, narrow in zip(posteriors, features, chosen, strict=True):
        assert every.signals(posterior, wide, None) == some.signals(posterior, narrow, None)


def test_resets_and_epochs() -> None:
    """A reset is a new monitor; a reset of the history alone keeps the ledger and the evidence."""
    parts = VARIANTS["everything"]
    rows = stream(parts, 40)
    used, first, again = make(parts), outputs(40), outputs(40)
    used.run(*rows, *first)
    used.reset_history()
    later = used.step(*(row[0] for row in rows))
    assert later is not None
    assert later.threshold != first[2][0]
    assert used.epoch()[0] == 1  # of 30 steps, after 41
    used.reset()
    assert used.epoch() == (0, -32768, -128)
    assert used.telemetry()["steps"] == used.telemetry()["alarms"] == 0
    used.run(*rows, *again)
    assert all((a == f).all() for a, f in zip(again, first, strict=True))
    assert used.telemetry()["alarms"] > 0


def test_storage_is_the_devices() -> None:
    """Core, two slots of posterior and features, smoothed terms, channels and telemetry."""
    plain = 36 + 2 * (8 + 2 + 2) + 104
    assert make(spec()).storage_bytes == plain
    assert make(VARIANTS["anchored"]).storage_bytes == plain + 3 * 4
    assert make(VARIANTS["everything"]).storage_bytes == plain + 2 * 32


ARRAYS = (
    "lag_weights_q15", "selection", "projection", "projection_bias", "whitening", "means",
    "mean_squares", "weights", "health_means", "health_weights_q9",
)  # fmt: skip
WRONG: list[tuple[dict[str, object], str]] = [
    ({"classes": 65536}, r"^classes: not in 0\.\.65535"),
    ({"bias_q16": -(2**31) - 1}, "^bias_q16: not in"),
    ({"burst_q16": 1 << 80}, "^burst_q16: not in"),
    ({"lags": b""}, "^lags: 0 bytes"),
    ({"lags": bytes(range(1, 10))}, "^lags: 9 bytes"),
    *[(dict[str, object]({name: bytes(5)}), f"^{name}: 5 bytes") for name in ARRAYS],
    *[(dict.fromkeys([name]), f"^{name}: None") for name in ("lags", "weights")],
    ({"terms": []}, "^terms: 0 entries"),
    ({"terms": [term()] * 11}, "^terms: 11 entries"),
    ({"terms": [term(), term(signal=256)]}, r"^terms\[1\]\.signal: not in"),
    ({"terms": [term(points=bytes(130))]}, r"^terms\[0\]\.points: 130 bytes"),
    ({"terms": [term(bits_q10=bytes(2))]}, r"^terms\[0\]\.bits_q10: 2 bytes"),
    ({"channels": [channel()] * 6}, "^channels: 6 entries"),
    ({"channels": [channel(edges=[1, 2])]}, r"^channels\[0\]\.edges: not of 3"),
    ({"channels": [channel(gains_q8=(0, 0, 0, 1 << 15))]}, r"^channels\[0\]\.gains_q8: not in"),
    ({"feature_scale": 0.0}, "^feature_scale: not above 0"),
    ({"sum_tolerance": float("nan")}, "^sum_tolerance: not above 0"),
    ({"alpha_q16": 0}, "out of range"),
    ({**HEALTH, "health_means": None}, "out of range"),
    ({**HEALTH, "health_weights_q9": None}, "out of range"),
    (
        {"health_count": 17, "health_means": bytes(34), "health_weights_q9": bytes(34)},
        "out of range",
    ),
    ({"dimensions": 255, "width": 255}, "out of range"),
    ({"width": 3}, "out of range"),
    ({"width": 3, "selection": bytes([0, 3])}, "out of range"),
    ({**PROJECTION, "selection": bytes([0, 1])}, "out of range"),
    ({"lags": bytes([2, 1])}, "out of range"),
]


def test_wrong_spec_is_refused(subtests: pytest.Subtests) -> None:
    """Each refusal names the field, or quotes the runtime."""
    for changes, message in WRONG:
        with subtests.test(changes=changes), pytest.raises(ValueError, match=message):
            make(spec(**changes))


def test_every_field_is_needed_and_typed(subtests: pytest.Subtests) -> None:
    """A field that is missing or of another type is named."""
    for name, value in spec().items():
        with subtests.test(name=name):
            with pytest.raises(TypeError, match=f"^{name}: "):
                make(spec(**{name: 1 if isinstance(value, float) else 1.5}))
            with pytest.raises(ValueError, match=f"^{name}: missing"):
                make({key: other for key, other in spec().items() if key != name})


def test_inputs_that_need_a_conversion_are_left_to_python() -> None:
    """For other types, shapes and orders the engine returns None and keeps its state."""
    engine, bare = make(spec()), make(VARIANTS["bare"])
    floats, wide = np.array([0.25, 0.75], np.float32), np.array([1.0, 2.0])
    assert bare.step(POSTERIOR, None, None) is not None
    for rows, columns in ((POSTERIOR, FEATURES), (floats, wide), (floats.astype(float), wide)):
        assert engine.takes(rows[None], columns[None], None)
        assert engine.step(rows, columns, None) is not None
    engine.reset()
    others: list[tuple[Any, Any]] = [
        (POSTERIOR, None), (POSTERIOR, wide), (floats, FEATURES), (POSTERIOR, POSTERIOR),
        (POSTERIOR[None], FEATURES), (POSTERIOR[:1], FEATURES), (POSTERIOR, FEATURES[:1]),
        (POSTERIOR[::-1], FEATURES), ([0.25, 0.75], [1.0, 2.0]), ("no", FEATURES), (None, None),
        (floats.astype(">f4"), wide), (floats.astype(np.float16), wide),
        (floats, wide.astype(np.int64)), (np.frombuffer(bytes(9), "<f4", 2, 1), wide),
    ]  # fmt: skip
    for posterior, features in others:
        assert engine.step(posterior, features, None) is None
        assert engine.signals(posterior, features, None) is None
    assert bare.step(POSTERIOR, FEATURES, None) is None
    assert not engine.takes(np.zeros((3, 2)), np.zeros((2, 2)), None)
    assert not engine.takes(POSTERIOR, FEATURES, None)
    assert engine.telemetry()["steps"] == 0


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, -1e-30, 1.0, 1e300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_break_a_rule(wrong: float, dtype: type) -> None:
    """A step with one is not run, and a run ends before it; minus zero is zero."""
    engine = make(spec())
    rows: Any = np.full((300, 2), 0.5, dtype)
    wide: Any = np.zeros((300, 2), dtype)
    rows[0, 1] = -0.0
    rows[0, 0] = 1.0
    with np.errstate(over="ignore"):
        rows[250, 0] = wrong
    assert engine.step(rows[250], wide[250], None) is None
    assert engine.quantize(rows, wide) is None
    assert engine.telemetry()["steps"] == 0
    assert engine.run(rows, wide, None, *outputs(300)) <= 250
    rows[250] = 0.5
    if not abs(wrong) <= 1e9:
        with np.errstate(over="ignore"):
            wide[250, 1] = wrong
        assert engine.step(rows[250], wide[250], None) is None
    assert engine.step(rows[249], wide[249], None) is not None


def test_wrong_arguments_are_refused() -> None:
    """Counts, sizes, types, order and read-only outputs; the engine stays as it was."""
    engine = make(spec())
    good: list[Any] = [POSTERIOR[None], FEATURES[None], None, *outputs(1)]
    odd = np.zeros(9, np.uint8)[1:].view(np.float64)
    calls: list[tuple[Any, list[Any], type[Exception], str]] = [
        (engine.step, [POSTERIOR], TypeError, "got 1 arguments"),
        (engine.takes, [POSTERIOR], TypeError, "expected 3 arguments, got 1"),
        (engine.quantize, [POSTERIOR], TypeError, "expected 2 arguments, got 1"),
        (engine.quantize, [POSTERIOR, FEATURES], ValueError, "not arrays that takes"),
        (engine.run, good[:-1], TypeError, "expected 18 arguments, got 17"),
        (engine.run, [b"123", *good[1:]], ValueError, "not arrays that takes"),
        (engine.run, [*good[:3], np.zeros(2, np.int32), *good[4:]], ValueError, "^label: 8 bytes"),
        (engine.run, [*good[:5], odd, *good[6:]], ValueError, "^risk: 8 bytes.* aligned"),
        (engine.run, [*good[:-1], 3], TypeError, "^promised: not bytes-like"),
        (engine.run, [*good[:-1], b"1"], BufferError, "not writable"),
        (Engine, [[], Decision, OUTCOMES, REASONS, ALARMS, cause], TypeError, "must be dict"),
        (Engine, [spec(), int, OUTCOMES, REASONS, ALARMS, cause], AttributeError, "label"),
        (Engine, [spec(), Trace, [], REASONS, ALARMS, cause], TypeError, "must be tuple"),
    ]
    for call, arguments, error, message in calls:
        with pytest.raises(error, match=message):
            call(*arguments)
    assert engine.telemetry()["steps"] == 0
    with pytest.raises(IndexError):  # an outcome that has no member
        Engine(spec(), Decision, (), REASONS, ALARMS, cause).step(POSTERIOR, FEATURES, None)


def test_engine_copies_its_spec() -> None:
    """Arrays of the spec may change afterwards; neither use nor refusal keeps memory."""
    weights = bytearray(packed([1024] * 4, "<i2"))
    engine = make(spec(weights=weights))
    expected = engine.step(POSTERIOR, FEATURES, None)
    weights[:] = b""
    engine.reset()
    assert engine.step(POSTERIOR, FEATURES, None) == expected
    sizes = []
    tracemalloc.start()
    for _ in range(5):
        for changes, message in WRONG * 10:
            make(VARIANTS["everything"]).telemetry()
            with pytest.raises(ValueError, match=message):
                make(spec(**changes))
        gc.collect()  # errors and their tracebacks are cycles
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    # What is never freed grows in every round, what others allocate meanwhile does not.
    growth = min(after - before for before, after in pairwise(sizes[1:]))
    assert growth < 16 * 10 * len(WRONG)  # less than one object a turn


def test_novelty_by_hand() -> None:
    """Novelty is half this step's surprise and half its mean, which counts at most 16 bits."""
    engine = make(spec(terms=[term()]))
    low_confidence = np.log2(1 - 200 / 256 + 1e-5)
    surprise, recent = 2 * (low_confidence + 4), np.log2(np.e)  # 8 bits in 4 of log2
    for _ in range(3):
        decision = engine.step(POSTERIOR, FEATURES, None)
        assert decision is not None
        recent += (surprise - recent) / 32
        assert decision.novelty == pytest.approx((surprise + recent) / 2, abs=5e-3)
    plain = make(spec()).step(POSTERIOR, FEATURES, None)
    assert decision is not None
    assert plain is not None
    assert decision.risk == plain.risk
    engine = make(spec(terms=[term(bits_q10=packed([65_535] * 2, "<u2"))]))
    decisions = [engine.step(POSTERIOR, FEATURES, None) for _ in range(2000)]
    novelties = [decision.novelty for decision in decisions if decision is not None]
    assert novelties == sorted(novelties)
    assert novelties[-1] == pytest.approx(16, abs=1e-3)


def test_threads_run_separate_engines_in_parallel() -> None:
    """An Engine in use refuses a second thread, which can run its own Engine."""
    slow = spec(**{**NOVELTY, **MANY_MEANS})
    posteriors, wide, _ = stream(slow, 10_000)
    shared, own = make(slow), make(slow)
    thread = threading.Thread(target=shared.run, args=(posteriors, wide, None, *outputs(10_000)))
    thread.start()
    with suppress(RuntimeError):
        while thread.is_alive():
            shared.telemetry()
    own.run(posteriors[:9], wide[:9], None, *outputs(9))
    step: list[Any] = [posteriors[0], wide[0], None]
    rows: list[Any] = [posteriors[:1], wide[:1]]
    calls = {"step": step, "signals": step, "quantize": rows, "run": [*rows, None, *outputs(1)]}
    others = ("reset", "reset_history", "epoch", "snapshot", "telemetry")
    for name in (*calls, *others):
        with pytest.raises(RuntimeError, match="this monitor is in use by another thread"):
            getattr(shared, name)(*calls.get(name, []))
    assert thread.is_alive()
    thread.join()
    assert (shared.telemetry()["steps"], own.telemetry()["steps"]) == (10_000, 9)


def test_two_threads_never_share_an_engine() -> None:
    """Threads that use one Engine get an answer or an error; all steps taken are counted."""
    small = spec()
    posteriors, wide, _ = stream(small, 64)
    shared = make(small)
    taken = [0, 0, 0, 0]

    def work(thread: int) -> None:
        for turn in range(3000):
            with suppress(RuntimeError):
                shared.step(posteriors[turn % 64], wide[turn % 64], None)
                taken[thread] += 1
            with suppress(RuntimeError):
                shared.snapshot()

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.telemetry()["steps"] == sum(taken) > 0


@pytest.mark.parametrize("classes", [2, 3, 5, 10])
def test_the_kept_classes_differ_and_hold_no_more_than_all(classes: int) -> None:
    """Whatever posteriors come: zeros, ties, single bytes; with the stickiest past there is."""
    rest = 0 if classes == 2 else 768
    sticky = {"stay_q8": 25600, "rest_q8": rest, "change_q8": 1, "weight_shift": 0, "weights": None}
    engine = make(spec(classes=classes, width=0, dimensions=0, terms=[term(signal=6)], **sticky))
    draw = np.random.default_rng(classes)
    for step in range(cases(4000)):
        row = draw.integers(0, (256, 3, 2, 256)[step % 4], classes)
        row[draw.random(classes) < (0.0, 0.0, 0.0, 0.7)[step % 4]] = 0
        engine.step(row.astype(np.uint8), None, None)
        first, second, *probable = np.frombuffer(engine.snapshot()[40:48], "<u2").tolist()
        assert first != second
        assert max(first, second) < classes
        assert sum(probable) <= 32768
