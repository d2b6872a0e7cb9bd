# SPDX-License-Identifier: Apache-2.0
"""Epoch: a number of steps, and the e-value of what the alarm's channels saw in it.

A channel multiplies calibration's own bets from every block on. ``onset`` sums these products over
where drift began, ``span`` over where it began and ended; divided by how many such places there
are, both are e-values. The mean over both and over channels is the epoch's.
"""

import math

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import AlarmSettings

Array = NDArray[np.float64]

LOWEST_BITS = -128.0  # an e-value of 0
CEILING = 2.0 ** (32767 / 256)


class Epoch:
    """The running epoch and the last closed one."""

    def __init__(self, settings: AlarmSettings) -> None:
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """Start the first epoch."""
        self.number: int = 0
        self.closed_bits: float = LOWEST_BITS
        self._start()

    def _start(self) -> None:
        self._steps = 0
        self.onset: Array = np.zeros(len(self.settings.channels))
        self._span = np.zeros(len(self.settings.channels))

    def bet(self, channel: int, passed: int) -> None:
        """Take a block of a channel that passed this many edges."""
        gains_q8 = self.settings.channels[channel].gains_q8
        payoff = 2 ** (gains_q8[min(passed, len(gains_q8) - 1)] / 256)
        self.onset[channel] = min((self.onset[channel] + 1) * payoff, CEILING)
        self._span[channel] = min(self._span[channel] + self.onset[channel], CEILING)

    def count(self, steps: int) -> None:
        """Count steps; close each epoch that they fill."""
        while steps >= self.settings.epoch_steps - self._steps:
            steps -= self.settings.epoch_steps - self._steps
            self._steps = self.settings.epoch_steps
            self.closed_bits = self.evidence_bits
            self.number = 1 if self.number == 65_535 else self.number + 1
            self._start()
        self._steps += steps

    @property
    def evidence_bits(self) -> float:
        """log2 of the running epoch's e-value."""
        blocks = np.array([self._steps // c.block + 1 for c in self.settings.channels])
        lasts, ended = self.onset / blocks, self._span / (blocks * (blocks + 1) / 2)
        value = float((lasts + ended).mean()) / 2
        return max(LOWEST_BITS, math.log2(value)) if value > 0 else LOWEST_BITS
