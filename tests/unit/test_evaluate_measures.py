# SPDX-License-Identifier: Apache-2.0
"""Measures by hand, and their bootstrap intervals."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from tcuq.evaluation import measures as m
from tcuq.evaluation.bootstrap import block_interval, interval_of

INF = np.inf
NONE = np.zeros(4, np.bool_)
SOME = np.array([False, True, False, True])
Indices = NDArray[np.int64]


def test_rankings_by_hand() -> None:
    """AUROC counts pairs, AUPRC means precisions; without the steps they need they do not exist."""
    assert m.auroc(SOME, np.array([0.1, 0.2, 0.3, 0.4])) == 0.75
    assert m.auroc(SOME, np.full(4, 0.5)) == 0.5
    assert m.auprc(SOME, np.array([0.1, 0.2, 0.3, 0.4])) == pytest.approx((1 + 2 / 3) / 2)
    assert m.auprc(SOME, np.full(4, 0.5)) == 0.5
    risk = np.arange(4.0)
    assert math.isnan(m.auroc(NONE, risk))
    assert math.isnan(m.auroc(~NONE, risk))
    assert math.isnan(m.auprc(NONE, risk))
    assert m.auprc(~NONE, risk) == 1


def test_moving_mean_by_hand() -> None:
    """Means look back over a window within a recording, over at least half of it known."""
    values = np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 40.0])
    known = np.array([True, True, True, True, False, False, True])
    means = m.moving_mean(values, known, np.array([0, 3]), 2)
    assert means == pytest.approx([np.nan, 1.5, 2.5, np.nan, 10, np.nan, 40], nan_ok=True)
    half = m.moving_mean(values, known, np.array([0, 3]), 3)
    assert half == pytest.approx([np.nan, np.nan, 2, *[np.nan] * 4], nan_ok=True)
    assert np.isnan(m.moving_mean(np.ones(4), ~NONE, np.array([0, 2]), 3)).all()


def test_risk_coverage_by_hand() -> None:
    """The curve runs to 1; its area is the mean error of the k least risky steps, ties shared."""
    wrong = np.array([False, False, True, True])
    best = (0 + 0 + 1 / 3 + 2 / 4) / 4
    assert m.area_under_risk_coverage(wrong, np.arange(4.0)) == pytest.approx(best)
    worst = (1 + 1 + 2 / 3 + 2 / 4) / 4
    assert m.area_under_risk_coverage(wrong, -np.arange(4.0)) == pytest.approx(worst)
    risk = np.array([0.0, 1.0, 1.0, 1.0])
    expected = (0 + (1 / 3) / 2 + (2 / 3) / 3 + 1 / 4) / 4
    for place in (1, 2, 3):
        wrong = np.arange(4) == place
        assert m.area_under_risk_coverage(wrong, risk) == pytest.approx(expected)
    coverage, error = m.risk_coverage(np.array([True, False, True, False]), np.arange(4.0))
    assert coverage.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert error == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2])


def test_negative_log_likelihood_is_scikit_learns() -> None:
    """The mean is the log loss, and a probability of 0 does not make it infinite."""
    rng = np.random.default_rng(0)
    rows, labels = rng.dirichlet([1, 1, 1], 50), rng.integers(0, 3, 50)
    expected = log_loss(labels, rows, labels=[0, 1, 2])
    assert m.negative_log_likelihood(rows, labels).mean() == pytest.approx(expected)
    zero = m.negative_log_likelihood(np.array([[0.0, 1.0]]), np.array([0]))
    assert zero == pytest.approx([-math.log(1e-12)])


def test_brier_by_hand() -> None:
    """The squared distance from the one-hot truth; the input is left as it was."""
    rows = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    assert m.brier(rows, np.array([0, 0, 0])).tolist() == [0.0, 0.5, 2.0]
    assert rows.tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]


def test_calibration_error_by_hand() -> None:
    """Too sure and not sure enough cancel in one bin, not across bins."""
    confidence = np.array([1.0, 1.0, 0.6, 0.6])
    right = np.array([True, True, False, False])
    assert m.expected_calibration_error(confidence, right) == pytest.approx(0.3)
    right = np.array([True, False])
    assert m.expected_calibration_error(np.array([0.5, 0.5]), right) == pytest.approx(0)
    assert m.expected_calibration_error(np.array([0.2, 0.9]), right) == pytest.approx(0.85)


def test_worst_window_by_hand() -> None:
    """The window slides by single steps; one longer than the stream is the stream."""
    hits = np.array([1, 0, 0, 1, 1, 0], np.bool_)
    assert m.worst_window_rate(hits, 1) == 1
    assert m.worst_window_rate(hits, 3) == pytest.approx(2 / 3)
    assert m.worst_window_rate(hits, 100) == 0.5
    assert m.worst_window_rate(NONE, 2) == 0


@pytest.mark.parametrize(
    ("alarm", "shifted", "delays"),
    [
        ("....", "....", []),
        (".x..", "....", []),
        ("..x.", ".###", [2]),
        (".x..", ".###", [1]),
        ("x...", ".###", [INF]),
        ("...x", ".##.", [INF]),
        ("....", "####", [INF]),
        ("x..x", "#.##", [1, 2]),
        (".xx.x", "##.##", [2, 2]),
        ("xxxx", "####", [1]),
        ("..x..x", ".##.##", [2, 2]),
    ],
)
def test_detection_delays_by_hand(alarm: str, shifted: str, delays: list[float]) -> None:
    """A delay counts from the onset, which is 1; an alarm outside the shift does not count."""
    measured = m.detection_delays(
        np.array([c == "x" for c in alarm]), np.array([c == "#" for c in shifted])
    )
    assert measured.tolist() == delays


def test_poisson_interval_is_the_textbook_one() -> None:
    """The interval is 0 to 3.7 for no event, and 4.8 to 18.4 for ten."""
    assert m.poisson_interval(0) == pytest.approx((0, 3.689), abs=1e-3)
    assert m.poisson_interval(10) == pytest.approx((4.795, 18.390), abs=1e-3)


def test_steps_after_a_shift() -> None:
    """The first unshifted steps after each stretch, up to the next shift or the end."""
    shifted = np.array([0, 1, 1, 0, 0, 0, 1, 0, 1, 0], bool)
    after = m.steps_after_shift(shifted, 2)
    assert np.flatnonzero(after).tolist() == [3, 4, 7, 9]
    assert not m.steps_after_shift(np.zeros(5, bool), 2).any()


def autoregressive(memory: float, steps: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """An AR(1) series around 0."""
    series = rng.normal(size=steps)
    series[0] /= np.sqrt(1 - memory**2)
    for step in range(1, steps):
        series[step] += memory * series[step - 1]
    return series


def test_blocks_cover_the_truth_more_often() -> None:
    """On an autocorrelated stream, blocks give valid intervals and single steps do not."""
    rng, trials = np.random.default_rng(0), 100
    covered = {1: 0, 80: 0}
    for _ in range(trials):
        series = autoregressive(0.9, 1000, rng)
        for block in covered:
            low, high = block_interval(
                lambda chosen, series=series: float(series[chosen].mean()),  # type: ignore[misc]
                1000, block, 100, rng,
            )  # fmt: skip
            covered[block] += low <= 0 <= high
    assert covered[1] < 0.6 * trials
    assert covered[80] > 0.8 * trials


def test_independent_steps_have_the_usual_interval() -> None:
    """Without memory the interval of a mean is ±1.96 standard errors."""
    values = np.random.default_rng(1).normal(size=2000)
    low, high = block_interval(
        lambda chosen: float(values[chosen].mean()), 2000, 1, 2000, np.random.default_rng(2)
    )
    assert (high - low) / 2 == pytest.approx(1.96 / np.sqrt(2000), rel=0.08)


@pytest.mark.parametrize(("steps", "block"), [(10, 3), (10, 10), (10, 99), (7, 1), (1, 1), (5, 0)])
def test_resampled_streams_are_blocks(steps: int, block: int) -> None:
    """A resampled stream is as long as the stream and made of consecutive steps, in a circle."""
    samples: list[Indices] = []

    def record(chosen: Indices) -> float:
        samples.append(chosen)
        return 0.0

    block_interval(record, steps, block, 20, np.random.default_rng(0))
    size = max(1, min(block, steps))
    for chosen in samples:
        assert len(chosen) == steps
        assert ((chosen >= 0) & (chosen < steps)).all()
        for begin in range(0, steps, size):
            jumps = np.diff(chosen[begin : begin + size]) % steps
            assert (jumps == 1 % steps).all()


def test_intervals_come_from_the_generator_and_its_rounds() -> None:
    """The same seed gives the same interval; no rounds give none."""
    values = np.random.default_rng(3).normal(size=50)
    intervals = {
        block_interval(lambda c: float(values[c].mean()), 50, 5, 30, np.random.default_rng(4))
        for _ in range(3)
    }
    assert len(intervals) == 1
    low, high = block_interval(lambda _: 1.0, 10, 2, 0, np.random.default_rng(0))
    assert math.isnan(low)
    assert math.isnan(high)


@pytest.mark.parametrize(("share", "exists"), [(0.3, True), (0.9, False), (1.0, False)])
def test_statistic_that_often_fails_has_no_interval(share: float, exists: bool) -> None:
    """NaN in fewer than half of the rounds is left out; in more, there is no interval."""
    rng = np.random.default_rng(5)
    low, high = block_interval(
        lambda _: float("nan") if rng.random() < share else 7.0, 10, 2, 200, rng
    )
    assert (low, high) == (7.0, 7.0) if exists else math.isnan(low) and math.isnan(high)


@pytest.mark.parametrize(
    ("steps", "block", "rounds", "events", "reason"),
    [
        (100, 5, 0, {}, "no bootstrap rounds were requested"),
        (100, 50, 20, {}, "100 steps hold fewer than 5 bootstrap blocks of 50 steps"),
        (100, 5, 20, {"errors": 4}, "only 4 errors; an interval needs at least 5"),
        (100, 5, 20, {"errors": 5}, ""),
    ],
)
def test_an_interval_or_the_reason_why_not(
    steps: int, block: int, rounds: int, events: dict[str, int], reason: str
) -> None:
    """Too few rounds, blocks or events give no interval, and give the reason."""
    values = np.random.default_rng(6).normal(size=steps)
    rng = np.random.default_rng(7)
    interval = interval_of(
        lambda c: float(values[c].mean()), steps, block, rounds, rng, events=events
    )
    assert interval.reason == reason
    assert math.isnan(interval.low) == math.isnan(interval.high) == bool(reason)


@pytest.mark.parametrize(("value", "word"), [(3.0, "same value"), (math.nan, "undefined")])
def test_zero_width_is_no_interval(value: float, word: str) -> None:
    """A statistic that never varies, or does not exist, has no interval."""
    interval = interval_of(lambda _: value, 100, 5, 20, np.random.default_rng(8))
    assert word in interval.reason
