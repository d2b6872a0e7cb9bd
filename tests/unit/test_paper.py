# SPDX-License-Identifier: Apache-2.0
"""The paper's system, recomputed from its equations in plain Python, against preset="paper"."""

import math
from functools import cache

import numpy as np
import pytest

import tcuq
import tcuq.reference
from tcuq.demo import demo_stream
from tcuq.profile.settings import RISK_LEVELS, TcuqScoreSettings
from tests.fixtures.conformance import quiet_fit

LAGS = (1, 2, 4)
STEPS = 700


def softmax(logits: list[float]) -> list[float]:
    """Posterior of a row of logits."""
    powers = [math.exp(value - max(logits)) for value in logits]
    return [power / sum(powers) for power in powers]


def in_bytes(posterior: list[float]) -> list[float]:
    """Return a posterior as the device has it: shares of its bytes in 1/256."""
    rounded = [min(round(256 * p), 255) for p in posterior]
    return [byte / sum(rounded) for byte in rounded]


def kullback_leibler(left: list[float], right: list[float]) -> float:
    """Return the divergence in bits, with 0 log 0 = 0."""
    return sum(a * math.log2(a / b) for a, b in zip(left, right, strict=True) if a > 0)


def jensen_shannon(left: list[float], right: list[float]) -> float:
    """Return it by its definition, not by entropies as the library does."""
    middle = [(a + b) / 2 for a, b in zip(left, right, strict=True)]
    return (kullback_leibler(left, middle) + kullback_leibler(right, middle)) / 2


def cosine(left: list[float], right: list[float]) -> float:
    """Return the cosine of two feature vectors."""
    product = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return product / (math.hypot(*left) * math.hypot(*right))


@cache
def logits_of(name: str) -> tcuq.Stream:
    """Return a bundled stream as a network without a softmax would give it."""
    stream = demo_stream(name)
    logits = np.log(np.maximum(stream.posteriors, 2**-10)).astype(np.float16)
    columns = logits, stream.features, stream.labels
    return tcuq.Stream(*columns, kind="logits", starts=stream.starts, shifted=stream.shifted)


@pytest.fixture(scope="module")
def paper() -> tcuq.Profile:
    """Fit the paper's system on the bundled streams."""
    return quiet_fit(logits_of("calibration"), logits_of("development"), preset="paper")


@pytest.fixture(scope="module")
def expected(paper: tcuq.Profile) -> list[dict[str, float]]:
    """Compute every quantity of equations 1 to 4 on the start of the test stream."""
    score = paper.score
    assert isinstance(score, TcuqScoreSettings)
    stream = logits_of("test")
    scale = paper.inputs.feature_scale
    assert scale is not None
    posteriors = [in_bytes(softmax([float(v) for v in row])) for row in stream.posteriors[:STEPS]]
    features = [
        [float(max(-127, min(127, round(float(v) / scale)))) for v in row]
        for row in np.asarray(stream.features)[:STEPS]
    ]
    begins = set(stream.starts.tolist())
    rows, begin = [], 0
    for t, p in enumerate(posteriors):
        begin = t if t in begins else begin
        past = [lag for lag in LAGS if t - lag >= begin]
        scale = sum(1 / lag for lag in past) or 1.0
        count = len(past) or 1
        label = p.index(max(p))
        first, second = sorted(p, reverse=True)[:2]
        # Equation 1, weights proportional to 1/lag, renormalised over the lags that have a past.
        d = sum(jensen_shannon(p, posteriors[t - lag]) / lag for lag in past) / scale
        s = sum(cosine(features[t], features[t - lag]) for lag in past) / count if past else 1.0
        same = sum(label == posteriors[t - lag].index(max(posteriors[t - lag])) for lag in past)
        c = same / count if past else 1.0
        # Equation 2, blend 0.5.
        m = 0.5 * (1 - first) + 0.5 * (1 - (first - second))
        # Equation 3.
        w = score.weights
        assert w.instability is not None
        logit = w.divergence * d + w.instability * (1 - s) + w.inconsistency * (1 - c) + w.doubt * m
        u = 1 / (1 + math.exp(-(logit + score.bias)))
        # Equation 4, mix 0.7.
        r = 0.7 * u + 0.3 * (1 - first)
        rows.append({"D": d, "1-S": 1 - s, "1-c": 1 - c, "m": m, "U": u, "r": r, "label": label})
    return rows


