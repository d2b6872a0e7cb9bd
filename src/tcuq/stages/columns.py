# SPDX-License-Identifier: Apache-2.0
"""The output of the signals stage, one array per signal, and products of rows.

A joint matrix product rounds a row differently with the number of rows beside it. `step` and `run`
must agree to the last bit, so each row gets a product of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SignalColumns:
    """The signals of consecutive steps; None where the inputs cannot give them."""

    label: NDArray[np.int32]
    confidence: Floats
    divergence: Floats
    instability: Floats | None
    inconsistency: Floats
    doubt: Floats
    low_confidence: Floats  # without classes, departure
    novelty: Floats | None
    contradiction: Floats | None
    whole_past: NDArray[np.bool_]  # whether every lag had a past
    health: Floats | None = None

    def named(self, signal: str) -> Floats:
        """Return the column of a signal that the profile uses."""
        column: Floats = getattr(self, "low_confidence" if signal == "departure" else signal)
        return column


def concatenate(columns: Sequence[SignalColumns]) -> SignalColumns:
    """Concatenate the signals of consecutive steps."""

    def column(name: str) -> Any:  # noqa: ANN401 - each column has a type of its own
        parts = [getattr(c, name) for c in columns]
        return None if parts[0] is None else np.concatenate(parts)

    return SignalColumns(*(column(f.name) for f in fields(SignalColumns)))


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
