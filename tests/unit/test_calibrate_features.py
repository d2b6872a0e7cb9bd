# SPDX-License-Identifier: Apache-2.0
"""What is fitted on features: novelty's reference, the projection and the order of steps."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tcuq
from tcuq.calibrate.folds import FOLDS, folds, out_of_fold
from tcuq.calibrate.novelty import fit_novelty
from tcuq.calibrate.orders import STRETCH, grouped_by_class
from tcuq.calibrate.projection import fit_projection, fit_selection
from tcuq.errors import FitError
from tcuq.options import PRESETS
from tcuq.profile.settings import NoveltySettings
from tcuq.stages.columns import least_squared_distance, matrix_times_rows

Floats = NDArray[np.float64]
pytestmark = pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
Synthetic = Callable[..., tcuq.Stream]
DISCRIMINANTS = replace(PRESETS["recommended"], projection="lda")


def clusters(steps: int, width: int, seed: int = 0) -> tuple[Floats, NDArray[np.int32]]:
    """Three correlated Gaussian classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, steps).astype(np.int32)
    mixing = np.eye(width) + rng.normal(size=(width, width)) / (2 * np.sqrt(width))
    features = 10 * rng.normal(size=(3, width))[labels] + rng.normal(size=(steps, width)) @ mixing
    return features, labels


def novelty(settings: NoveltySettings, features: Floats) -> Floats:
    """Novelty against a reference, as the signals compute it."""
    whitening, means = np.array(settings.whitening), np.array(settings.means)
    distance = least_squared_distance(
        matrix_times_rows(whitening, features), matrix_times_rows(whitening, means)
    )
    return np.log1p(distance)


def held_out(features: Floats, labels: NDArray[np.int32], lengths: list[int]) -> Floats:
    """Novelty out of fold, in float."""
    return out_of_fold(
        folds(lengths, features),
        lambda fitted, steps: novelty(
            fit_novelty(features[fitted], labels[fitted]), features[steps]
        ),
    )


def test_whitening_whitens() -> None:
    """Features less their class mean have the identity as covariance."""
    features, labels = clusters(20_000, 6)
    settings = fit_novelty(features, labels)
    residuals = features - np.array(settings.means)[labels]
    white = residuals @ np.array(settings.whitening).T
    assert np.abs(np.cov(white.T) - np.eye(6)).max() < 0.05


def test_means_are_the_classes() -> None:
    """Each class with at least two steps has a mean; where none has two, each step is one."""
    features, labels = clusters(200, 2)
    labels[0] = 9  # one step: no class to be near to
    settings = fit_novelty(features, labels)
    assert len(settings.means) == 3
    assert settings.means[1] == pytest.approx(features[labels == 1].mean(axis=0))
    settings = fit_novelty(np.eye(4), np.arange(4, dtype=np.int32))
    assert len(settings.means) == 4
    assert np.isfinite(settings.whitening).all()


