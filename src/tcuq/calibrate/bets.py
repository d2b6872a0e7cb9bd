# SPDX-License-Identifier: Apache-2.0
"""The alarm's bets: edges from calibration blocks, gains from bounds on passing them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tcuq._autocorrelation import autocorrelation_time
from tcuq.profile.settings import MAX_BLOCK, MIN_BLOCK, Channel, Signal
from tcuq.stages.alarm import departure

Floats = NDArray[np.float64]

CONFIDENCE_LOST = 0.05  # delta: chance that a bound fails, over all edges and channels
SHARES_ABOVE = (0.1, 0.02, 0.0)
STAKES = (0.17, 0.17, 0.16)
# With exponential memory, means over blocks of two autocorrelation times correlate by 0.16 with
# their neighbours; over one such time by 0.33 (docs/decisions/0005).
BLOCK_TIMES = 2
RESERVE = 0.5  # wealth that remains when no edge is passed
TWO_SIDED = frozenset({"divergence", "instability"})


@dataclass(frozen=True, slots=True)
class ChannelFit:
    """A channel and the figures of its fit."""

    channel: Channel
    autocorrelation_time: float
    blocks: int  # finished blocks in the calibration stream
    independent_blocks: int  # the same, without repeated steps
    neighbour_correlation: float  # of the departures of consecutive blocks


def fit_channel(
    signal: Signal,
    parts: Sequence[Floats],
    *,
    channels: int,
    block_factor: int,
    distinct_share: float,
) -> ChannelFit:
    """Fit the bet of one channel on its values in each recording."""
    parts = [part for part in parts if len(part)]  # a short recording may have no full past
    time = autocorrelation_time(parts)
    nearest = 1 << round(math.log2(BLOCK_TIMES * time))
    block = min(block_factor * max(MIN_BLOCK, nearest), MAX_BLOCK)
    means = block_means(parts, block)
    everything = np.concatenate(parts)
    centre = float(everything.mean()) if signal in TWO_SIDED else None
    blocks = len(means)
    independent = int(blocks * distinct_share)
    edges = edges_above(departure(means, centre), np.ones(blocks, np.int64))
    channel = Channel(signal, centre, block, edges, gains_q8(independent, channels))
    correlation = neighbour_correlation(parts, channel)
    return ChannelFit(channel, time, blocks, independent, correlation)


def edges_above(heights: Floats, counts: NDArray[np.int64]) -> tuple[float, ...]:
    """Return the heights that 10 %, 2 % and none of the blocks lie strictly above."""
    if len(heights) == 0:
        return (0.0,) * len(SHARES_ABOVE)
    down = np.argsort(-heights, kind="stable")
    reach = counts[down].cumsum()
    ranks = [int(share * reach[-1]) for share in SHARES_ABOVE]
    return tuple(heights[down[np.searchsorted(reach, ranks, side="right")]].tolist())


def neighbour_correlation(parts: Sequence[Floats], channel: Channel) -> float:
    """Return the correlation of consecutive blocks' departures within recordings, or 0."""
    rows = [departure(block_means([part], channel.block), channel.centre) for part in parts]
    before = np.concatenate([row[:-1] for row in rows])
    after = np.concatenate([row[1:] for row in rows])
    everything = np.concatenate(rows)
    spread = everything.var() if len(everything) else 0.0
    if len(before) == 0 or spread <= 0:
        return 0.0
    centre = everything.mean()
    return float(((before - centre) * (after - centre)).mean() / spread)


def block_means(parts: Sequence[Floats], block: int) -> Floats:
    """Return means over whole blocks, none across two recordings."""
    return np.concatenate(
        [part[: len(part) // block * block].reshape(-1, block).mean(axis=1) for part in parts]
    )


def gains_q8(blocks: int, channels: int) -> tuple[int, ...]:
    """Return log2 of the bet in 1/256 bit, rounded down, by the number of edges passed.

    With k of n calibration blocks above an edge, the chance of passing it is at most the
    Clopper-Pearson bound; paying stake / bound for it keeps the bet's mean at or below 1.
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
