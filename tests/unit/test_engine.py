# SPDX-License-Identifier: Apache-2.0
import gc
import threading
import tracemalloc
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tcuq.runtime import Engine

OUTPUTS = (np.int32, np.uint16, np.int32, np.uint8, np.uint8, np.uint8)
POSTERIOR, FEATURES = bytes([200, 56]), bytes([100, 0])


def packed(values: list[int], dtype: str) -> bytes:
    """Little-endian bytes of an array."""
    return np.array(values).astype(dtype).tobytes()


def term(**changes: object) -> dict[str, object]:
    """A term of the anchored score on low confidence."""
    plain: dict[str, object] = {
        "signal": 4, "lower": 0, "ewma": 0, "dead_q10": 0, "cap_q10": 8192, "weight_q8": 256,
        "slope_q8": 256, "start": 0, "points": packed([-4096, 0], "<i2"),
        "bits_q10": packed([0, 8192], "<u2"),
    }  # fmt: skip
    return {**plain, **changes}


def channel(**changes: object) -> dict[str, object]:
    """A channel of the alarm on low confidence that alarms after one block that is not certain."""
    plain: dict[str, object] = {
        "signal": 4, "flag": 1, "two_sided": 0, "block": 16, "limit_q8": 512, "centre": 0,
        "edges": [-100_000, -90_000, -80_000], "gains_q8": [-256, 128, 256, 512],
    }  # fmt: skip
    return {**plain, **changes}


def spec(**changes: object) -> dict[str, Any]:
    """Two classes, two features, lags 1 and 2, the paper's score."""
    plain: dict[str, object] = {
        "hash": 7, "classes": 2, "width": 2, "dimensions": 2, "lags": bytes([1, 2]),
        "lag_weights_q15": packed([32768, 21846, 10922], "<u2"), "blend_q15": 16384,
        "mix_q15": 16384, "projection": None, "projection_bias": None, "projection_shift": 0,
        "mean_count": 0, "whitening": None, "whitening_shift": None, "means": None,
        "mean_squares": None, "novelty_exponent": 0, "terms": None, "weight_shift": 10,
        "weights": packed([1024, 1024, 1024, 1024], "<i2"), "bias_q16": -65536, "adaptive": 1,
        "alpha_q16": 6554, "step": 100, "start": 8192, "anchor": 8192, "warmup": 0,
        "rate_q16": 6554, "burst_q16": 131072, "channels": None,
    }  # fmt: skip
    return {**plain, **changes}


NOVELTY = {
    "whitening": packed([65, 64, 64, 65, 64, 64, 64, 64], "<u4"), "whitening_shift": bytes(4),
    "mean_count": 2, "means": packed([100, 0, 0, 0] * 2, "<i2"),
    "mean_squares": packed([10_000] * 2, "<i4"), "novelty_exponent": 0,
}  # fmt: skip
MANY_MEANS = {
    "mean_count": 65534, "means": bytes(8 * 65534), "mean_squares": bytes(4 * 65534),
}  # fmt: skip
PROJECTION = {
    "width": 3, "projection": bytes([1, 0, 0, 0, 1, 0]), "projection_bias": packed([0, 0], "<i4"),
}  # fmt: skip
VARIANTS = {
    "combined": spec(),
    "bare": spec(width=0, dimensions=0),
    "projected": spec(**PROJECTION),
    "anchored": spec(terms=[term(ewma=3), term(signal=0, lower=1)], weights=None),
}
TWO = [channel(), channel(signal=1)]
VARIANTS["everything"] = spec(**PROJECTION, **NOVELTY, terms=[term(signal=5)], channels=TWO)


def stream(parts: dict[str, Any], steps: int = 500) -> tuple[Any, Any]:
    """Random posteriors, and features if the profile takes them."""
    draw = np.random.default_rng(5)
    first = draw.integers(0, 256, steps)
    posteriors = np.stack([first, 255 - first], axis=1).astype(np.uint8)
    wide = draw.integers(-127, 128, (steps, parts["width"])).astype(np.int8)
    return posteriors, wide if parts["width"] else None


def outputs(steps: int) -> list[Any]:
    """Arrays for run to fill."""
    return [np.zeros(steps, dtype) for dtype in OUTPUTS]


