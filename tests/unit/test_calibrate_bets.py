# SPDX-License-Identifier: Apache-2.0
"""The alarm's bets: blocks as long as the autocorrelation time, edges, gains and counts."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from tcuq.autocorrelation import autocorrelation_time
from tcuq.calibrate.bets import (
    CONFIDENCE_LOST,
    RESERVE,
    SHARES_ABOVE,
    STAKES,
    UNRELATED,
    block_counts,
    block_means,
    block_steps,
    fit_channel,
    gains_q8,
    neighbour_correlation,
)
from tcuq.profile.settings import MAX_BLOCK, MAX_COUNT, MIN_BLOCK, UNITS_PER_BLOCK


def bound(blocks: int, above: int, channels: int) -> float:
    """Clopper and Pearson's upper bound, by bisection of the binomial distribution."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        likely = binom.cdf(above, blocks, middle) > CONFIDENCE_LOST / (len(STAKES) * channels)
        low, high = (middle, high) if likely else (low, middle)
    return high


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("blocks", [1, 5, 10, 49, 84, 357, 5000])
def test_bet_is_fair_at_the_bounds(blocks: int, channels: int) -> None:
    """If each edge is passed as often as its bound allows, the bet's mean is at most 1."""
    bets = [2 ** (gain / 256) for gain in gains_q8(blocks, channels)]
    passed = [bound(blocks, int(share * blocks), channels) for share in SHARES_ABOVE]
    mean = bets[0] + sum(
        (bet - before) * chance for bet, before, chance in zip(bets[1:], bets, passed, strict=False)
    )
    assert 0.99 < mean <= 1


@pytest.mark.parametrize("blocks", [1, 20, 500])
def test_gains_are_rounded_down(blocks: int) -> None:
    """Each gain is the largest that the exact bet covers, in 1/256 bit."""
    wealth = RESERVE
    for gain, share, stake in zip(gains_q8(blocks, 3)[1:], SHARES_ABOVE, STAKES, strict=True):
        wealth += stake / bound(blocks, int(share * blocks), 3)
        assert 2 ** (gain / 256) <= wealth * (1 + 1e-9)
        assert 2 ** ((gain + 1) / 256) > wealth * (1 - 1e-9)


def test_gains_ascend_and_grow_with_blocks() -> None:
    """Passing more edges and more calibration pay more; without a block no gain is positive."""
    for blocks in (0, 1, 10, 100, 1000):
        assert list(gains_q8(blocks, 4)) == sorted(gains_q8(blocks, 4))
    tops = [gains_q8(blocks, 4)[-1] for blocks in (0, 10, 100, 1000, 10_000)]
    assert tops == sorted(set(tops))
    assert gains_q8(0, 4)[-1] <= 0


def test_blocks_are_whole_and_continue_over_recordings() -> None:
    """Steps left at the end are in no block; short recordings give as many as a long one."""
    assert block_means(np.arange(5.0), 2).tolist() == [0.5, 2.5]
    values = np.random.default_rng(4).normal(size=3200)
    short = fit_channel(
        "novelty", np.split(values, 400), channels=1, block_factor=1, distinct_share=1.0
    )
    assert short.blocks == 400


def test_block_length_is_the_autocorrelation_time() -> None:
    """The block is the shortest with unrelated neighbours, at most the autocorrelation time."""
    rng = np.random.default_rng(0)
    noise = [rng.normal(size=4000)]
    slow = [np.convolve(rng.normal(size=40_000), np.ones(200), "valid")]
    options = {"channels": 4, "distinct_share": 1.0}
    quick = fit_channel("novelty", noise, block_factor=1, **options)  # type: ignore[arg-type]
    assert quick.channel.block == MIN_BLOCK
    assert quick.blocks == quick.independent_blocks == 500
    assert fit_channel("risk", noise, block_factor=1, **options).channel.block == 32  # type: ignore[arg-type]
    long = fit_channel("novelty", slow, block_factor=1, **options)  # type: ignore[arg-type]
    assert MIN_BLOCK < long.channel.block <= 2**0.5 * long.autocorrelation_time
    assert long.neighbour_correlation <= UNRELATED
    careful = fit_channel("novelty", slow, block_factor=4, **options)  # type: ignore[arg-type]
    assert careful.channel.block == min(4 * long.channel.block, MAX_BLOCK)
    assert block_steps("novelty", 1e9) == MAX_BLOCK


