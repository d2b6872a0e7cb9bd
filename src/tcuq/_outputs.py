# SPDX-License-Identifier: Apache-2.0
"""Outputs of a model without classes, and which of them were wrong."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._columns import UNKNOWN, LabelsLike
from tcuq._conversion import as_numbers, refuse_extreme
from tcuq.errors import InputError

Array = NDArray[Any]
MAX_OUTPUTS = 8


def checked_outputs(outputs: ArrayLike, columns: int | None = None) -> Array:
    """(steps, 1 to 8) of finite numbers."""
    rows = as_numbers(outputs, "outputs")
    if rows.ndim == 1:
        rows = rows.reshape(-1, 1)
    if rows.ndim != 2 or not 1 <= rows.shape[1] <= MAX_OUTPUTS:
        raise InputError(
            f"outputs must have the shape (steps, 1 to {MAX_OUTPUTS}), got {rows.shape}: of more"
            " numbers, such as a reconstruction or an embedding, give one that tells of them (a"
            " reconstruction's error, an embedding's length), and the rest as features"
        )
    if columns is not None and rows.shape[1] != columns:
        raise InputError(f"outputs must be {columns}, as the profile's, got {rows.shape[1]}")
    refuse_extreme(rows, "outputs")
    return rows


def output_labels(
    outputs: Array,
    labels: LabelsLike | None,
    errors: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    classes: ArrayLike | None,
) -> LabelsLike | None:
    """Return 1 where outputs are wrong, 0 where they are right, -1 where nobody knows; or None."""
    wrong, targets, tolerance = errors
    if classes is not None:
        raise InputError("classes must not be given with outputs: the model has none")
    if (targets is None) != (tolerance is None):
        raise InputError("targets and tolerance must be given together")
    if sum(each is not None for each in (labels, wrong, targets)) > 1:
        raise InputError("errors and targets both say what is wrong: give one of them")
    if wrong is not None:
        return as_numbers(wrong, "errors", "b").astype(np.int32)
    if targets is None:
        return labels  # of a file
    wanted = np.asarray(targets, np.float64).reshape(len(outputs), -1)
    if wanted.shape != outputs.shape:
        raise InputError(f"targets must have the shape {outputs.shape}, got {np.shape(targets)}")
    allowed = np.asarray(tolerance, np.float64)
    if allowed.shape not in ((), (outputs.shape[1],)) or not (allowed >= 0).all():
        raise InputError(
            f"tolerance must be 1 or {outputs.shape[1]} numbers of at least 0, got {tolerance!r}"
        )
    far = (np.abs(outputs - wanted) > allowed).any(axis=1).astype(np.int32)
    return np.where(np.isnan(wanted).any(axis=1), UNKNOWN, far)
