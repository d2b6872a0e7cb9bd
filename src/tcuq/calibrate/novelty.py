# SPDX-License-Identifier: Apache-2.0
"""Novelty: class means, the whitening of one shrunk covariance, and tables of surprise."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import LedoitWolf
from sklearn.metrics import roc_auc_score

from tcuq.calibrate.folds import folds
from tcuq.calibrate.tails import survival_table
from tcuq.profile.settings import MAX_NOVELTY, NoveltySettings, NoveltyTerm, Signal
from tcuq.profile.signal_units import steepest_slope
from tcuq.stages.columns import SignalColumns, concatenate
from tcuq.stages.score import Novelty

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# Low confidence alone sees inputs whose features look familiar. The largest share of novelty, and
# the AUROC of an unknown class at which it has none and all of it: docs/decisions/0073.
MOST_NOVELTY, USELESS, USEFUL = 0.75, 0.6, 0.8


def fit_novelty(features: Floats, labels: Ints) -> NoveltySettings:
    """Fit means of classes with two steps or more, and the inverse Cholesky factor."""
    _, means, whitening = _reference(features, labels)
    return NoveltySettings(
        means=tuple(map(tuple, means.tolist())), whitening=tuple(map(tuple, whitening.tolist()))
    )


def fit_novelty_terms(
    calibration: Sequence[SignalColumns], tells_unknown: float
) -> tuple[NoveltyTerm, ...]:
    """Fit the tables of the decision's novelty; its share depends on how it tells unknown classes.

    ``tells_unknown`` is the AUROC of `unknown_class_auroc`; without features, low confidence has
    the whole share.
    """
    columns = concatenate(calibration)
    useful = min(max((tells_unknown - USELESS) / (USEFUL - USELESS), 0.0), 1.0)
    share = 0.0 if columns.novelty is None else round(256 * MOST_NOVELTY * useful) / 256
    return _novelty_terms(columns, {"novelty": share, "low_confidence": 1 - share})


def fit_output_novelty(calibration: Sequence[SignalColumns]) -> tuple[NoveltyTerm, ...]:
    """Fit the tables of the decision's novelty without classes: half of it is the features'."""
    columns = concatenate(calibration)
    share = 0.0 if columns.novelty is None else 0.5
    return _novelty_terms(columns, {"novelty": share, "departure": 1 - share})


def _novelty_terms(
    columns: SignalColumns, shares: Mapping[Signal, float]
) -> tuple[NoveltyTerm, ...]:
    terms = []
    for signal, part in shares.items():
        if part > 0:
            values, counts = np.unique(columns.named(signal), return_counts=True)
            table = survival_table(values, counts, steepest_slope(signal))
            terms.append(NoveltyTerm(signal, part, table.points, table.bits, table.slope))
    return tuple(terms)


def novelty_limit(
    calibration: Sequence[SignalColumns], terms: tuple[NoveltyTerm, ...], share: float
) -> float | None:
    """Return the novelty, in 1/1024 bit, that at most this share of the steps reach; None for 0."""
    allowed = int(share * sum(len(part.label) for part in calibration))
    if allowed == 0 or not terms:
        return None
    novelty = Novelty(terms)
    values = []
    for part in calibration:
        novelty.reset_history()
        values.append(novelty.run(part))
    ordered = np.sort(np.concatenate(values))
    return min((math.floor(1024 * float(ordered[-allowed - 1])) + 1) / 1024, MAX_NOVELTY)


def unknown_class_auroc(features: Floats, labels: Ints, lengths: Sequence[int]) -> float:
    """Return how well novelty tells a class that it does not know from one that it knows.

    Out of fold, the distance of each step to the nearest mean, and to the nearest of the other
    classes, as if its own were unknown. 1/2 if there is one class only.
    """
    fold, known, unknown = folds(lengths, features), np.empty(len(labels)), np.empty(len(labels))
    for number in np.unique(fold):
        held_out = fold == number
        classes, means, whitening = _reference(features[~held_out], labels[~held_out])
        if len(classes) < 2:
            return 0.5
        rows, centres = features[held_out] @ whitening.T, means @ whitening.T
        squared = ((rows[:, None, :] - centres) ** 2).sum(axis=2)
        known[held_out] = squared.min(axis=1)
        squared[labels[held_out][:, None] == classes] = np.inf
        unknown[held_out] = squared.min(axis=1)
    is_unknown = np.repeat([False, True], len(labels))
    return float(roc_auc_score(is_unknown, np.concatenate([known, unknown])))


def _reference(features: Floats, labels: Ints) -> tuple[Ints, Floats, Floats]:
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
    return classes, means, np.linalg.inv(factor)
