# SPDX-License-Identifier: Apache-2.0
"""Alarm: reports that the stream is no longer the one known so far, and on which channel.

A channel takes the mean of a signal over blocks of its own length. A bet pays for each edge that a
block passes, more for edges that blocks seldom passed, in calibration and on this device: it
learns. Each channel sums its bets over where a change may have begun (Shiryaev-Roberts); the alarm
adds these sums, weighted by block length. Independent blocks would need channels · 2^h for one
false alarm in 2^h steps; the limit is four times that. For the first steps after a boot
calibration's own bets, which do not learn, alarm too.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import (
    BOOT_STEPS,
    MAX_COUNT,
    RECENT_BLOCKS,
    UNITS_PER_BLOCK,
    AlarmFlag,
    AlarmSettings,
    Channel,
    ChannelSignal,
)
from tcuq.stages.columns import SignalColumns
from tcuq.stages.epoch import Epoch

Floats = NDArray[np.float64]

STAKES = (0.17, 0.17, 0.16)
MAX_CHANCES = (1 << 16) - 1
RESERVE = 0.5  # wealth that remains when no edge is passed
NEEDS_PAST: frozenset[ChannelSignal] = frozenset({"risk", "divergence", "instability"})


class Bets:
    """One channel's counts of blocks and of edges passed, and the evidence of its bets.

    Evidence is weighted by the block's length and kept in eighths, rounded down.

    Parameters
    ----------
    channel
        Counts of calibration to start from.
    """

    def __init__(self, channel: Channel) -> None:
        self.evidence: float = 0.0
        self._block = channel.block
        self._passes = np.array(channel.passes, np.float64)
        self._chances = float(channel.chances)
        self._memory = 0  # blocks for which the last that passed an edge still counts

    def take(self, passed: int) -> None:
        """Bet on a block that passed this many edges, then learn from it."""
        self.evidence = math.floor(8 * (self.evidence + self._block) * self._payoff(passed)) / 8
        if self._memory == 0:
            self._chances += UNITS_PER_BLOCK
        self._passes[int(self._memory > 0), :passed] += UNITS_PER_BLOCK
        if max(self._chances, self._passes.max()) > MAX_COUNT:
            self._chances /= 2
            self._passes /= 2
        self._memory = RECENT_BLOCKS if passed else max(0, self._memory - 1)

    def _payoff(self, passed: int) -> float:
        passes, chances = self._passes[int(self._memory > 0)], self._chances
        if self._memory:
            # Each block that passed is remembered for two more; those that passed while one was
            # remembered add at least one: 2 (passes - 2) + passes after one, in blocks, where 2 is
            # the counts' start and the latest.
            chances = max(0, 2 * self._passes[0, 0] - 4 * UNITS_PER_BLOCK) + passes[0]
            chances = min(chances, MAX_CHANCES)
        paid = zip(STAKES[:passed], passes[:passed], strict=True)
        return RESERVE + sum(float(stake * chances / count) for stake, count in paid)


class Alarm:
    """The alarm over all channels.

    Parameters
    ----------
    settings
        The rate, the channels and the length of an epoch.
    """

    def __init__(self, settings: AlarmSettings) -> None:
        self.settings = settings
        self.epoch: Epoch = Epoch(settings)
        self.reset()

    def reset(self) -> None:
        """Forget all evidence and what was learned."""
        count = len(self.settings.channels)
        self._sum = np.zeros(count)
        self.block_steps: NDArray[np.int64] = np.zeros(count, np.int64)
        self.bets: list[Bets] = [Bets(channel) for channel in self.settings.channels]
        self._age = 0
        self.epoch.reset()

    def run(self, columns: SignalColumns, odds: Floats) -> NDArray[np.uint8]:
        """Return the flags of the channel that alarms at each step; odds are those of the risk."""
        flags = np.zeros(len(columns.label), np.uint8)
        counted = 0
        for step, blocks in self._finished_blocks(columns, odds):
            self.epoch.count(step - counted)
            counted = step
            flags[step] = self._take(blocks, since_boot=self._age + step < BOOT_STEPS)
        self.epoch.count(len(flags) - counted)
        self._age += len(flags)
        return flags

    def _take(self, blocks: Sequence[tuple[int, int]], *, since_boot: bool) -> int:
        """Take the blocks that end at a step; return the alarm's flags, 0 for none."""
        for index, passed in blocks:
            self.bets[index].take(passed)
            self.epoch.bet(index, passed)
        channels = self.settings.channels
        evidence = [bets.evidence for bets in self.bets]
        learned = sum(evidence) >= self.settings.limit
        above = [i for i, _ in blocks if since_boot and self._above_boot_limit(i)]
        if not learned and not above:
            return 0
        self._restart(since_boot=since_boot)
        if learned:
            return int(AlarmFlag.of(channels[int(np.argmax(evidence))].signal))
        return int(AlarmFlag.of(channels[above[-1]].signal) | AlarmFlag.SINCE_BOOT)

    def _above_boot_limit(self, index: int) -> bool:
        limit_q8 = self.settings.boot_limit_q8(self.settings.channels[index])
        return bool(self.epoch.onset[index] >= 2 ** (limit_q8 / 256))

    def _restart(self, *, since_boot: bool) -> None:
        """Start the evidence again; what was learned stays."""
        for bets in self.bets:
            bets.evidence = 0.0
        if since_boot:
            self.epoch.onset[:] = 0

    def _finished_blocks(
        self, columns: SignalColumns, odds: Floats
    ) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Yield steps at which blocks end, with each such channel and the edges it passed."""
        ended = []
        for index, channel in enumerate(self.settings.channels):
            steps, values = channel_input(columns, odds, channel.signal)
            means, ends = self._block_means(index, channel, values)
            passed = edges_passed(means, channel.edges, channel.centre)
            ended += [
                (s, index, p) for s, p in zip(steps[ends].tolist(), passed.tolist(), strict=True)
            ]
        for step, group in groupby(sorted(ended), key=itemgetter(0)):
            yield step, [(index, passed) for _, index, passed in group]

    def _block_means(
        self, index: int, channel: Channel, values: Floats
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return the means and ends of the blocks that end here; carry the rest over.

        Sums run in the order of the steps, so that they do not depend on how a stream is cut.
        """
        missing = channel.block - int(self.block_steps[index])
        if len(values) < missing:
            self._sum[index] = _running_sum(float(self._sum[index]), values)
            self.block_steps[index] += len(values)
            return np.empty(0), np.empty(0, np.int64)
        first = _running_sum(float(self._sum[index]), values[:missing])
        whole = (len(values) - missing) // channel.block
        rest = missing + whole * channel.block
        body = values[missing:rest].reshape(whole, channel.block)
        sums = np.concatenate([[first], np.add.accumulate(body, axis=1)[:, -1]])
        self._sum[index] = _running_sum(0.0, values[rest:])
        self.block_steps[index] = len(values) - rest
        ends = missing - 1 + channel.block * np.arange(whole + 1)
        return sums / channel.block, ends


def channel_input(
    columns: SignalColumns, odds: Floats, signal: ChannelSignal
) -> tuple[NDArray[np.int64], Floats]:
    """Return the steps a channel counts and their values: each with its whole past, or health."""
    if signal == "health" and columns.health is None:
        return np.empty(0, np.int64), np.empty(0)
    values = odds if signal == "risk" else columns.named(signal)
    counted = columns.whole_past if signal in NEEDS_PAST else np.ones(len(values), np.bool_)
    return np.flatnonzero(counted), values[counted]


def distance_from_centre(means: Floats, centre: float | None) -> Floats:
    """Return what the edges are compared with: block means or their distance from the centre."""
    return means if centre is None else np.abs(means - centre)


def edges_passed(means: Floats, edges: Sequence[float], centre: float | None) -> NDArray[np.int64]:
    """Count the edges that each block lies strictly above."""
    return np.searchsorted(edges, distance_from_centre(means, centre), side="left")


def _running_sum(start: float, values: Floats) -> float:
    return float(np.add.accumulate(np.concatenate([[start], values]))[-1])
