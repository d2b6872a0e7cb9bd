# SPDX-License-Identifier: Apache-2.0
"""The alarm's bets: edges from calibration blocks, gains from bounds on passing them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tcuq.autocorrelation import autocorrelation_time
from tcuq.profile.settings import (
    CAUTION,
    MAX_BLOCK,
    MAX_COUNT,
    MIN_BLOCK,
    RECENT_BLOCKS,
    UNITS_PER_BLOCK,
    AlarmSettings,
    Channel,
    ChannelSignal,
)
from tcuq.stages.alarm import BETS, Bets, distance_from_centre, edges_passed

Floats = NDArray[np.float64]

CONFIDENCE_LOST = 0.05  # delta: chance that a bound fails, over all edges and channels
SHARES_ABOVE = (0.1, 0.02, 0.0)
RESERVE, STAKES = 0.5, (0.17, 0.17, 0.16)  # of calibration's own bets, which do not learn
LEAST_BLOCK: dict[ChannelSignal, int] = {"risk": 32}
USUAL_BLOCK = 16  # at least, where neighbours of shorter blocks depend on each other
UNRELATED = 0.2  # neighbouring blocks that correlate by no more count as independent
TWO_SIDED = frozenset({"divergence", "instability"})
MOSTLY_DISTINCT = 0.5  # share of the steps, below which recordings were repeated
REPEATED_CAUTION = 64
SLOWEST_BLOCKS = 1000  # search cap: an alarm that needs more blocks counts as none


@dataclass(frozen=True, slots=True)
class ChannelFit:
    """A channel and the figures of its fit."""

    channel: Channel
    autocorrelation_time: float
    blocks: int  # finished blocks in the calibration stream
    independent_blocks: int  # the same, without repeated steps
    neighbour_correlation: float  # of the departures of consecutive blocks


def fit_channel(
    signal: ChannelSignal,
    parts: Sequence[Floats],
    *,
    channels: int,
    block_factor: int,
    distinct_share: float,
) -> ChannelFit:
    """Fit the bets of one channel on its values in each recording."""
    parts = [part for part in parts if len(part)]  # a short recording may have no full past
    time = autocorrelation_time(parts)
    values = np.concatenate(parts)
    centre = float(values.mean()) if signal in TWO_SIDED else None
    block = block_steps(signal, time)
    if signal not in LEAST_BLOCK:
        block = shortest_block(values, centre, block)
    block = min(block_factor * block, MAX_BLOCK)
    means = block_means(values, block)
    independent = int(len(means) * distinct_share)
    empty = Channel(signal, centre, block, (), gains_q8(independent, channels), (), 0)
    correlation = neighbour_correlation(distance_from_centre(means, centre))
    channel = recounted(empty, values, distinct_share)
    return ChannelFit(channel, time, len(means), independent, correlation)


def recounted(channel: Channel, values: Floats, distinct_share: float) -> Channel:
    """Return the channel with edges and counts of these values, its blocks as they are."""
    centre = None if channel.centre is None else float(values.mean())
    means = block_means(values, channel.block)
    heights = distance_from_centre(means, centre)
    edges = edges_above(heights, np.ones(len(means), np.int64))
    passes, chances = block_counts(edges_passed(means, edges, centre), distinct_share)
    return replace(channel, centre=centre, edges=edges, passes=passes, chances=chances)


def block_steps(signal: ChannelSignal, time: float) -> int:
    """Return the power of two nearest the signal's autocorrelation time."""
    nearest = 1 << round(math.log2(max(time, 1.0)))
    return min(max(LEAST_BLOCK.get(signal, USUAL_BLOCK), nearest), MAX_BLOCK)


def shortest_block(values: Floats, centre: float | None, most: int) -> int:
    """Return the shortest block whose neighbours' departures are unrelated, or the longest."""
    block = MIN_BLOCK
    while block < most:
        heights = distance_from_centre(block_means(values, block), centre)
        if neighbour_correlation(heights) <= UNRELATED:
            break
        block *= 2
    return block


