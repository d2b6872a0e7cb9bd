# SPDX-License-Identifier: Apache-2.0
"""Integrated autocorrelation time of a signal, in steps."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Sokal's rule: sum lags up to the first that is this many times the time summed so far.
WINDOW = 5.0


def autocorrelation_time(parts: Sequence[Floats | Bools]) -> float:
    """1 + 2 · sum of autocorrelations, pooled over recordings, windowed by Sokal's rule.

    A part holds a value per step, or a row, whose columns are pooled. At least 1: an alternating
    signal is not treated as better than independent.

    References
    ----------
    A. Sokal, Monte Carlo Methods in Statistical Mechanics, 1997, section 3.
    """
    everything = np.concatenate(parts)
    mean = everything.mean(axis=0)
    longest = max(len(part) for part in parts)
    covariance = np.zeros(longest)
    pairs = np.zeros(longest)
    for part in parts:
        steps = len(part)
        size = 1 << (2 * steps - 1).bit_length()
        spectrum = np.zeros(size // 2 + 1)
        for column, centre in zip(np.atleast_2d(part.T), np.atleast_1d(mean), strict=True):
            spectrum += np.abs(np.fft.rfft(column - centre, size)) ** 2
        covariance[:steps] += np.fft.irfft(spectrum, size)[:steps]
        pairs[:steps] += np.arange(steps, 0, -1)
    covariance /= pairs
    if covariance[0] <= 1e-12 * max(1.0, float(np.square(mean).sum())):
        return 1.0  # a constant signal has no autocorrelation
    times = 2 * np.cumsum(covariance / covariance[0]) - 1
    within = np.arange(longest) >= WINDOW * times
    window = int(np.argmax(within)) if within.any() else longest - 1
    return float(max(1.0, times[window]))
