# SPDX-License-Identifier: Apache-2.0
"""Novelty's reference: class means and the whitening of one shrunk covariance."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import LedoitWolf

from tcuq.calibrate.folds import folds, out_of_fold
from tcuq.profile.settings import NoveltySettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


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
    """Return each calibration step's novelty against a reference fitted without its fold."""
    return out_of_fold(
        folds(lengths, features),
        lambda fitted: novelty_against(fit_novelty(features[fitted], labels[fitted])),
    )


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
