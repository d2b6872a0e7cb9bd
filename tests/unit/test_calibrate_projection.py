# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.calibrate.projection import fit_projection
from tcuq.errors import FitError

pytestmark = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")

Synthetic = Callable[..., tcuq.Stream]


@pytest.mark.parametrize("width", [64, 200])
@pytest.mark.parametrize(("kind", "dimensions"), [("pca", 32), ("lda", 4)])
def test_wide_features_work_end_to_end(
    synthetic: Synthetic, width: int, kind: Any, dimensions: int
) -> None:
    """Fitted, saved, loaded and run, a projected profile still detects shifted features."""
    stream = synthetic(1500, classes=5, width=width)
    fitted = tcuq.fit(stream, projection=kind)
    profile = tcuq.Profile.from_json(fitted.to_json())
    assert profile.inputs.projection is not None
    assert (profile.inputs.width, profile.inputs.dimensions) == (width, dimensions)
    assert stream.features is not None
    calm = tcuq.Monitor(profile).run(stream.posteriors, stream.features)
    scattered = stream.features + 5 * np.random.default_rng(0).normal(size=stream.features.shape)
    moved = tcuq.Monitor(profile).run(stream.posteriors, scattered)
    assert moved.risk.mean() > calm.risk.mean() + 0.2


def test_narrow_features_are_not_projected(synthetic: Synthetic) -> None:
    """Up to 32 features are used unchanged."""
    assert fit_projection(synthetic(width=32), "pca", 0) is None
    assert fit_projection(synthetic(width=0), "pca", 0) is None


def test_principal_components_are_an_orthonormal_frame(synthetic: Synthetic) -> None:
    """PCA keeps lengths within its subspace: its rows are orthonormal, its mean the features'."""
    stream = synthetic(width=50)
    projection = fit_projection(stream, "pca", 0)
    assert projection is not None
    assert stream.features is not None
    matrix = np.array(projection.matrix)
    assert matrix @ matrix.T == pytest.approx(np.eye(32), abs=1e-9)
    assert projection.mean == pytest.approx(stream.features.mean(axis=0))


def test_discriminants_separate_classes(synthetic: Synthetic) -> None:
    """After LDA classes lie apart by more than they scatter; there is one row less than classes."""
    stream = synthetic(2000, classes=4, width=60)
    projection = fit_projection(stream, "lda", 0)
    assert projection is not None
    assert stream.features is not None
    assert stream.labels is not None
    projected = (stream.features - np.array(projection.mean)) @ np.array(projection.matrix).T
    assert projected.shape == (2000, 3)
    means = np.stack([projected[stream.labels == c].mean(axis=0) for c in range(4)])
    scatter = (projected - means[stream.labels]).std(axis=0)
    assert (means.std(axis=0) > 2 * scatter).all()


@pytest.mark.parametrize("labels", [None, np.full(600, -1), np.zeros(600, np.int64)])
def test_discriminants_need_labels(synthetic: Synthetic, labels: Any) -> None:
    """Without labels of at least two classes the message gives the remedy."""
    wide = synthetic(600, width=40)
    stream = tcuq.Stream(wide.posteriors, wide.features, labels)
    with pytest.raises(FitError, match='projection="lda" needs calibration labels'):
        tcuq.fit(stream, projection="lda")


def test_unknown_labels_are_no_class(synthetic: Synthetic) -> None:
    """Steps without a label do not count for the discriminants."""
    wide = synthetic(600, width=40)
    assert wide.labels is not None
    labels = np.where(np.arange(600) % 2, wide.labels, -1)
    projection = fit_projection(tcuq.Stream(wide.posteriors, wide.features, labels), "lda", 0)
    known = tcuq.Stream(wide.posteriors[1::2], wide.features[1::2], labels[1::2])  # type: ignore[index]
    alone = fit_projection(known, "lda", 0)
    assert projection is not None
    assert alone is not None
    assert np.array(projection.matrix) == pytest.approx(np.array(alone.matrix))


def test_pca_needs_no_labels(synthetic: Synthetic) -> None:
    """PCA works without labels."""
    wide = synthetic(600, width=40)
    profile = tcuq.fit(tcuq.Stream(wide.posteriors, wide.features))
    assert profile.inputs.dimensions == 32
