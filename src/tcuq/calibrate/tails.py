# SPDX-License-Identifier: Apache-2.0
"""Tables of a term: bits of surprise against a calibration stream, or log-odds of an error."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq.stages.signals import CERTAIN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POINTS = 64
RAREST = 0.005  # the table ends here; beyond it the tail is exponential
# Log-odds of 1/256: the device's 8-bit posteriors cannot hold a smaller doubt.
LOWEST_ODDS = -float(np.log(255))


@dataclass(frozen=True, slots=True)
class TermTable:
    """Bits at each point, -log2 P(X >= point) or log-odds, and the slope beyond the last."""

    points: tuple[float, ...]
    bits: tuple[float, ...]
    slope: float


def survival_table(values: Floats, counts: Ints, max_slope: float) -> TermTable:
    """Tabulate the upper tail of distinct, ascending values with these counts.

    A value shared by many steps keeps its whole mass, P(X >= x). A signal that never exceeds the
    last point has the steepest slope that the device can hold.
    """
    at_least = counts[::-1].cumsum()[::-1]  # steps at this value or above
    steps = int(at_least[0])
    shares = 2.0 ** -np.linspace(0, -np.log2(RAREST), POINTS)
    ranks = np.clip(np.ceil((1 - shares) * steps).astype(int), 0, steps - 1)
    chosen = np.unique(np.searchsorted(counts.cumsum(), ranks, side="right"))
    points, bits = values[chosen], -np.log2(at_least[chosen] / steps)
    beyond = slice(chosen[-1] + 1, None)
    excess = values[beyond] - points[-1]
    # Exponential tail: log-survival falls by 1/mean excess (natural), 1/(mean · ln 2) in bits.
    slope = max_slope
    if len(excess):
        slope = min(max_slope, 1 / (np.average(excess, weights=counts[beyond]) * np.log(2)))
    return TermTable(tuple(points.tolist()), tuple(bits.tolist()), float(slope))


def odds_table(signal: str) -> TermTable:
    """Tabulate log-odds above the lowest: contradiction's own, or ln((1 - C) / C) of confidence."""
    if signal == "contradiction":
        return TermTable((LOWEST_ODDS, -LOWEST_ODDS), (0.0, -2 * LOWEST_ODDS), 0.0)
    bits = np.linspace(0, -2 * LOWEST_ODDS, POINTS)
    wrong = 1 / (1 + np.exp(-(bits + LOWEST_ODDS)))
    points = np.log(wrong + CERTAIN)
    return TermTable(tuple(points.tolist()), tuple(bits.tolist()), 0.0)
