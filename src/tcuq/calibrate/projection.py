# SPDX-License-Identifier: Apache-2.0
"""Wide features to at most 32: principal components, or discriminants where labels allow."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from tcuq.errors import FitError
from tcuq.profile.settings import MAX_DIMENSIONS, Projection
from tcuq.stream import Stream

ALMOST_ALL = 0.9999
SMALLEST_RANGE = 1e-6


def fit_projection(stream: Stream, kind: Literal["pca", "lda"], seed: int) -> Projection | None:
    """Fit a projection on the calibration features; return None if they are narrow enough."""
    if stream.features is None or stream.width <= MAX_DIMENSIONS:
        return None
    features = stream.features.astype(np.float64)
    mean = features.mean(axis=0)
    matrix = _pca(features, seed) if kind == "pca" else _lda(features, stream)
    scale = int8_step((features - mean) @ matrix.T)
    return Projection(kind, tuple(mean.tolist()), tuple(map(tuple, matrix.tolist())), scale)


def int8_step(values: NDArray[np.generic]) -> float:
    """Return the step of an int8 scale that almost no value saturates, as a float32.

    A float32 is the same number with every version of NumPy and its linear algebra.
    """
    most = float(np.quantile(np.abs(values.astype(np.float64)), ALMOST_ALL))
    return float(np.float32(max(most, SMALLEST_RANGE) / 127))


def _pca(features: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    count = min(MAX_DIMENSIONS, len(features))
    fitted = PCA(count, svd_solver="auto", random_state=seed).fit(features)
    rows: NDArray[np.float64] = fitted.components_
    return rows


def _lda(features: NDArray[np.float64], stream: Stream) -> NDArray[np.float64]:
    labels = stream.labels
    known = None if labels is None else labels >= 0
    if labels is None or known is None or len(np.unique(labels[known])) < 2:
        raise FitError(
            'projection="lda" needs calibration labels of at least 2 classes;'
            ' give labels, or use projection="pca"'
        )
    count = min(MAX_DIMENSIONS, len(np.unique(labels[known])) - 1)
    fitted = LinearDiscriminantAnalysis(n_components=count, solver="eigen", shrinkage="auto").fit(
        features[known], labels[known]
    )
    rows: NDArray[np.float64] = fitted.scalings_[:, :count].T
    return rows
