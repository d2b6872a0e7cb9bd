# SPDX-License-Identifier: Apache-2.0
"""Novelty's reference: class means and the whitening of one shrunk covariance."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import LedoitWolf

from tcuq.profile.settings import NoveltySettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

FOLDS = 5


def fit_novelty(features: Floats, labels: Ints) -> NoveltySettings:
    """Fit means of classes with two steps or more, and the inverse Cholesky factor."""
    means, whitening = _reference(features, labels)
    return NoveltySettings(
        means=tuple(map(tuple, means.tolist())), whitening=tuple(map(tuple, whitening.tolist()))
    )


def novelty_out_of_fold(
    features: Floats,
    labels: Ints,
    lengths: Sequence[int],
    novelty_against: Callable[[NoveltySettings], Floats],
) -> Floats:
    """Return each calibration step's novelty against a reference fitted without it.

    Measured in sample, calibration would look less novel than the field, and its tails would be
    too short. Folds are runs of whole recordings where there are enough of them:
    neighbours are likely to share a user, a device or a day. Equal steps go into
    one fold: a short recording played repeatedly would otherwise be in every fold.
    """
    fold = _with_repeats(_folds(lengths), features)
    novelty = np.empty(len(features))
    for number in range(FOLDS):
        held_out = fold == number
        reference = fit_novelty(features[~held_out], labels[~held_out])
        novelty[held_out] = novelty_against(reference)[held_out]
    return novelty


def _reference(features: Floats, labels: Ints) -> tuple[Floats, Floats]:
    classes, counts = np.unique(labels, return_counts=True)
    classes = classes[counts >= 2] if (counts >= 2).any() else classes
    means = np.stack([features[labels == c].mean(axis=0) for c in classes])
    known = np.isin(labels, classes)
    residuals = features[known] - means[np.searchsorted(classes, labels[known])]
    covariance = LedoitWolf(assume_centered=True).fit(residuals).covariance_
    size = len(covariance)
    # A feature that never varied would make any change infinitely far.
    floor = 1e-6 * np.trace(covariance) / size + 1e-12
    factor = np.linalg.cholesky(covariance + floor * np.eye(size))
    return means, np.linalg.inv(factor)


def _with_repeats(fold: NDArray[np.int64], features: Floats) -> NDArray[np.int64]:
    """Put equal rows into the first one's fold, or cut distinct rows if a fold gets empty."""
    _, first, row = np.unique(features, axis=0, return_index=True, return_inverse=True)
    distinct = len(first)
    if distinct < FOLDS:
        return fold
    of_row = fold[first]
    if np.bincount(of_row, minlength=FOLDS).min() < distinct / FOLDS / 2:
        of_row = np.argsort(np.argsort(first)) * FOLDS // distinct
    together: NDArray[np.int64] = of_row[row.ravel()]
    return together


def _folds(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return five consecutive runs of whole recordings, or of steps if recordings are few."""
    if len(lengths) >= FOLDS:
        return np.repeat(np.arange(len(lengths)) * FOLDS // len(lengths), lengths)
    steps = sum(lengths)
    return np.arange(steps) * FOLDS // steps
