# SPDX-License-Identifier: Apache-2.0
"""Alarm: reports that the stream differs from calibration, and on which channel.

A channel takes the mean of a signal over blocks of its own length and bets against calibration:
the bet's gain (log2, in 1/256 bit) depends on how many of three edges the block passed. A CUSUM of
gains alarms at h - log2(block) + log2(channels) bits, for one false alarm in 2^h steps over all
channels. Without the max at 0 the same gains, summed over an epoch, are the log2 of an e-value.
"""

import math

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import AlarmFlag, AlarmSettings, Channel
from tcuq.stages.columns import SignalColumns

Floats = NDArray[np.float64]

# Far beyond any epoch: 2^31 blocks of the largest gain.
MAX_EPOCH_Q8 = 1 << 46
NEEDS_PAST = frozenset({"divergence", "instability"})


class Alarm:
    """All channels together.

    Parameters
    ----------
    settings
        The rate h and the channels.
    """

    def __init__(self, settings: AlarmSettings) -> None:
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """Forget all evidence."""
        count = len(self.settings.channels)
        self._sum = np.zeros(count)
        self.block_steps = np.zeros(count, np.int64)
        self.cusum_q8 = np.zeros(count, np.int64)
        self._epoch_q8 = np.zeros(count, np.int64)

    def reset_history(self) -> None:
        """Drop unfinished blocks, whose steps would not be consecutive; keep the evidence."""
        self._sum[:] = 0
        self.block_steps[:] = 0

    def run(self, columns: SignalColumns) -> NDArray[np.uint8]:
        """Return the flags of the channels that alarm at each step."""
        flags = np.zeros(len(columns.label), np.uint8)
        for index, channel in enumerate(self.settings.channels):
            steps, values = channel_input(columns, channel.signal)
            means, ends = self._finished_blocks(index, channel, values)
            if len(means) == 0:
                continue
            gains = np.array(channel.gains_q8, np.int64)[bins(means, channel)]
            self._epoch_q8[index] += gains.sum()
            flag = np.uint8(AlarmFlag.of(channel.signal))
            crossed = np.array(self._crossings(index, gains.tolist()), np.int64)
            flags[steps[ends[crossed]]] |= flag
        return flags

    def _finished_blocks(
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

    def _crossings(self, index: int, gains_q8: list[int]) -> list[int]:
        """Return the blocks that bring the CUSUM to its limit, where it restarts from 0."""
        limit = self.settings.limit_q8(self.settings.channels[index])
        cusum, crossed = int(self.cusum_q8[index]), []
        for block, gain in enumerate(gains_q8):
            cusum = max(0, cusum + gain)
            if cusum >= limit:
                crossed.append(block)
                cusum = 0
        self.cusum_q8[index] = cusum
        return crossed

    @property
    def epoch_evidence_q8(self) -> int:
        """log2, in 1/256 bit, of the epoch's e-value: the best channel's, less log2 channels."""
        return int(self._epoch_q8.max()) - math.ceil(256 * math.log2(len(self._epoch_q8)))

    def end_epoch(self) -> int:
        """Return the epoch's evidence and start the next epoch without any."""
        evidence_q8 = self.epoch_evidence_q8
        self._epoch_q8[:] = 0
        return evidence_q8


def channel_input(columns: SignalColumns, signal: str) -> tuple[NDArray[np.int64], Floats]:
    """Return the steps a channel counts and their values; lagged signals need a full past."""
    values = columns.named(signal)
    if signal in NEEDS_PAST:
        steps = np.flatnonzero(columns.whole_past)
        return steps, values[steps]
    return np.arange(len(values)), values


def departure(means: Floats, centre: float | None) -> Floats:
    """Return what the edges are compared with: block means or their distance from the centre."""
    return means if centre is None else np.abs(means - centre)


def bins(means: Floats, channel: Channel) -> NDArray[np.int64]:
    """Count the edges that each block lies strictly above."""
    return np.searchsorted(channel.edges, departure(means, channel.centre), side="left")


def _running_sum(start: float, values: Floats) -> float:
    return float(np.add.accumulate(np.concatenate([[start], values]))[-1])
