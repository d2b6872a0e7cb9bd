# SPDX-License-Identifier: Apache-2.0
"""Novelty: class means, the whitening of one shrunk covariance, and tables of surprise."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import LedoitWolf

from tcuq.calibrate.folds import folds, out_of_fold
from tcuq.calibrate.tails import survival_table
from tcuq.profile.quantize import steepest_slope
from tcuq.profile.settings import NoveltySettings, NoveltyTerm, Signal
from tcuq.stages.columns import SignalColumns, concatenate

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# Low confidence alone sees inputs whose features look familiar. Chosen on development data,
# docs/decisions/0023.
SHARES: Mapping[Signal, float] = MappingProxyType({"novelty": 0.75, "low_confidence": 0.25})
WITHOUT_FEATURES: Mapping[Signal, float] = MappingProxyType({"low_confidence": 1.0})


def fit_novelty(features: Floats, labels: Ints) -> NoveltySettings:
    """Fit means of classes with two steps or more, and the inverse Cholesky factor."""
    means, whitening = _reference(features, labels)
    return NoveltySettings(
        means=tuple(map(tuple, means.tolist())), whitening=tuple(map(tuple, whitening.tolist()))
    )


def fit_novelty_terms(calibration: Sequence[SignalColumns]) -> tuple[NoveltyTerm, ...]:
    """Fit the tables of the decision's novelty: low confidence alone without features."""
    columns = concatenate(calibration)
    shares = WITHOUT_FEATURES if columns.novelty is None else SHARES
    terms = []
    for signal, share in shares.items():
        values, counts = np.unique(columns.named(signal), return_counts=True)
        table = survival_table(values, counts, steepest_slope(signal))
        terms.append(NoveltyTerm(signal, share, table.points, table.bits, table.slope))
    return tuple(terms)


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