@pytest.mark.parametrize("name", VARIANTS)
def test_run_is_repeated_steps(name: str) -> None:
    """A run, in one or two calls, decides what steps decide, and leaves the same counters."""
    posteriors, wide = stream(VARIANTS[name])
    one, many = Engine(VARIANTS[name]), Engine(VARIANTS[name])
    rows = [None] * len(posteriors) if wide is None else wide
    steps = [one.step(p, f) for p, f in zip(posteriors, rows, strict=True)]
    into = outputs(len(posteriors))
    for at in (slice(0, 123), slice(123, None)):
        many.run(posteriors[at], None if wide is None else wide[at], *(o[at] for o in into))
    assert [tuple(row) for row in np.stack(into, axis=1).tolist()] == steps
    assert one.telemetry() == many.telemetry()
    assert one.telemetry()["steps"] == sum(one.telemetry()["histogram"]) == len(posteriors)
    assert one.end_epoch() == many.end_epoch()


def test_first_step_by_hand() -> None:
    """With no past the risk is the mean of the doubt's sigmoid and the confidence's shortfall."""
    label, risk, *others = Engine(spec()).step(POSTERIOR, FEATURES)
    assert (label, others) == (0, [8192 << 16, 0, 0, 0])
    doubt, shortfall = 1 - (200 + 144) / 512, 1 - 200 / 256
    assert risk / 16384 == pytest.approx((1 / (1 + np.exp(1 - doubt)) + shortfall) / 2, abs=1e-3)


def test_signals_by_hand() -> None:
    """A step turned upside down differs from its past in every signal that looks back."""
    engine = Engine(spec(**NOVELTY))
    assert engine.signals(POSTERIOR, FEATURES)[:6] == (0, 51201, 0, 0, 0, 10752)
    engine.signals(POSTERIOR, FEATURES)
    now = engine.signals(POSTERIOR[::-1], bytes([156, 0]))
    assert (now[0], now[4], now[8]) == (1, 32768, 1)
    assert now[2] > 1000
    assert now[3] == pytest.approx(65535, abs=16)
    assert now[6:8] == pytest.approx(1024 * np.log2([56 / 256, 1 + 200**2]), abs=3)


def test_resets_and_epochs() -> None:
    """A reset is a new monitor; a reset of the history alone keeps the ledger and the evidence."""
    parts = VARIANTS["everything"]
    posteriors, wide = stream(parts, 40)
    used, first, again = Engine(parts), outputs(40), outputs(40)
    used.run(posteriors, wide, *first)
    used.reset_history()
    assert used.step(posteriors[0], wide[0])[2] != first[2][0]
    assert used.end_epoch() != used.end_epoch() == -256  # no evidence: log2 of 1 / 2 channels
    used.reset()
    assert used.telemetry()["steps"] == used.telemetry()["alarms"] == 0
    used.run(posteriors, wide, *again)
    assert all((a == f).all() for a, f in zip(again, first, strict=True))
    assert used.telemetry()["alarms"] > 0


def test_storage_is_the_devices() -> None:
    """Core, two slots of posterior and features, smoothed terms, channels and telemetry."""
    plain = 16 + 2 * (8 + 2 + 2) + 52
    assert Engine(spec()).storage_bytes == plain
    assert Engine(VARIANTS["anchored"]).storage_bytes == plain + 2 * 4
    assert Engine(VARIANTS["everything"]).storage_bytes == plain + 2 * 12


