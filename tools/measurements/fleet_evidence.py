# SPDX-License-Identifier: Apache-2.0
"""A field of devices whose evidence follows the alarm's bets, with shocks that cohorts share.

Devices at rest pass each edge exactly as often as calibration's bound allows, which is the worst
that the promise permits: every bet has mean 1 (less the rounding). In a shocked block a cohort's
devices pass edges eight times as often, together; in calm ones less, so that the mean stays.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tcuq.calibrate.bets import CONFIDENCE_LOST, SHARES_ABOVE, STAKES, gains_q8

Array = NDArray[Any]

CHANNELS, BLOCK = 4, 64
BLOCKS = 135  # of a channel in an epoch: a step every ten seconds, for a day
STEPS = BLOCKS * BLOCK
CALIBRATION_BLOCKS = 625
SHOCKED, SHOCK = 0.05, 8.0  # how often a block is, and how much more often edges are then passed
GROSS = (0.9, 0.7, 0.5)  # how often the edges are passed by a device that is wholly broken
HEIGHTS = (14, 17, 20)  # h of devices that alarm alone
SITES, FIRMWARES = 10, 10

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


@dataclass(frozen=True, slots=True)
class Epoch:
    """What the devices said, cohort by cohort."""

    evidence_q8: Array  # as records carry it: the sum over the epoch
    late_q8: Array  # if it might start at any block: the best sum to the end, less log2 of blocks
    alarmed: Array  # by height: whether the device alarmed alone


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
        self._cusums = np.zeros((self.cohorts, len(HEIGHTS), CHANNELS, self.size), np.int16)

    def epoch(self, growth: float, rest: int = 0) -> Epoch:
        """A day, with drift at this share of its full size after so many blocks of rest."""
        cohorts = [self._cohort(i, growth, rest) for i in range(self.cohorts)]
        return Epoch(
            np.concatenate([evidence for evidence, _, _ in cohorts]),
            np.concatenate([late for _, late, _ in cohorts]),
            np.concatenate([alarmed for _, _, alarmed in cohorts], axis=1),
        )

    def _cohort(self, i: int, growth: float, rest: int) -> tuple[Array, Array, Array]:
        sums, late = np.zeros((2, CHANNELS, self.size), np.int32)
        at_rest = [floors(bound) for bound in BOUNDS]
        alarmed = np.zeros((len(HEIGHTS), self.size), np.bool_)
        resting = self.size - self.drifting[i]
        drifting = [
            floors(bound + growth * self.severity[i] * (gross - bound))
            for bound, gross in zip(BOUNDS, GROSS, strict=True)
        ]
        gains = np.empty((CHANNELS, self.size), np.int16)
        for block, shocked in enumerate(self.rng.random((BLOCKS, CHANNELS)) < SHOCKED):
            draws = self.rng.integers(0, 65536, gains.shape, np.uint16)
            for channel, table in enumerate(TABLES[shocked.astype(int)]):
                np.take(table, draws[channel, :resting], out=gains[channel, :resting])
            edges = np.stack(np.broadcast_arrays(*(at_rest if block < rest else drifting)))
            passed = (draws[:, resting:, None] < edges.T).sum(axis=2)
            gains[:, resting:] = GAINS_Q8[passed]
            sums += gains
            np.maximum(late, 0, out=late)
            late += gains
            for h, limit in enumerate(LIMITS_Q8):
                cusums = self._cusums[i, h]
                np.add(cusums, gains, out=cusums)
                np.maximum(cusums, 0, out=cusums)
                over = cusums >= limit
                alarmed[h] |= over.any(axis=0)
                cusums[over] = 0
        paid = 256 * int(np.log2(CHANNELS))
        blocks = int(np.ceil(256 * np.log2(BLOCKS)))
        return (
            np.clip(sums.max(axis=0) - paid, -(2**15), 2**15 - 1),
            np.clip(late.max(axis=0) - paid - blocks, -(2**15), 2**15 - 1),
            alarmed,
        )


def floors(chance: Array) -> Array:
    """In 1/65536, rounded down: bets keep a mean of at most 1."""
    return np.asarray(np.floor(65536 * chance), np.uint16)


def gain_table(chances: Array) -> Array:
    """The gain of each of 65536 draws that are equally likely."""
    draws = np.arange(65536, dtype=np.uint16)
    return np.asarray(GAINS_Q8[(draws[:, None] < floors(chances)).sum(axis=1)])


_SHOCKED = np.minimum(SHOCK * BOUNDS, 0.95)
TABLES = np.stack(  # of a calm block and of a shocked one: their mean is the bound
    [gain_table((BOUNDS - SHOCKED * _SHOCKED) / (1 - SHOCKED)), gain_table(_SHOCKED)]
)
LIMITS_Q8 = [256 * (h - int(np.log2(BLOCK)) + int(np.log2(CHANNELS))) for h in HEIGHTS]
