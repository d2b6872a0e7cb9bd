# SPDX-License-Identifier: Apache-2.0
"""Products whose rows do not depend on how many rows there are.

A joint matrix product rounds a row differently with the number of rows beside it. `step` and `run`
must agree to the last bit, so each row gets a product of its own.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def matrix_times_rows(matrix: Floats, rows: Floats) -> Floats:
    """The matrix times each row."""
    products: Floats = np.matmul(matrix, rows[:, :, None])[:, :, 0]
    return products


def dot(left: Floats, right: Floats) -> Floats:
    """Return the dot product of each pair of rows."""
    product: Floats = (left * right).sum(axis=-1)
    return product


def least_squared_distance(rows: Floats, centres: Floats) -> Floats:
    """Return the squared distance of each row to its nearest centre."""
    size = max(1, (1 << 17) // centres.size)  # rows at a time: the differences stay in the cache
    nearest = np.empty(len(rows))
    for begin in range(0, len(rows), size):
        gaps = rows[begin : begin + size, None, :] - centres
        gaps *= gaps
        gaps.sum(axis=2).min(axis=1, out=nearest[begin : begin + size])
    return nearest
