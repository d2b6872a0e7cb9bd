# SPDX-License-Identifier: Apache-2.0
"""Folds of a calibration stream: references are measured on steps they were not fitted on."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FOLDS = 5


def out_of_fold(fold: NDArray[np.int64], values: Callable[[Bools, Bools], Floats]) -> Floats:
    """Return each step's values against references fitted on the other folds.

    ``values(fitted, held_out)`` returns those of the held-out steps.
    """
    measured: Floats | None = None
    for number in np.unique(fold):
        held_out = fold == number
        of_fold = values(~held_out, held_out)
        if measured is None:
            measured = np.empty((len(fold), *of_fold.shape[1:]))
        measured[held_out] = of_fold
    assert measured is not None  # noqa: S101 - there are steps; for the type checker
    return measured


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
