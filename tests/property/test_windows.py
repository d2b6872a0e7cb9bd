# SPDX-License-Identifier: Apache-2.0
"""The two guarantees that hold on any sequence, as exact integer statements over every window."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tcuq
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS, TOKEN, BudgetSettings, ThresholdSettings
from tcuq.stages.budget import Budget, Outcome
from tcuq.stages.threshold import Threshold
from tests.fixtures.effort import cases

EXAMPLES = cases(500)
STEPS = 400

ledgers = st.builds(
    ThresholdSettings,
    mode=st.sampled_from(["guarded", "adaptive"]),
    alpha_q16=st.integers(1, 65535),
    step=st.integers(1, RISK_LEVELS),
    start=st.integers(0, RISK_LEVELS),
    anchor=st.integers(0, RISK_LEVELS),
    warmup=st.integers(0, 100),
)
levels = st.integers(0, RISK_LEVELS)


def alternating(low: int, high: int) -> list[int]:
    """Return alternating extremes."""
    return [low, high] * (STEPS // 2)


sequences = st.one_of(
    st.lists(levels, min_size=1, max_size=STEPS),
    st.lists(levels, min_size=1, max_size=STEPS).map(sorted),
    st.lists(levels, min_size=1, max_size=STEPS).map(lambda v: sorted(v, reverse=True)),
    st.builds(lambda v: [v] * STEPS, levels),
    st.builds(alternating, levels, levels),
    st.lists(st.sampled_from([0, 1, RISK_LEVELS // 2, RISK_LEVELS]), min_size=1, max_size=STEPS),
)


def worst_windows(hits: NDArray[np.bool_], cost: int, rate: int) -> tuple[int, int]:
    """Return the exact least and greatest sum of (cost · hit - rate) over all windows."""
    sums = np.concatenate([[0], np.cumsum(np.where(hits, cost - rate, -rate).astype(np.int64))])
    rises = sums - np.minimum.accumulate(sums)
    falls = sums - np.maximum.accumulate(sums)
    return int(falls.min()), int(rises.max())


def assert_exceedances_keep_to_alpha(
    chosen: ThresholdSettings, exceeded: NDArray[np.bool_]
) -> None:
    """|count/n - alpha| <= (R + step) / (step · n) for every window of n, without a division."""
    low, high = worst_windows(exceeded, 1 << ALPHA_BITS, chosen.alpha_q16)
    bound = (RISK_LEVELS + chosen.step) << ALPHA_BITS
    assert chosen.step * high <= bound
    assert chosen.step * -low <= bound


@given(ledgers, sequences)
@settings(max_examples=EXAMPLES, deadline=None)
def test_exceedances_keep_to_alpha_in_every_window(
    chosen: ThresholdSettings, risks: list[int]
) -> None:
    """On random, sorted, constant, alternating and tied sequences the bound holds exactly."""
    _, exceeded, _ = Threshold(chosen).run(np.array(risks, np.int64), np.zeros(len(risks)))
    assert_exceedances_keep_to_alpha(chosen, exceeded)


@given(ledgers, st.lists(st.booleans(), min_size=1, max_size=STEPS))
@settings(max_examples=EXAMPLES, deadline=None)
def test_exceedances_keep_to_alpha_against_an_adversary(
    chosen: ThresholdSettings, exceed: list[bool]
) -> None:
    """The bound holds if an adversary sees the ledger and picks each risk just above or below."""
    threshold = Threshold(chosen)
    exceeded = []
    for wish in exceed:
        at = -(-threshold.ledger_q16 // (1 << ALPHA_BITS))  # the lowest level that exceeds
        level = min(max(at if wish else at - 1, 0), RISK_LEVELS)
        exceeded.append(threshold.run(np.array([level]), np.zeros(1))[1][0])
    assert_exceedances_keep_to_alpha(chosen, np.array(exceeded))


@given(st.floats(0.001, 1), st.floats(1, 40))
@settings(max_examples=EXAMPLES, deadline=None)
@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
def test_a_budget_is_never_stored_above_its_value(budget: float, burst: float) -> None:
    """With the user's own numbers, doubting always: abstentions are at most burst + budget · n."""
    certain = np.linspace(0.5, 1, 300)
    stream = tcuq.Stream(np.column_stack([certain, 1 - certain]))
    terms = [tcuq.TermPlan("low_confidence", scale="odds")]
    profile = tcuq.fit(stream, budget=budget, burst=burst, terms=terms, alarm=False)
    assert profile.budget.rate_q16 <= budget * TOKEN
    trace = tcuq.Monitor(profile).run(np.full((40_000, 2), 128, np.uint8))
    abstained = np.cumsum(trace.outcome == Outcome.ABSTAIN)
    assert (abstained <= burst + budget * np.arange(1, 40_001) + 1e-6).all()
    assert abstained[-1] > 0


buckets = st.builds(
    BudgetSettings, rate_q16=st.integers(0, TOKEN), burst_q16=st.integers(0, 40 * TOKEN)
)


@given(buckets, st.lists(st.booleans(), min_size=1, max_size=STEPS))
@settings(max_examples=EXAMPLES, deadline=None)
def test_abstentions_keep_to_the_budget_in_every_window(
    chosen: BudgetSettings, requests: list[bool]
) -> None:
    """Count <= floor(burst + budget · n) for every window of n, as integers."""
    outcomes = Budget(chosen).run(np.array(requests))
    _, high = worst_windows(outcomes == Outcome.ABSTAIN, TOKEN, chosen.rate_q16)
    assert high <= chosen.burst_q16


@given(buckets, st.sampled_from(["always", "alternating", "late"]))
@settings(max_examples=EXAMPLES, deadline=None)
def test_abstentions_keep_to_the_budget_under_greed(chosen: BudgetSettings, greed: str) -> None:
    """The bound holds for requests at every step, every other step, or all after a long rest."""
    steps = np.arange(2000)
    requests = {"always": steps >= 0, "alternating": steps % 2 == 0, "late": steps >= 1500}[greed]
    outcomes = Budget(chosen).run(requests)
    _, high = worst_windows(outcomes == Outcome.ABSTAIN, TOKEN, chosen.rate_q16)
    assert high <= chosen.burst_q16
    assert ((outcomes == Outcome.ACCEPT) == ~requests).all()