ARRAYS = ("lag_weights_q15", "projection", "projection_bias", "whitening", "means", "weights")
WRONG: list[tuple[dict[str, object], str]] = [
    ({"classes": 65536}, r"^classes: not in 0\.\.65535"),
    ({"bias_q16": -(2**31) - 1}, "^bias_q16: not in"),
    ({"burst_q16": 1 << 80}, "^burst_q16: not in"),
    ({"lags": b""}, "^lags: 0 bytes"),
    ({"lags": bytes(range(1, 10))}, "^lags: 9 bytes"),
    *[(dict[str, object]({name: bytes(5)}), f"^{name}: 5 bytes") for name in ARRAYS],
    *[(dict.fromkeys([name]), f"^{name}: None") for name in ("lags", "weights")],
    ({"terms": []}, "^terms: 0 entries"),
    ({"terms": [term()] * 9}, "^terms: 9 entries"),
    ({"terms": [term(), term(signal=256)]}, r"^terms\[1\]\.signal: not in"),
    ({"terms": [term(points=bytes(130))]}, r"^terms\[0\]\.points: 130 bytes"),
    ({"terms": [term(bits_q10=bytes(2))]}, r"^terms\[0\]\.bits_q10: 2 bytes"),
    ({"channels": [channel()] * 5}, "^channels: 5 entries"),
    ({"channels": [channel(edges=[1, 2])]}, r"^channels\[0\]\.edges: not of 3"),
    ({"channels": [channel(gains_q8=(0, 0, 0, 1 << 15))]}, r"^channels\[0\]\.gains_q8: not in"),
    ({"alpha_q16": 0}, "out of range"),
    ({"dimensions": 255, "width": 255}, "out of range"),
    ({"lags": bytes([2, 1])}, "out of range"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_wrong_spec_is_refused(changes: dict[str, object], message: str) -> None:
    """Each refusal names the field, or quotes the runtime."""
    with pytest.raises(ValueError, match=message):
        Engine(spec(**changes))


@pytest.mark.parametrize("name", spec())
def test_every_field_is_needed_and_typed(name: str) -> None:
    """A field that is missing or of another type is named."""
    with pytest.raises(TypeError, match=f"^{name}: "):
        Engine(spec(**{name: 1.5}))
    with pytest.raises(ValueError, match=f"^{name}: missing"):
        Engine({key: value for key, value in spec().items() if key != name})


def test_wrong_arguments_are_refused() -> None:
    """Sizes, None, types and read-only outputs; the engine stays as it was."""
    engine, bare = Engine(spec()), Engine(VARIANTS["bare"])
    good: list[Any] = [POSTERIOR, FEATURES, *outputs(1)]
    calls: list[tuple[Any, list[Any], type[Exception], str]] = [
        (engine.step, [POSTERIOR], TypeError, "got 1 arguments"),
        (engine.step, [POSTERIOR + b"1", FEATURES], ValueError, "^posterior: 3 bytes, not 1 x 2"),
        (engine.signals, [POSTERIOR, b""], ValueError, "^features: 0 bytes"),
        (engine.step, [POSTERIOR, None], ValueError, "^features: None"),
        (bare.step, [POSTERIOR, FEATURES], ValueError, "^features: this profile takes none"),
        (engine.step, ["no", FEATURES], TypeError, "^posterior: not bytes-like"),
        (engine.step, [np.zeros(4, np.uint8)[::2], FEATURES], ValueError, "contiguous"),
        (engine.run, good[:-1], TypeError, "got 7"),
        (engine.run, [b"123", *good[1:]], ValueError, "^posteriors: 3 bytes"),
        (engine.run, [*good[:2], np.zeros(2, np.int32), *good[3:]], ValueError, "^label: 8 bytes"),
        (engine.run, [*good[:-1], 3], TypeError, "^alarm: not bytes-like"),
        (engine.run, [*good[:-1], b"1"], BufferError, "not writable"),
        (Engine, [[]], TypeError, "^spec: not a dict"),
    ]
    for call, arguments, error, message in calls:
        with pytest.raises(error, match=message):
            call(*arguments)
    assert engine.telemetry()["steps"] == 0


def test_engine_owns_what_it_was_given() -> None:
    """Arrays of the spec may change afterwards; neither use nor refusal keeps memory."""
    weights = bytearray(packed([1024] * 4, "<i2"))
    engine = Engine(spec(weights=weights))
    expected = engine.step(POSTERIOR, FEATURES)
    weights[:] = b""
    engine.reset()
    assert engine.step(POSTERIOR, FEATURES) == expected
    kept = []
    tracemalloc.start()
    for _ in range(3):
        for changes, message in WRONG * 10:
            Engine(VARIANTS["everything"]).telemetry()
            with pytest.raises(ValueError, match=message):
                Engine(spec(**changes))
        gc.collect()  # errors and their tracebacks are cycles
        kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert kept[2] - kept[1] < 1000


def test_threads_share_no_engine_but_run_beside_each_other() -> None:
    """While one thread runs an Engine, another is refused it and runs its own to the end."""
    slow = spec(**{**NOVELTY, **MANY_MEANS})
    posteriors, wide = stream(slow, 10_000)
    shared, own = Engine(slow), Engine(slow)
    thread = threading.Thread(target=shared.run, args=(posteriors, wide, *outputs(10_000)))
    thread.start()
    with suppress(RuntimeError):
        while thread.is_alive():
            shared.telemetry()
    own.run(posteriors[:9], wide[:9], *outputs(9))
    step: list[Any] = [posteriors[0], wide[0]]
    calls: dict[str, list[Any]] = {"step": step, "signals": step, "run": step + outputs(1)}
    for name in ("step", "signals", "run", "reset", "reset_history", "end_epoch", "telemetry"):
        with pytest.raises(RuntimeError, match="this monitor is in use by another thread"):
            getattr(shared, name)(*calls.get(name, []))
    assert thread.is_alive()
    thread.join()
    assert (shared.telemetry()["steps"], own.telemetry()["steps"]) == (10_000, 9)
