# SPDX-License-Identifier: Apache-2.0
"""Judged evidence: log2 of the mean of a device's closed and running epochs' e-values.

Records hold log2 of an e-value in half bits, rounded down. -128 stands for anything below -64 bits
and counts as an e-value of 0, since the mean is rounded down to 1/256 bit. The store computes the
same (`judged_q8` in `0001_devices.sql`).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Q8_PER_HALF_BIT = 128
# 256 log2((1 + 2^(-d/2)) / 2), rounded down, by the distance d of two e-values in half bits; the
# last entry is the whole bit that a mean with 0 costs.
_MEAN_Q8 = np.floor(256 * np.log2((1 + np.exp2(-np.arange(19) / 2)) / 2)).astype(np.int64)


def judged_q8(closed: NDArray[Any], running: NDArray[Any]) -> NDArray[np.int64]:
    """Return log2 of the means of two e-values in 1/256 bit, rounded down.

    Parameters
    ----------
    closed, running
        log2 of the e-values in half bits; 0 for an epoch that was never closed.

    Examples
    --------
    >>> judged_q8(np.array([40, 40, 0]), np.array([40, -128, 0])).tolist()
    [5120, 4864, 0]
    """
    closed, running = closed.astype(np.int64), running.astype(np.int64)
    distance = np.minimum(np.abs(closed - running), len(_MEAN_Q8) - 1)
    return np.asarray(Q8_PER_HALF_BIT * np.maximum(closed, running) + _MEAN_Q8[distance])