@pytest.mark.parametrize("recordings", [1, 3, 5, 12])
def test_out_of_fold_is_not_lower_on_average(recordings: int) -> None:
    """A step is more novel against a reference fitted without it."""
    features, labels = clusters(240, 16)
    lengths = [240 // recordings] * recordings
    fair = held_out(features, labels, lengths)
    assert fair.mean() > novelty(fit_novelty(features, labels), features).mean()


def test_out_of_fold_matches_fresh_steps() -> None:
    """Steps are as novel out of fold as fresh ones; a recording unlike all others is novel."""
    features, labels = clusters(3000, 8)
    fair = held_out(features[:1500], labels[:1500], [1500])
    fresh = novelty(fit_novelty(features[:1500], labels[:1500]), features[1500:])
    assert fair.mean() == pytest.approx(fresh.mean(), abs=0.05)
    features, labels = clusters(500, 4)
    features[100:200] += 100
    fair = held_out(features, labels, [100] * FOLDS)
    assert fair[100:200].min() > fair[200:].max()


def test_constant_feature_gives_a_finite_reference() -> None:
    """A dead feature gives a finite reference, and its first change is very novel."""
    features, labels = clusters(300, 3)
    features[:, 1] = 4.0
    settings = fit_novelty(features, labels)
    changed = features.copy()
    changed[:, 1] += 1
    assert novelty(settings, changed).min() > novelty(settings, features).max()


def test_repeated_recording_looked_less_novel_than_the_field() -> None:
    """Equal rows are in one fold, so that novelty in and out of calibration agrees."""
    rng = np.random.default_rng(3)
    rows, labels = rng.normal(size=(400, 16)), rng.integers(0, 4, 400).astype(np.int32)
    again = rng.integers(0, 300, 6_000)
    known = held_out(rows[again], labels[again], [6_000])
    once = held_out(rows[:300], labels[:300], [300])
    assert np.median(known) == pytest.approx(np.median(once), rel=0.05)
    for row in (0, 7, 299):
        assert np.ptp(known[again == row]) == 0


def test_few_repeats_leave_the_folds_to_the_recordings() -> None:
    """A sensor that is sometimes silent does not undo the folds by recordings."""
    rng = np.random.default_rng(4)
    rows, labels = rng.normal(size=(1_000, 8)), rng.integers(0, 3, 1_000).astype(np.int32)
    before = held_out(rows, labels, [200] * FOLDS)
    rows[::100] = rows[0]
    after = held_out(rows, labels, [200] * FOLDS)
    changed = np.abs(before - after)[1:100]
    assert changed.max() < 0.3


@pytest.mark.parametrize("width", [64, 200])
@pytest.mark.parametrize(("kind", "dimensions"), [("pca", 24), ("lda", 4)])
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
    assert moved.novelty.mean() > calm.novelty.mean() + 2
    assert moved.expected_error.mean() > calm.expected_error.mean() + 0.2


def test_wide_features_are_projected_on_an_orthonormal_frame(synthetic: Synthetic) -> None:
    """Up to 32 features stay; PCA's rows are orthonormal and its mean is the features'."""
    options = PRESETS["recommended"]
    assert fit_projection(synthetic(width=32), options) is None
    assert fit_projection(synthetic(width=0), options) is None
    stream = synthetic(width=50)
    projection = fit_projection(stream, options)
    assert projection is not None
    matrix = np.array(projection.matrix)
    assert matrix @ matrix.T == pytest.approx(np.eye(options.dimensions), abs=1e-9)
    assert projection.mean == pytest.approx(np.asarray(stream.features).mean(axis=0))


def test_features_that_tell_no_class_are_left_out_first() -> None:
    """Noise goes before features that tell classes, and of two copies one goes before both."""
    telling, labels = clusters(3000, 6)
    noise = np.random.default_rng(1).normal(size=(3000, 3))
    features = np.column_stack([noise[:, :2], telling, telling[:, 0], noise[:, 2]])
    stream = tcuq.Stream(0.1 + 0.7 * np.eye(3)[labels], features)
    assert fit_selection(stream, 10) is None
    assert fit_selection(stream, 6) in ((2, 3, 4, 5, 6, 7), (3, 4, 5, 6, 7, 8))
    one = tcuq.Stream(np.tile([0.9, 0.1], (3000, 1)), features)
    assert len(fit_selection(one, 6) or ()) == 6


def test_discriminants_separate_known_classes(synthetic: Synthetic) -> None:
    """Classes lie apart by more than they scatter; steps without a label do not count."""
    stream = synthetic(2000, classes=4, width=60)
    projection = fit_projection(stream, DISCRIMINANTS)
    assert projection is not None
    assert stream.features is not None
    assert stream.labels is not None
    projected = (stream.features - np.array(projection.mean)) @ np.array(projection.matrix).T
    assert projected.shape == (2000, 3)
    means = np.stack([projected[stream.labels == c].mean(axis=0) for c in range(4)])
    scatter = (projected - means[stream.labels]).std(axis=0)
    assert (means.std(axis=0) > 2 * scatter).all()
    wide = synthetic(600, width=40)
    assert wide.labels is not None
    labels = np.where(np.arange(600) % 2, wide.labels, -1)
    projection = fit_projection(tcuq.Stream(wide.posteriors, wide.features, labels), DISCRIMINANTS)
    known = tcuq.Stream(wide.posteriors[1::2], wide.features[1::2], labels[1::2])  # type: ignore[index]
    alone = fit_projection(known, DISCRIMINANTS)
    assert projection is not None
    assert alone is not None
    assert np.array(projection.matrix) == pytest.approx(np.array(alone.matrix))


@pytest.mark.parametrize("labels", [None, np.full(600, -1), np.zeros(600, np.int64)])
def test_discriminants_need_labels(synthetic: Synthetic, labels: Any) -> None:
    """Without labels of at least two classes the message gives the remedy."""
    wide = synthetic(600, width=40)
    stream = tcuq.Stream(wide.posteriors, wide.features, labels)
    with pytest.raises(FitError, match='projection="lda" needs calibration labels'):
        tcuq.fit(stream, projection="lda")


def test_the_same_steps_in_runs_of_one_class(synthetic: Synthetic) -> None:
    """Each stretch holds the same steps, sorted by label; recordings stay apart."""
    stream = synthetic(1000, starts=[0, 300, 301])
    labels = np.asarray(stream.labels)
    grouped = grouped_by_class(stream, labels)
    assert grouped.starts.tolist() == [0, 300, 301]
    bounds = [0, STRETCH, 2 * STRETCH, 300, 301, *range(301 + STRETCH, 1000, STRETCH), 1000]
    for begin, end in pairwise(bounds):
        stretch = np.asarray(grouped.labels)[begin:end]
        assert (np.diff(stretch) >= 0).all()
        assert sorted(labels[begin:end]) == stretch.tolist()
        pairs = [(s.posteriors[begin:end], s.features[begin:end]) for s in (stream, grouped)]  # type: ignore[index]
        for before, after in zip(*pairs, strict=True):
            assert (np.sort(before, axis=0) == np.sort(after, axis=0)).all()
