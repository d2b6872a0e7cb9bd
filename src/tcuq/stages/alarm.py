# SPDX-License-Identifier: Apache-2.0
"""Alarm: reports that the stream is no longer the one known so far, and on which channel.

A channel takes the mean of a signal over blocks of its own length. Three bets pay for edges that a
block passes: the lowest, the middle one, and the two highest; more for edges that blocks seldom
passed, in calibration and on this device: they learn. The highest edge lies beyond all of
calibration, as far from its largest block as that from the lowest edge, and counts as passed four
times as seldom. Each bet sums its payoffs over where a change may have begun (Shiryaev-Roberts);
the alarm adds the bets' mean sums of all channels, weighted by block length. Independent blocks
would need channels · 2^h for one false alarm in 2^h steps; the limit is four times that or more,
and a 64th of it is amber. For the first steps after a boot calibration's own bets, which do not
learn, alarm too.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

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

MAX_CHANCES = (1 << 16) - 1
# Of a bet: what it keeps, and what it stakes on each edge.
LOW, MIDDLE, TOP = range(3)
RESERVES = (26 / 64, 13 / 64, 10 / 64)
STAKES = ((LOW, 38 / 64), (MIDDLE, 51 / 64), (TOP, 29 / 64), (TOP, 25 / 64))
BETS = len(RESERVES)
BEYOND_START = UNITS_PER_BLOCK // 4  # of the count of blocks beyond the last edge
# A sum is kept as its logarithm in eighths of a bit, rounded down: powers of two between 1 and 2.
EIGHTHS = tuple(round(2 ** (15 + eighth / 8)) / 2**15 for eighth in range(8))
MAX_LEVEL, MAX_SUM = 8 * 27, 1 << 30
REST = (6, 2, 1)  # levels that a block leaves which passes no edge
AMBER = 64  # the alarm's evidence over that of amber
NEEDS_PAST: frozenset[ChannelSignal] = frozenset({"risk", "divergence", "instability"})


class Bets:
    """One channel's counts of blocks and of edges passed, and the sums of its bets.

    Parameters
    ----------
    channel
        Counts of calibration to start from.
    """

    def __init__(self, channel: Channel) -> None:
        self._block = channel.block
        self._passes = [[*row, BEYOND_START] for row in channel.passes]
        self._chances = channel.chances
        self._memory = 0  # blocks for which the last that passed an edge still counts
        self.restart()

    def restart(self) -> None:
        """Start the sums again; the counts stay."""
        self.levels: list[int] = list(REST)  # log2 of each sum and 1, over the block, in eighths

    @property
    def evidence(self) -> int:
        """The sums of the bets that do not rest, weighted by the block's length."""
        moved = (level for level, rest in zip(self.levels, REST, strict=True) if level > rest)
        return sum(min(int(self._block * _power(each)), MAX_SUM) - self._block for each in moved)

    def take(self, passed: int) -> None:
        """Bet on a block that passed this many edges, then learn from it."""
        for bet, payoff in enumerate(self.payoffs(passed)):
            self.levels[bet] = min(_level(_power(self.levels[bet]) * payoff + 1), MAX_LEVEL)
        if self._memory == 0:
            self._chances += UNITS_PER_BLOCK
        passes = self._passes[self._memory > 0]
        passes[:passed] = [count + UNITS_PER_BLOCK for count in passes[:passed]]
        if max(self._chances, *passes) > MAX_COUNT:
            self._chances = (self._chances + 1) // 2
            self._passes = [[(count + 1) // 2 for count in row] for row in self._passes]
        self._memory = RECENT_BLOCKS if passed else max(0, self._memory - 1)

    def payoffs(self, passed: int) -> list[float]:
        """Return what each bet pays for a block that passes this many edges."""
        passes, chances = self._passes[self._memory > 0], self._chances
        if self._memory:
            # Each block that passed is remembered for two more; those that passed while one was
            # remembered add at least one: 2 (passes - 2) + passes after one, in blocks, where 2 is
            # the counts' start and the latest.
            chances = max(0, 2 * self._passes[0][0] - 4 * UNITS_PER_BLOCK) + passes[0]
            chances = min(chances, MAX_CHANCES)
        payoffs = list(RESERVES)
        for (bet, stake), count in zip(STAKES[:passed], passes[:passed], strict=True):
            payoffs[bet] += math.floor(stake * 2**16 * chances / count) / 2**16
        return payoffs


def _power(level: int) -> float:
    return EIGHTHS[level % 8] * 2.0 ** (level // 8)


def _level(value: float) -> int:
    """Return the highest level whose power is at most this value, which is at least 1."""
    mantissa, exponent = math.frexp(value)
    return 8 * (exponent - 1) + bisect_right(EIGHTHS, 2 * mantissa) - 1


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
        self.epoch.reset()
        self.acknowledge()

    def acknowledge(self) -> None:
        """After a repair: forget what was learned; compare with calibration, as after a boot."""
        count = len(self.settings.channels)
        self._sum = np.zeros(count)
        self.block_steps: NDArray[np.int64] = np.zeros(count, np.int64)
        self.bets: list[Bets] = [Bets(channel) for channel in self.settings.channels]
        self._age = 0
        self.epoch.onset[:] = 0

    def run(
        self, columns: SignalColumns, odds: Floats
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the flags of the channel that alarms at each step, and where it is amber.

        Odds are those of the risk.
        """
        flags = np.zeros(len(columns.label), np.uint8)
        amber = np.zeros(len(flags), np.bool_)
        counted = 0
        for step, index, passed in self._finished_blocks(columns, odds):
            self.epoch.count(step - counted)
            counted = step
            young = self._age + step < BOOT_STEPS
            flags[step], amber[step] = self._take(index, passed, since_boot=young)
        self.epoch.count(len(flags) - counted)
        self._age += len(flags)
        return flags, amber

    def _take(self, index: int, passed: int, *, since_boot: bool) -> tuple[int, bool]:
        """Take the block that ends at a step; return the alarm's flags, 0 for none, and amber."""
        self.bets[index].take(passed)
        self.epoch.bet(index, passed)
        evidence = [bets.evidence for bets in self.bets]
        total, limit = sum(evidence) if passed else 0, BETS * self.settings.limit
        above = since_boot and self._above_boot_limit(index)
        if total < limit and not above:
            return 0, total >= limit / AMBER
        self._restart(since_boot=since_boot)
        channels = self.settings.channels
        if total >= limit:
            return int(AlarmFlag.of(channels[int(np.argmax(evidence))].signal)), True
        return int(AlarmFlag.of(channels[index].signal) | AlarmFlag.SINCE_BOOT), True

    def _above_boot_limit(self, index: int) -> bool:
        limit_q8 = self.settings.boot_limit_q8(self.settings.channels[index])
        return bool(self.epoch.onset[index] >= 2 ** (limit_q8 / 256))

    def _restart(self, *, since_boot: bool) -> None:
        """Start the evidence again; what was learned stays."""
        for bets in self.bets:
            bets.restart()
        if since_boot:
            self.epoch.onset[:] = 0

    def _finished_blocks(
        self, columns: SignalColumns, odds: Floats
    ) -> Iterator[tuple[int, int, int]]:
        """Yield each step at which a block ends, its channel, and the edges it passed.

        One block ends at a step: a channel skips a step at which its block would end with that of a
        channel before it. Sums run in the order of the steps, so that they do not depend on how a
        stream is cut.
        """
        channels = self.settings.channels
        inputs = [channel_input(columns, odds, channel.signal) for channel in channels]
        begins = [0] * len(channels)
        used = [np.ones(len(steps), np.bool_) for steps, _ in inputs]
        ends: list[tuple[int, int, int]] = []  # step, channel, and its place among the channel's

        def expect(index: int, place: int) -> None:
            if place < len(inputs[index][0]):
                heappush(ends, (int(inputs[index][0][place]), index, place))

        def sum_to(index: int, end: int | None) -> float:
            part = slice(begins[index], end)
            values = inputs[index][1][part][used[index][part]]
            self.block_steps[index] += len(values)
            return _running_sum(float(self._sum[index]), values)

        for index, channel in enumerate(channels):
            expect(index, channel.block - int(self.block_steps[index]) - 1)
        latest = -1
        while ends:
            step, index, place = heappop(ends)
            if step == latest:
                used[index][place] = False
                expect(index, place + 1)
                continue
            latest, channel = step, channels[index]
            mean = sum_to(index, place + 1) / channel.block
            begins[index], self._sum[index], self.block_steps[index] = place + 1, 0.0, 0
            expect(index, place + channel.block)
            yield step, index, int(edges_passed(np.array([mean]), channel.edges, channel.centre)[0])
        for index in range(len(channels)):
            self._sum[index] = sum_to(index, None)


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
    """Count the edges that each block lies strictly above, the one beyond calibration included."""
    beyond = 2 * edges[-1] - edges[0]
    return np.searchsorted([*edges, beyond], distance_from_centre(means, centre), side="left")


def _running_sum(start: float, values: Floats) -> float:
    return float(np.add.accumulate(np.concatenate([[start], values]))[-1])
