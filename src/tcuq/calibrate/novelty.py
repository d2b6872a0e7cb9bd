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
    """Means of the classes seen at least twice, and the covariance's inverse Cholesky factor."""
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
    """Novelty of each calibration step against a reference that has not seen it.

    Measured in sample, calibration would look less novel than the field, and its tails would
    promise too much. Folds are runs of whole recordings where there are enough of them:
    neighbours are likely to share a user, a device or a day. A step that repeats another goes
    where the first went: a short recording played again and again would else be in every fold.
    """
    fold = _with_repeats(_folds(lengths), features)
    novelty = np.empty(len(features))
    for number in range(FOLDS):
        held = fold == number
        reference = fit_novelty(features[~held], labels[~held])
        novelty[held] = novelty_against(reference)[held]
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
    """Equal rows in one fold: the first one's, or runs of distinct rows if that leaves one bare."""
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
    """Five consecutive runs of whole recordings, or of steps where there are few recordings."""
    if len(lengths) >= FOLDS:
        return np.repeat(np.arange(len(lengths)) * FOLDS // len(lengths), lengths)
    steps = sum(lengths)
    return np.arange(steps) * FOLDS // steps
