# SPDX-License-Identifier: Apache-2.0
"""Features to as many as a device looks at: some of them, components or discriminants."""

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tcuq.errors import FitError
from tcuq.options import FitOptions
from tcuq.profile.settings import MAX_DIMENSIONS, Projection
from tcuq.stream import Stream

ALMOST_ALL = 0.9999
SMALLEST_RANGE = 1e-6
SMALLEST_VARIANCE = 1e-7  # of all features' within classes: each has at least as much


def fit_projection(stream: Stream, options: FitOptions) -> Projection | None:
    """Fit a projection on the calibration features; return None if they are narrow enough."""
    if stream.features is None or stream.width <= MAX_DIMENSIONS:
        return None
    features = stream.features.astype(np.float64)
    mean = features.mean(axis=0)
    kind, most = options.projection, options.dimensions
    matrix = _pca(features, options) if kind == "pca" else _lda(features, stream, most)
    scale = int8_step((features - mean) @ matrix.T)
    return Projection(kind, tuple(mean.tolist()), tuple(map(tuple, matrix.tolist())), scale)


def int8_step(values: NDArray[np.generic]) -> float:
    """Return the step of an int8 scale that almost no value saturates, as a float32.

    A float32 is the same number with every version of NumPy and its linear algebra.
    """
    most = float(np.quantile(np.abs(values.astype(np.float64)), ALMOST_ALL))
    return float(np.float32(max(most, SMALLEST_RANGE) / 127))


def fit_selection(stream: Stream, most: int) -> tuple[int, ...] | None:
    """Return the features that tell the predicted classes apart best; None if none is too many.

    The one whose absence costs least separation is left out, again and again. A selection costs a
    device nothing, where a projection costs a product for each feature and component.
    """
    if stream.features is None or not most < stream.width <= MAX_DIMENSIONS or not stream.classes:
        return None
    labels = np.argmax(stream.posteriors, axis=1)
    between, within = _scatter(stream.features.astype(np.float64), labels)
    selection = list(range(stream.width))
    while len(selection) > most:
        without = [[k for k in selection if k != one] for one in selection]
        selection = max(without, key=lambda some: _separation(between, within, some))
    return tuple(selection)


def _scatter(
    features: NDArray[np.float64], labels: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the covariance of the class means, by steps, and that within classes."""
    classes, numbers = np.unique(labels, return_inverse=True)
    means = np.stack([features[labels == each].mean(axis=0) for each in classes])[numbers]
    apart, residuals = means - features.mean(axis=0), features - means
    within = residuals.T @ residuals
    floor = SMALLEST_VARIANCE * float(np.trace(within)) + SMALLEST_RANGE
    return apart.T @ apart, within + floor * np.eye(len(within))


def _separation(
    between: NDArray[np.float64], within: NDArray[np.float64], some: list[int]
) -> float:
    """Return how far apart classes are, coarse: no other linear algebra moves it."""
    at = np.ix_(some, some)
    return float(f"{np.trace(np.linalg.solve(within[at], between[at])):.6g}")


def _pca(features: NDArray[np.float64], options: FitOptions) -> NDArray[np.float64]:
    count = min(options.dimensions, len(features))
    fitted = PCA(count, svd_solver="auto", random_state=options.seed).fit(features)
    rows: NDArray[np.float64] = fitted.components_
    return rows


def _lda(features: NDArray[np.float64], stream: Stream, most: int) -> NDArray[np.float64]:
    labels = stream.labels
    known = None if labels is None else labels >= 0
    if labels is None or known is None or len(np.unique(labels[known])) < 2:
        raise FitError(
            'projection="lda" needs calibration labels of at least 2 classes;'
            ' give labels, or use projection="pca"'
        )
    count = min(most, len(np.unique(labels[known])) - 1)
    fitted = LinearDiscriminantAnalysis(n_components=count, solver="eigen", shrinkage="auto").fit(
        features[known], labels[known]
    )
    rows: NDArray[np.float64] = fitted.scalings_[:, :count].T
    return rows