def test_paper_preset_has_the_papers_values(paper: tcuq.Profile) -> None:
    """The preset carries the defaults the paper states, and no alarm."""
    score = paper.score
    assert isinstance(score, TcuqScoreSettings)
    assert score.signs == "free"
    assert score.mix == 0.7
    assert paper.signals.lags == LAGS
    assert paper.signals.blend == 0.5
    assert paper.threshold.mode == "adaptive"
    assert paper.threshold.warmup == 4 * 16
    assert paper.threshold.alpha_q16 == int(0.1 * 65536)
    assert paper.budget.rate_q16 == int(0.15 * 65536)
    assert paper.alarm is None


def test_equations_1_to_4(paper: tcuq.Profile, expected: list[dict[str, float]]) -> None:
    """Signals, uncertainty and risk equal the equations within rounding."""
    from tcuq.stages.columns import concatenate
    from tcuq.stages.inputs import Inputs
    from tcuq.stages.score import TcuqScore, sigmoid
    from tcuq.stages.signals import Signals

    inputs, signals, parts = Inputs(paper.inputs), Signals(paper.signals, paper.inputs), []
    for part in logits_of("test").recordings():
        signals.reset_history()
        parts.append(signals.run(*inputs.run(part.posteriors, part.features)))
    columns = concatenate(parts)
    assert isinstance(paper.score, TcuqScoreSettings)
    score = TcuqScore(paper.score)
    for name, ours in (
        ("D", columns.divergence),
        ("1-S", columns.named("instability")),
        ("1-c", columns.inconsistency),
        ("m", columns.doubt),
        ("U", sigmoid(score.logit(columns))),
        ("r", score.run(columns)[0]),
    ):
        theirs = np.array([row[name] for row in expected])
        assert np.abs(ours[:STEPS] - theirs).max() < 1e-9, name


def test_threshold_and_budget(paper: tcuq.Profile, expected: list[dict[str, float]]) -> None:
    """The quantile tracker, the warm-up and the rate controller decide as written out here."""
    from fractions import Fraction

    stream = logits_of("test")
    trace = tcuq.reference.ReferenceMonitor(paper).run(
        stream.posteriors[:STEPS],
        np.asarray(stream.features)[:STEPS],
        starts=stream.starts[stream.starts < STEPS],
    )
    alpha, rate = Fraction(int(0.1 * 65536), 65536), Fraction(int(0.15 * 65536), 65536)
    quantile = anchor = Fraction(paper.threshold.start)
    tokens = burst = Fraction(16)
    for t, row in enumerate(expected):
        risk = round(row["r"] * RISK_LEVELS)
        exceeded = risk >= quantile
        level = min(quantile, anchor) if t < 64 else quantile
        tokens = min(burst, tokens + rate)
        outcome = 0
        if risk >= level:
            outcome = 1 if tokens >= 1 else 2
            tokens -= 1 if tokens >= 1 else 0
        assert trace.label[t] == row["label"]
        assert trace.risk[t] == risk / RISK_LEVELS
        assert trace.exceeded[t] == exceeded
        assert trace.outcome[t] == outcome
        quantile += paper.threshold.step * (exceeded - alpha)
    assert {0, 1} <= set(trace.outcome.tolist())


def test_combiner_is_the_balanced_logistic_optimum(paper: tcuq.Profile) -> None:
    """At the fitted weights the gradient of the paper's regularised objective vanishes."""
    from tcuq.calibrate.observe import observe
    from tcuq.stages.columns import concatenate

    development = logits_of("development")
    columns = concatenate(observe(development, paper.inputs, paper.signals))
    score = paper.score
    assert isinstance(score, TcuqScoreSettings)
    assert development.labels is not None
    known = development.labels >= 0
    wrong = (columns.label != development.labels)[known].astype(float)
    names = ("divergence", "instability", "inconsistency", "doubt")
    table = np.column_stack([columns.named(name)[known] for name in names])
    weights = np.array([getattr(score.weights, name) for name in names])
    balance = np.where(wrong == 1, 0.5 / wrong.mean(), 0.5 / (1 - wrong.mean()))
    error = balance * (1 / (1 + np.exp(-(table @ weights + score.bias))) - wrong)
    gradient = np.append(error @ table + weights, error.sum())
    assert np.abs(gradient).max() < 1e-2 * len(wrong) ** 0.5
