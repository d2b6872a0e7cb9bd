# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.demo import demo_stream
from tcuq.monitor import Monitor
from tcuq.replay.function import WIDTH


@pytest.fixture
def steps(profile: tcuq.Profile) -> tuple[Any, Any, None]:
    """Return device bytes of the test stream, which has no health."""
    stream = demo_stream("test")
    return *Monitor(profile).quantize(stream.posteriors, stream.features), None


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, [], "expected a tuple"),
        (1, np.zeros((3, 2)), "not arrays that takes"),
        (4, np.zeros(3, np.int32), "labels: 12 bytes, not"),
        (5, None, "counts: None"),
        (5, np.zeros(3, np.int64), "counts: 24 bytes, not"),
        (6, np.zeros(3, np.uint8), "decisions: 3 bytes, not"),
        (6, b"read only", "not writable"),
    ],
)
def test_wrong_arguments_are_refused(
    profile: tcuq.Profile, steps: tuple[Any, Any, None], at: int, value: object, message: str
) -> None:
    """A wrong argument is named, and the engine can be used afterwards."""
    engine = Monitor(profile).engine
    before = engine.snapshot()
    good: list[Any] = [(), *steps, None, np.zeros(WIDTH, np.int64), None]
    wrong = [*good[:at], value, *good[at + 1 :]]
    with pytest.raises((TypeError, ValueError, BufferError), match=message):
        engine.replay(*wrong)
    assert engine.snapshot() == before
    assert engine.replay(*good) == len(steps[0])
    with pytest.raises(TypeError, match="six more arguments"):
        engine.replay(())  # type: ignore[call-arg]


def test_engines_with_other_signals_are_refused(
    profiles: Mapping[str, tcuq.Profile], steps: tuple[Any, Any, None]
) -> None:
    """Other lags and a repeated engine are refused; all engines are free afterwards."""
    one, other = (Monitor(profiles[name]).engine for name in ("present", "short"))
    counts = np.zeros((2, WIDTH), np.int64)
    with pytest.raises(ValueError, match=r"others\[0\]: sees other signals"):
        one.replay((other,), *steps, None, counts, None)
    with pytest.raises(RuntimeError, match="in use"):
        one.replay((one,), *steps, None, counts, None)
    with pytest.raises(TypeError, match=r"others\[0\]: not an Engine"):
        one.replay((1,), *steps, None, counts, None)  # type: ignore[arg-type]
    assert not counts.any()
    one.reset()
    other.reset()


def test_observed_signals_are_those_of_single_steps(
    profile: tcuq.Profile, steps: tuple[Any, Any, None]
) -> None:
    """`observe` returns ten numbers per step, equal to those of `signals`."""
    observed = Monitor(profile).engine.observe(*steps)
    assert observed is not None
    table = np.frombuffer(observed, np.int32).reshape(-1, 10)
    engine = Monitor(profile).engine
    for row, posterior, features in zip(table[:50], *steps[:2], strict=False):
        one = engine.signals(posterior, features, None)
        assert one is not None
        assert row.tolist() == [*one[2:8], one[1], *one[8:]]
    stream = demo_stream("test")
    wild = np.full_like(np.asarray(stream.posteriors, float), np.nan)
    assert engine.observe(wild, np.asarray(stream.features, float), None) is None
    with pytest.raises(TypeError, match="expected 3 arguments"):
        engine.observe(steps[0])  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="not arrays that takes"):
        engine.observe(steps[0], None, None)
