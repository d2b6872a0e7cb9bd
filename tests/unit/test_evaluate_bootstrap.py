# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.evaluation.bootstrap import block_interval, interval_of

Indices = NDArray[np.int64]


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


def test_same_seed_gives_the_same_interval() -> None:
    """Randomness comes from the generator alone."""
    values = np.random.default_rng(3).normal(size=50)
    intervals = {
        block_interval(lambda c: float(values[c].mean()), 50, 5, 30, np.random.default_rng(4))
        for _ in range(3)
    }
    assert len(intervals) == 1


def test_no_rounds_give_no_interval() -> None:
    """Without resampling rounds there is no interval."""
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
