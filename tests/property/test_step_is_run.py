# SPDX-License-Identifier: Apache-2.0
"""Every stage gives bit-identical results step by step, in chunks and in one run."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tcuq
import tcuq.reference
from tcuq.demo import demo_stream
from tcuq.options import AlarmOptions, PaperOptions, TermPlan
from tcuq.profile.settings import (
    RISK_LEVELS,
    InputSettings,
    NoveltySettings,
    Projection,
    SignalSettings,
)
from tcuq.stages.alarm import Alarm
from tcuq.stages.budget import Budget
from tcuq.stages.columns import SignalColumns
from tcuq.stages.inputs import Inputs, probabilities
from tcuq.stages.score import make_score
from tcuq.stages.signals import Signals
from tcuq.stages.threshold import Threshold
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.effort import cases

EXAMPLES = cases(500)
SMOOTHED = (
    TermPlan("low_confidence", cap=8.0),
    TermPlan("novelty", dead=4.0, weight=0.5),
    TermPlan("novelty", ewma=5, dead=6.0, cap=2.0),
    TermPlan("inconsistency", ewma=5, dead=6.0, cap=2.0, error_weight=0.5),
)


@cache
def fitted_profile(number: int) -> tcuq.Profile:
    """Return the paper's profile, the default, or one with smoothed terms."""
    options: tuple[dict[str, Any], ...] = (
        {"preset": "paper"},
        {"alarm": AlarmOptions(256)},
        {
            "terms": SMOOTHED,
            "alarm": AlarmOptions(1024),
            "paper": PaperOptions("anchored", warmup=0),
        },
    )
    return quiet_fit(demo_stream("calibration"), demo_stream("development"), **options[number])


REAL = ("test", "fault_clipping", "fault_dropout", "fault_noise_low")


