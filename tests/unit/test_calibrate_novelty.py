# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.calibrate.folds import FOLDS
from tcuq.calibrate.novelty import fit_novelty, novelty_out_of_fold
from tcuq.profile.settings import NoveltySettings
from tcuq.stages.columns import least_squared_distance, matrix_times_rows

Floats = NDArray[np.float64]


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


def out_of_fold(features: Floats, labels: NDArray[np.int32], lengths: list[int]) -> Floats:
    """Novelty out of fold, in float."""
    return novelty_out_of_fold(features, labels, lengths, lambda of: novelty(of, features))


def test_whitening_whitens() -> None:
    """Features less their class mean have the identity as covariance."""
    features, labels = clusters(20_000, 6)
    settings = fit_novelty(features, labels)
    residuals = features - np.array(settings.means)[labels]
    white = residuals @ np.array(settings.whitening).T
    assert np.abs(np.cov(white.T) - np.eye(6)).max() < 0.05


def test_means_are_the_classes() -> None:
    """There is a mean for each class with at least two steps."""
    features, labels = clusters(200, 2)
    labels[0] = 9  # one step: no class to be near to
    settings = fit_novelty(features, labels)
    assert len(settings.means) == 3
    assert settings.means[1] == pytest.approx(features[labels == 1].mean(axis=0))


def test_single_steps_are_means_if_no_class_has_two() -> None:
    """Where no class has two steps, each step is a mean."""
    settings = fit_novelty(np.eye(4), np.arange(4, dtype=np.int32))
    assert len(settings.means) == 4
    assert np.isfinite(settings.whitening).all()


@pytest.mark.parametrize("recordings", [1, 3, 5, 12])
def test_out_of_fold_is_not_lower_on_average(recordings: int) -> None:
    """A step is more novel against a reference fitted without it."""
    features, labels = clusters(240, 16)
    lengths = [240 // recordings] * recordings
    fair = out_of_fold(features, labels, lengths)
    assert fair.mean() > novelty(fit_novelty(features, labels), features).mean()


def test_out_of_fold_matches_fresh_steps() -> None:
    """Calibration steps are as novel out of fold as fresh steps."""
    features, labels = clusters(3000, 8)
    fair = out_of_fold(features[:1500], labels[:1500], [1500])
    fresh = novelty(fit_novelty(features[:1500], labels[:1500]), features[1500:])
    assert fair.mean() == pytest.approx(fresh.mean(), abs=0.05)


def test_folds_are_whole_recordings() -> None:
    """A recording unlike all others is novel out of fold, whatever its label."""
    features, labels = clusters(500, 4)
    features[100:200] += 100
    fair = out_of_fold(features, labels, [100] * FOLDS)
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
    known = out_of_fold(rows[again], labels[again], [6_000])
    once = out_of_fold(rows[:300], labels[:300], [300])
    assert np.median(known) == pytest.approx(np.median(once), rel=0.05)
    for row in (0, 7, 299):
        assert np.ptp(known[again == row]) == 0


def test_few_repeats_leave_the_folds_to_the_recordings() -> None:
    """A sensor that is sometimes silent does not undo the folds by recordings."""
    rng = np.random.default_rng(4)
    rows, labels = rng.normal(size=(1_000, 8)), rng.integers(0, 3, 1_000).astype(np.int32)
    before = out_of_fold(rows, labels, [200] * FOLDS)
    rows[::100] = rows[0]
    after = out_of_fold(rows, labels, [200] * FOLDS)
    changed = np.abs(before - after)[1:100]
    assert changed.max() < 0.3
