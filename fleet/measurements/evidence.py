# SPDX-License-Identifier: Apache-2.0
"""A field of devices whose epochs follow the runtime's e-value, with shocks that cohorts share.

Devices at rest pass each edge exactly as often as calibration's bound allows, which is the worst
that the promise permits: every bet has mean 1 (less the rounding). In a shocked block a cohort's
devices pass edges eight times as often, together; in calm ones less, so that the mean stays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tcuq.calibrate.bets import CONFIDENCE_LOST, SHARES_ABOVE, gains_q8
from tcuq.stages.alarm import STAKES

Array = NDArray[Any]

CHANNELS, BLOCK = 4, 64
BLOCKS = 135  # of a channel in an epoch: a step every ten seconds, for a day
STEPS = BLOCKS * BLOCK
HOURS = 24  # of an epoch: each ends with a record and a judgement
CALIBRATION_BLOCKS = 625
SHOCKED, SHOCK = 0.05, 8.0  # how often a block is, and how much more often edges are then passed
GROSS = (0.9, 0.7, 0.5)  # how often the edges are passed by a device that is wholly broken
SITES, FIRMWARES = 10, 10
CEILING = 2.0**127  # of the runtime's sums

GAINS_Q8 = np.array(gains_q8(CALIBRATION_BLOCKS, CHANNELS), np.int16)
BOUNDS = np.array(
    [
        beta.ppf(
            1 - CONFIDENCE_LOST / (len(STAKES) * CHANNELS),
            int(share * CALIBRATION_BLOCKS) + 1,
            CALIBRATION_BLOCKS - int(share * CALIBRATION_BLOCKS),
        )
        for share in SHARES_ABOVE
    ]
)


class Field:
    """Devices in equal cohorts; the last of each cohort drift, more and more.

    Half of those that drift are in one cohort: a firmware that is broken at one site.
    """

    def __init__(self, devices: int, rng: np.random.Generator) -> None:
        self.rng = rng
        self.cohorts = SITES * FIRMWARES
        self.size = devices // self.cohorts
        drifting = devices // 100
        self.drifting = np.full(self.cohorts, drifting // 2 // (self.cohorts - 1))
        self.drifting[0] = drifting - self.drifting[1:].sum()
        self.severity = [rng.uniform(0.2, 1.0, many) for many in self.drifting]
        self.drifts = np.concatenate(
            [np.arange(self.size) >= self.size - many for many in self.drifting]
        )
        self.cohort = np.repeat(np.arange(self.cohorts), self.size)

    def epoch(self, growth: float, rest: int = 0) -> Array:
        """Return the evidence of an epoch so far at the end of each hour, in half bits.

        Drift has this share of its full size after so many blocks of rest. The last hour's is the
        closed epoch's.
        """
        return np.concatenate([self._cohort(i, growth, rest) for i in range(self.cohorts)], axis=1)

    def _cohort(self, i: int, growth: float, rest: int) -> Array:
        onset, span = np.zeros((2, CHANNELS, self.size))
        resting = self.size - self.drifting[i]
        at_rest = np.tile(floors(BOUNDS)[:, None], self.drifting[i])
        drifting = floors(
            BOUNDS[:, None] + growth * self.severity[i] * (np.array(GROSS) - BOUNDS)[:, None]
        )
        bets = np.empty((CHANNELS, self.size))
        hours = np.empty((HOURS, self.size), np.int8)
        for block, shocked in enumerate(self.rng.random((BLOCKS, CHANNELS)) < SHOCKED):
            draws = self.rng.integers(0, 65536, bets.shape, np.uint16)
            for channel, table in enumerate(TABLES[shocked.astype(int)]):
                np.take(table, draws[channel, :resting], out=bets[channel, :resting])
            edges = at_rest if block < rest else drifting
            passed = (draws[:, None, resting:] < edges).sum(axis=1)
            bets[:, resting:] = PAYOFFS[passed]
            onset += 1
            onset *= bets
            np.minimum(onset, CEILING, out=onset)
            span += onset
            ends = range(block * HOURS // BLOCKS, (block + 1) * HOURS // BLOCKS)
            for hour in ends:
                hours[hour] = half_bits(onset, span, block + 1)
        return hours


def half_bits(onset: Array, span: Array, blocks: int) -> Array:
    """Return log2 of the e-values after so many blocks as the runtime's records carry it."""
    places = blocks + 1
    value = (onset / (2 * places) + np.minimum(span, CEILING) / (places * (places + 1))).mean(
        axis=0
    )
    return np.asarray(np.clip(np.floor(2 * np.log2(value)), -128, 127))


def floors(chance: Array) -> Array:
    """In 1/65536, rounded down: bets keep a mean of at most 1."""
    return np.asarray(np.floor(65536 * chance), np.uint16)


def payoff_table(chances: Array) -> Array:
    """Return the bet's payoff for each of 65536 draws that are equally likely."""
    draws = np.arange(65536, dtype=np.uint16)
    return np.asarray(PAYOFFS[(draws[:, None] < floors(chances)).sum(axis=1)])


PAYOFFS = np.exp2(GAINS_Q8 / 256)
_SHOCKED = np.minimum(SHOCK * BOUNDS, 0.95)
TABLES = np.stack(  # of a calm block and of a shocked one: their mean is the bound
    [payoff_table((BOUNDS - SHOCKED * _SHOCKED) / (1 - SHOCKED)), payoff_table(_SHOCKED)]
)