def block_counts(
    passed: NDArray[np.int64], distinct_share: float
) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Count blocks by the edges they passed, and by whether one of the two before passed any.

    Repeated steps count by the share of distinct ones. One block that passes every edge is added
    to each kind, so that no bet pays without bound.
    """
    # Whether one of the blocks before passed an edge.
    before = np.concatenate([np.zeros(RECENT_BLOCKS, np.int64), passed])
    after = np.any([before[i : i + len(passed)] > 0 for i in range(RECENT_BLOCKS)], axis=0)
    kinds = (passed[~after], passed[after])
    most = (MAX_COUNT / UNITS_PER_BLOCK - 1) / max(1, len(kinds[0]))
    unit = UNITS_PER_BLOCK * min(distinct_share, most)

    def count(blocks: float) -> int:
        return UNITS_PER_BLOCK + round(unit * blocks)

    edges = range(len(SHARES_ABOVE))
    passes = (tuple(count((kind > edge).sum()) for edge in edges) for kind in kinds)
    return tuple(passes), count(len(kinds[0]))


def caution(distinct_share: float) -> int:
    """Return the limit over what independent blocks need: repeated steps tell less of the tails."""
    return CAUTION if distinct_share >= MOSTLY_DISTINCT else REPEATED_CAUTION


def fastest_alarm_steps(alarm: AlarmSettings, channel: Channel, *, longer: int = 1) -> float:
    """Return the steps to an alarm if every block passes every edge; 0 if it does not come.

    ``longer`` supposes a calibration stream so many times as long.
    """
    passes = tuple(tuple(longer * count for count in row[:2]) + row[2:] for row in channel.passes)
    bets = Bets(replace(channel, passes=passes, chances=longer * channel.chances))
    for blocks in range(1, SLOWEST_BLOCKS):
        bets.take(len(SHARES_ABOVE))
        if bets.evidence >= BETS * alarm.limit:
            return float(blocks * channel.block)
    return 0.0


def edges_above(heights: Floats, counts: NDArray[np.int64]) -> tuple[float, ...]:
    """Return the heights that 10 %, 2 % and none of the blocks lie strictly above."""
    if len(heights) == 0:
        return (0.0,) * len(SHARES_ABOVE)
    down = np.argsort(-heights, kind="stable")
    reach = counts[down].cumsum()
    ranks = [int(share * reach[-1]) for share in SHARES_ABOVE]
    return tuple(heights[down[np.searchsorted(reach, ranks, side="right")]].tolist())


def neighbour_correlation(heights: Floats) -> float:
    """Return the correlation of consecutive blocks' departures, or 0."""
    centred = heights - heights.mean() if len(heights) else heights
    spread = float(centred @ centred)
    if len(heights) < 2 or spread <= 0:
        return 0.0
    return float(centred[1:] @ centred[:-1]) / spread * len(heights) / (len(heights) - 1)


def block_means(values: Floats, block: int) -> Floats:
    """Return means over whole blocks; a block may span recordings, as on the device."""
    means: Floats = values[: len(values) // block * block].reshape(-1, block).mean(axis=1)
    return means


def gains_q8(blocks: int, channels: int) -> tuple[int, ...]:
    """Return log2 of the bet in 1/256 bit, rounded down, by the number of edges passed.

    These bets do not learn. With k of n calibration blocks above an edge, the chance of passing it
    is at most the Clopper-Pearson bound; paying stake / bound keeps the bet's mean at or below 1.
    """
    wealth = RESERVE
    gains = [math.floor(256 * math.log2(wealth))]
    for share, stake in zip(SHARES_ABOVE, STAKES, strict=True):
        above = int(share * blocks)
        level = 1 - CONFIDENCE_LOST / (len(STAKES) * channels)
        bound = float(beta.ppf(level, above + 1, blocks - above)) if blocks else 1.0
        wealth += stake / bound
        gains.append(math.floor(256 * math.log2(wealth)))
    return tuple(gains)
