# SPDX-License-Identifier: Apache-2.0
"""e-BH by counting: which of many e-values are discovered, at a stated false-discovery rate.

With m e-values the k largest are discovered, k the largest with e_(k) >= m / (level * k); the
expected share of false ones is then at most the level, whatever the dependence (Wang and Ramdas,
2022). log2 e comes in 1/256 bit, so equal ones are counted together and nothing is sorted twice.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError

# Logarithms of 64-bit counts times 256 are off by some 1e-12; nearer than this, integers decide.
DOUBT_Q8 = 1e-6


@dataclass(frozen=True, slots=True)
class Discovery:
    """How many are discovered, and from which evidence on; None if none is."""

    count: int
    cutoff_q8: int | None


NOTHING = Discovery(0, None)


def discover(
    evidence_q8: NDArray[Any], counts: NDArray[Any], tested: int, level: float
) -> Discovery:
    """e-BH over e-values 2^(evidence_q8 / 256), each of which occurs `counts` times.

    Parameters
    ----------
    evidence_q8, counts
        In any order; a value may come more than once. Those at or below 0 may be left out: none
        of them is discovered at any level.
    tested
        How many e-values there are in all, with those left out.
    level
        Of the false-discovery rate, in (0, 1); taken as it is written: 0.1 is a tenth.

    Examples
    --------
    >>> discover(np.array([2560, 512, -900]), np.array([3, 1, 96]), tested=100, level=0.1)
    Discovery(count=3, cutoff_q8=2560)
    """
    everything = np.zeros(len(evidence_q8), np.intp)
    return discover_each(everything, evidence_q8, counts, np.array([tested]), level)[0]


def discover_each(
    part: NDArray[Any],
    evidence_q8: NDArray[Any],
    counts: NDArray[Any],
    tested: NDArray[Any],
    level: float,
) -> list[Discovery]:
    """The same for each part of the e-values alone: `part` says which, `tested` has one a part."""
    if not 0 < level < 1:
        raise InputError(f"level must lie in (0, 1), got {level}")
    there = np.flatnonzero(counts)
    order = there[np.lexsort((evidence_q8[there], part[there]))]
    part, values, alike = part[order], evidence_q8[order].astype(np.int64), counts[order]
    totals = np.bincount(part, alike, len(tested)).astype(np.int64)
    if (totals > tested).any():
        most = int(np.argmax(totals - tested))
        raise InputError(f"tested must be at least the {totals[most]} counted, got {tested[most]}")
    # Rank of the last with at least this evidence: of equals the first row counts all.
    rank = np.cumsum(totals)[part] - np.cumsum(alike) + alike
    over = values - 256 * (np.log2(tested[part]) - np.log2(level) - np.log2(rank))
    enough = over >= 0
    for i in np.flatnonzero(np.abs(over) < DOUBT_Q8):
        enough[i] = reaches(int(values[i]), int(tested[part[i]]), level, int(rank[i]))
    found = [NOTHING] * len(tested)
    which, lowest = np.unique(part[enough], return_index=True)
    for i, row in zip(which.tolist(), np.flatnonzero(enough)[lowest].tolist(), strict=True):
        found[i] = Discovery(int(rank[row]), int(values[row]))
    return found


def reaches(evidence_q8: int, tested: int, level: float, rank: int) -> bool:
    """Whether 2^(evidence_q8 / 256) >= tested / (level * rank), in whole numbers."""
    needed = tested / (Fraction(repr(float(level))) * rank)
    left, right = needed.denominator**256, needed.numerator**256
    return bool(left << max(evidence_q8, 0) >= right << max(-evidence_q8, 0))