def test_counts_of_blocks_by_the_block_before() -> None:
    """Counts are in sixteenths, with one block that passes everything added to each kind."""
    passed = np.array([0, 1, 2, 0, 0, 3, 0, 1])
    # After two that passed none: 0, 1, then the 3; after a recent pass: 2, 0, 0, 0, 1.
    passes, chances = block_counts(passed, 1.0)
    assert chances == 16 * (3 + 1)
    assert passes == ((48, 32, 32), (48, 32, 16))
    halved, fewer = block_counts(passed, 0.5)
    assert (halved[0], fewer) == ((32, 24, 24), 40)
    _, many = block_counts(np.zeros(1_000_000, np.int64), 1.0)
    assert MAX_COUNT - UNITS_PER_BLOCK <= many <= MAX_COUNT


def test_edges_are_passed_by_their_share() -> None:
    """10 %, 2 % and none of the blocks lie above the edges; two-sided channels have a centre."""
    values = np.random.default_rng(1).normal(size=MIN_BLOCK * 1000)
    fitted = fit_channel("novelty", [values], channels=1, block_factor=1, distinct_share=1.0)
    means = block_means(values, fitted.channel.block)
    assert [(means > edge).sum() for edge in fitted.channel.edges] == [100, 20, 0]
    uniform = [np.random.default_rng(2).random(2000)]
    for signal, centred in (("divergence", True), ("instability", True), ("novelty", False)):
        fitted = fit_channel(signal, uniform, channels=1, block_factor=1, distinct_share=1.0)  # type: ignore[arg-type]
        assert (fitted.channel.centre is not None) == centred


def test_repeats_count_once() -> None:
    """A stream half of which is repeats has half as many independent blocks, and smaller gains."""
    values = [np.random.default_rng(3).random(200 * MIN_BLOCK)]
    whole = fit_channel("novelty", values, channels=1, block_factor=1, distinct_share=1.0)
    half = fit_channel("novelty", values, channels=1, block_factor=1, distinct_share=0.5)
    assert (whole.independent_blocks, half.independent_blocks) == (200, 100)
    assert half.channel.gains_q8 == gains_q8(100, 1)
    assert half.channel.edges == whole.channel.edges


def test_neighbours_correlate() -> None:
    """Blocks that repeat their neighbour correlate, blocks that alternate correlate by -1."""
    assert neighbour_correlation(np.repeat([0.0, 1.0], 50)) > 0.9
    assert neighbour_correlation(np.tile([0.0, 1.0], 50)) == pytest.approx(-1)
    assert neighbour_correlation(np.ones(50)) == neighbour_correlation(np.ones(1)) == 0


def autoregressive(memory: float, steps: int, seed: int) -> NDArray[np.float64]:
    """A stationary AR(1) series: x' = memory · x + noise."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=steps)
    series = np.empty(steps)
    series[0] = noise[0] / np.sqrt(1 - memory**2)
    for step in range(1, steps):
        series[step] = memory * series[step - 1] + noise[step]
    return series


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9, 0.97])
def test_autoregressive_time_is_known(memory: float) -> None:
    """The time of an AR(1) series is (1 + r) / (1 - r)."""
    time = autocorrelation_time([autoregressive(memory, 100_000, seed=1)])
    assert time == pytest.approx((1 + memory) / (1 - memory), rel=0.12)


def test_time_depends_on_neither_units_nor_cuts() -> None:
    """Scale, offset, cuts into recordings and empty ones do not matter; the time is at least 1."""
    series = autoregressive(0.7, 5000, seed=0)
    expected = autocorrelation_time([series])
    assert autocorrelation_time([series * 1e-3 + 5]) == pytest.approx(expected)
    parts = [autoregressive(0.8, 500, seed) for seed in range(200)]
    assert autocorrelation_time(parts) == pytest.approx(9, rel=0.12)
    assert autocorrelation_time([np.empty(0), series]) == expected
    assert autocorrelation_time([np.tile([0.0, 1.0], 500)]) == 1.0


@pytest.mark.parametrize("value", [0.0, 1.0, -7.25, 1e6, 0.1])
def test_constant_signal_has_time_1(value: float) -> None:
    """A signal that never varied has the time 1."""
    assert autocorrelation_time([np.full(1000, value), np.full(10, value)]) == 1.0


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_few_steps_are_enough(steps: int) -> None:
    """Even a single step has a time, at least 1 and at most its length."""
    assert 1.0 <= autocorrelation_time([np.arange(float(steps))]) <= max(1, steps)
