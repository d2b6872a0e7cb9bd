# SPDX-License-Identifier: Apache-2.0
"""e-BH by counting: discover large e-values at a stated false-discovery rate.

Of m e-values the k largest are discovered, with k the largest such that e_(k) >= m / (level * k);
the expected share of false discoveries is then at most the level under any dependence (Wang and
Ramdas, 2022). log2 e is in units of 1/256 bit, so equal values are counted instead of sorted.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError

# 256 log2 of a 64-bit count has an error of about 1e-12; closer to the limit than this, the
# comparison is repeated in exact integers.
ROUNDING_Q8 = 1e-6
UNREACHABLE_Q8 = 1 << 30  # a cut-off above any evidence


@dataclass(frozen=True, slots=True)
class Discovery:
    """How many e-values are discovered, and the least evidence among them; None if none is."""

    count: int
    cutoff_q8: int | None


NO_DISCOVERY = Discovery(0, None)


def cutoff_or_unreachable(cutoff_q8: int | None) -> int:
    """Return a cut-off as a number: one that no evidence reaches, if there is none."""
    return UNREACHABLE_Q8 if cutoff_q8 is None else cutoff_q8


def discover(
    evidence_q8: NDArray[Any], counts: NDArray[Any], tested: int, level: float
) -> Discovery:
    """Apply e-BH to e-values 2^(evidence_q8 / 256), each of which occurs `counts` times.

    Parameters
    ----------
    evidence_q8, counts
        In any order; a value may be repeated. Values at or below 0 may be left out: they are not
        discovered at any level.
    tested
        Number of all e-values, including those left out.
    level
        False-discovery rate in (0, 1), read as its decimal: 0.1 is exactly one tenth.

    Examples
    --------
    >>> discover(np.array([2560, 512, -900]), np.array([3, 1, 96]), tested=100, level=0.1)
    Discovery(count=3, cutoff_q8=2560)
    """
    one_part = np.zeros(len(evidence_q8), np.intp)
    return discover_each(one_part, evidence_q8, counts, np.array([tested]), level)[0]


def discover_each(
    part: NDArray[Any],
    evidence_q8: NDArray[Any],
    counts: NDArray[Any],
    tested: NDArray[Any],
    level: float,
) -> list[Discovery]:
    """Apply e-BH to each part separately; `part` is each value's, `tested` has one per part."""
    if not 0 < level < 1:
        raise InputError(f"level must lie in (0, 1), got {level}")
    present = np.flatnonzero(counts)
    order = present[np.lexsort((evidence_q8[present], part[present]))]
    part, values, alike = part[order], evidence_q8[order].astype(np.int64), counts[order]
    totals = np.bincount(part, alike, len(tested)).astype(np.int64)
    if (totals > tested).any():
        most = int(np.argmax(totals - tested))
        raise InputError(f"tested must be at least the {totals[most]} counted, got {tested[most]}")
    # Rank of the last value with at least this evidence; the first row of equals counts them all.
    rank = np.cumsum(totals)[part] - np.cumsum(alike) + alike
    over = values - 256 * (np.log2(tested[part]) - np.log2(level) - np.log2(rank))
    enough = over >= 0
    for i in np.flatnonzero(np.abs(over) < ROUNDING_Q8):
        enough[i] = reaches(int(values[i]), int(tested[part[i]]), level, int(rank[i]))
    discoveries = [NO_DISCOVERY] * len(tested)
    which, lowest = np.unique(part[enough], return_index=True)
    for i, row in zip(which.tolist(), np.flatnonzero(enough)[lowest].tolist(), strict=True):
        discoveries[i] = Discovery(int(rank[row]), int(values[row]))
    return discoveries


def reaches(evidence_q8: int, tested: int, level: float, rank: int) -> bool:
    """Return whether 2^(evidence_q8 / 256) >= tested / (level * rank), computed in integers."""
    needed = tested / (Fraction(repr(float(level))) * rank)
    left, right = needed.denominator**256, needed.numerator**256
    return bool(left << max(evidence_q8, 0) >= right << max(-evidence_q8, 0))