@st.composite
def posteriors_and_features(draw: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw a short stream: random, sharp, tied or real, with zeros, repeats and outliers."""
    steps = draw(st.integers(1, 60))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["real", "random", "sharp", "tied"]))
    if kind == "real":
        stream = demo_stream(REAL[seed % len(REAL)])
        begin = int(rng.integers(0, len(stream) - steps))
        assert stream.features is not None
        return stream.posteriors[begin : begin + steps], stream.features[begin : begin + steps]
    logits = rng.normal(size=(steps, 10)) * {"random": 2.0, "sharp": 60.0, "tied": 0.0}[kind]
    rows = probabilities(logits, "logits")
    features = rng.normal(size=(steps, 32)) * rng.choice([0.0, 1.0, 1e4])
    repeated = rng.integers(0, steps, steps)
    return (rows[repeated], features[repeated]) if seed % 2 else (rows, features)


streams = posteriors_and_features()
with_alarm = st.sampled_from([1, 2]).map(fitted_profile)
profiles = st.sampled_from([0, 1, 2]).map(fitted_profile)
cuts = st.lists(st.integers(1, 25), min_size=1, max_size=60)


def pieces(steps: int, sizes: list[int]) -> list[slice]:
    """Return consecutive slices that cycle through these sizes and cover all steps."""
    slices, begin, turn = [], 0, 0
    while begin < steps:
        end = min(begin + sizes[turn % len(sizes)], steps)
        slices.append(slice(begin, end))
        begin, turn = end, turn + 1
    return slices


def same(whole: Any, parts: list[Any]) -> bool:
    """Tell whether the concatenated parts equal the whole, bit for bit."""
    if whole is None:
        return all(part is None for part in parts)
    if isinstance(whole, np.ndarray):
        return bool((whole == np.concatenate(parts)).all())
    if isinstance(whole, tuple):
        return all(same(w, [p[i] for p in parts]) for i, w in enumerate(whole))
    names = type(whole).__slots__
    return all(same(getattr(whole, n), [getattr(p, n) for p in parts]) for n in names)


class Runs(Protocol):
    """A stage with `run`."""

    def run(self, *inputs: Any) -> Any:
        """Run many steps."""


def check(make: Callable[[], Any], inputs: tuple[Any, ...], sizes: list[int]) -> None:
    """Compare one run with single steps and with pieces of these sizes."""

    def cut(value: Any, at: slice) -> Any:
        if isinstance(value, SignalColumns):
            columns: list[Any] = [getattr(value, name) for name in value.__slots__]
            parts: list[Any] = [None if column is None else column[at] for column in columns]
            return SignalColumns(*parts)
        return None if value is None else value[at]

    first = inputs[0]
    steps = len(first.label if isinstance(first, SignalColumns) else first)
    whole = make().run(*inputs)
    for chosen in ([1], sizes):
        stage = make()
        parts = [stage.run(*(cut(v, at) for v in inputs)) for at in pieces(steps, chosen)]
        assert same(whole, parts)


def signals_of(profile: tcuq.Profile, inputs: tuple[NDArray[Any], NDArray[Any]]) -> SignalColumns:
    """Return the signals that a monitor computes."""
    return Signals(profile.signals, profile.inputs).run(*Inputs(profile.inputs).run(*inputs))


@given(streams, cuts)
@settings(max_examples=EXAMPLES, deadline=None)
def test_inputs(inputs: tuple[NDArray[Any], NDArray[Any]], sizes: list[int]) -> None:
    """Softmax and projection of a row do not depend on the rows beside it."""
    rng = np.random.default_rng(0)
    matrix = tuple(map(tuple, rng.normal(size=(8, 64)).tolist()))
    wide = InputSettings("logits", 10, 64, Projection("pca", (0.5,) * 64, matrix), 0.1)
    logits = np.log(inputs[0] + 1e-60)
    check(lambda: Inputs(wide), (logits, np.hstack([inputs[1], inputs[1]])), sizes)


@given(streams, cuts, st.sampled_from([(1,), (1, 2, 4), (3, 7)]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_signals(
    inputs: tuple[NDArray[Any], NDArray[Any]], sizes: list[int], lags: tuple[int, ...]
) -> None:
    """Every signal of every step is the same."""
    profile = fitted_profile(1)
    novelty = profile.signals.novelty
    assert isinstance(novelty, NoveltySettings)
    converted = Inputs(profile.inputs).run(*inputs)
    chosen = SignalSettings(lags, 0.5, 0.3, novelty)
    check(lambda: Signals(chosen, profile.inputs), converted, sizes)


@given(streams, cuts, profiles)
@settings(max_examples=EXAMPLES, deadline=None)
def test_score(
    inputs: tuple[NDArray[Any], NDArray[Any]], sizes: list[int], profile: tcuq.Profile
) -> None:
    """The risk is the same, smoothed terms included."""
    check(lambda: make_score(profile.score), (signals_of(profile, inputs),), sizes)


@given(st.lists(st.integers(0, RISK_LEVELS), min_size=1, max_size=80), cuts, profiles)
@settings(max_examples=EXAMPLES, deadline=None)
def test_threshold(risks: list[int], sizes: list[int], profile: tcuq.Profile) -> None:
    """Requests, exceedances and levels are the same."""
    novelty = np.array(risks) % 17.0
    check(lambda: Threshold(profile.threshold), (np.array(risks), novelty), sizes)


@given(st.lists(st.booleans(), min_size=1, max_size=80), cuts)
@settings(max_examples=EXAMPLES, deadline=None)
def test_budget(wishes: list[bool], sizes: list[int]) -> None:
    """Outcomes are the same."""
    check(lambda: Budget(fitted_profile(1).budget), (np.array(wishes),), sizes)


@given(streams, cuts, with_alarm, st.integers(2, 6))
@settings(max_examples=EXAMPLES, deadline=None)
def test_alarm(
    inputs: tuple[NDArray[Any], NDArray[Any]], sizes: list[int], profile: tcuq.Profile, times: int
) -> None:
    """Alarms over several blocks are the same."""
    longer = tuple(np.tile(column, (times, 1)) for column in inputs)
    assert profile.alarm is not None
    chosen = profile.alarm
    odds = np.random.default_rng(times).normal(size=len(longer[0]))
    check(lambda: Alarm(chosen), (signals_of(profile, longer), odds), sizes)  # type: ignore[arg-type]


@given(streams, cuts, profiles)
@settings(max_examples=EXAMPLES, deadline=None)
def test_monitor(
    inputs: tuple[NDArray[Any], NDArray[Any]], sizes: list[int], profile: tcuq.Profile
) -> None:
    """Decisions and the final state are the same."""
    for make in (tcuq.Monitor, tcuq.reference.ReferenceMonitor):
        check(partial(make, profile), inputs, sizes)
        whole, stepped = make(profile), make(profile)
        trace = whole.run(*inputs)
        for index, (row, features) in enumerate(zip(*inputs, strict=True)):
            assert stepped.step(row, features) == trace[index]
    whole, stepped = tcuq.Monitor(profile), tcuq.Monitor(profile)
    whole.run(*inputs)
    for row, features in zip(*inputs, strict=True):
        stepped.step(row, features)
    assert whole.snapshot() == stepped.snapshot()
