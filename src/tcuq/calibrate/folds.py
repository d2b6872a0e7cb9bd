# SPDX-License-Identifier: Apache-2.0
"""Folds of a calibration stream: references are measured on steps they were not fitted on."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FOLDS = 5


def out_of_fold(fold: NDArray[np.int64], values_fitted_on: Callable[[Bools], Floats]) -> Floats:
    """Return each step's value against a reference fitted on the other folds."""
    values = np.empty(len(fold))
    for number in range(FOLDS):
        held_out = fold == number
        values[held_out] = values_fitted_on(~held_out)[held_out]
    return values


def folds(lengths: Sequence[int], rows: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the fold of each step; equal rows, and recordings where there are enough, stay whole.

    Measured in sample, calibration would look less unusual than the field, and its tails would be
    too short. Neighbours are likely to share a user, a device or a day. Equal steps go into one
    fold: a short recording played repeatedly would otherwise be in every fold.
    """
    fold = _runs(lengths)
    _, first, row = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    distinct = len(first)
    if distinct < FOLDS:
        return fold
    of_row = fold[first]
    if np.bincount(of_row, minlength=FOLDS).min() < distinct / FOLDS / 2:
        of_row = np.argsort(np.argsort(first)) * FOLDS // distinct
    together: NDArray[np.int64] = of_row[row.ravel()]
    return together


def _runs(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return five consecutive runs of whole recordings, or of steps if recordings are few."""
    if len(lengths) >= FOLDS:
        return np.repeat(np.arange(len(lengths)) * FOLDS // len(lengths), lengths)
    steps = sum(lengths)
    return np.arange(steps) * FOLDS // steps
