# SPDX-License-Identifier: Apache-2.0
"""Intervals that respect autocorrelation: a circular block bootstrap.

Thirty lines by hand, because the library that has it brings pandas and statsmodels along.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def block_interval(
    statistic: Callable[[Indices], float],
    steps: int,
    block: int,
    rounds: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The central 95 % of a statistic over resampled blocks of consecutive steps.

    Parameters
    ----------
    statistic
        From the indices of a resampled stream to a number; NaN where it does not exist.
    steps
        Length of the stream.
    block
        Steps a block, at least a few autocorrelation times.
    rounds
        How many streams to resample; 0 gives no interval (NaN).
    rng
        The randomness.

    References
    ----------
    D. Politis and J. Romano, A circular block-resampling procedure for stationary data, 1992.
    """
    block = max(1, min(block, steps))
    values = []
    for _ in range(rounds):
        begins = rng.integers(0, steps, -(-steps // block))
        indices = (begins[:, None] + np.arange(block)).ravel()[:steps] % steps
        values.append(statistic(indices))
    found = np.array([v for v in values if np.isfinite(v)])
    if len(found) < rounds / 2 or len(found) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
