# SPDX-License-Identifier: Apache-2.0
"""Estimates of accuracy by ATC and CBPE."""

import numpy as np
import pytest

from tcuq_benchmark.data.samples import Ints
from tcuq_benchmark.measurements.accuracy_estimates import (
    Atc,
    Estimator,
    Floats,
    OwnCbpe,
)
from tcuq_benchmark.scores.score import softmax


def posteriors(seed: int, sharpness: float = 3.0) -> tuple[Floats, Ints]:
    """Return posteriors of four classes, too confident, and the true classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 2_000)
    logits = rng.normal(size=(2_000, 4))
    logits[np.arange(2_000), labels] += sharpness * rng.random(2_000)
    return softmax(2 * logits), labels


def accuracy(p: Floats, labels: Ints) -> float:
    """Return the share of right predictions."""
    return float((p.argmax(axis=1) == labels).mean())


@pytest.mark.parametrize("make", [Atc, OwnCbpe])
def test_an_estimate_is_right_where_it_was_fitted(make: type[Estimator]) -> None:
    """On calibration steps and on fresh ones the estimate is the accuracy."""
    p, labels = posteriors(0)
    estimator = make()
    estimator.fit(p, labels)
    assert estimator.chance_of_right(p).mean() == pytest.approx(accuracy(p, labels), abs=0.002)
    fresh, fresh_labels = posteriors(1)
    estimate = estimator.chance_of_right(fresh).mean()
    assert estimate == pytest.approx(accuracy(fresh, fresh_labels), abs=0.03)


@pytest.mark.parametrize("make", [Atc, OwnCbpe])
def test_an_estimate_falls_with_confidence(make: type[Estimator]) -> None:
    """Where the network doubts more, the estimated accuracy is lower."""
    estimator = make()
    estimator.fit(*posteriors(0))
    blurred, _ = posteriors(1, sharpness=1.0)
    usual, _ = posteriors(1)
    chances = [estimator.chance_of_right(p).mean() for p in (blurred, usual)]
    assert chances[0] < chances[1] - 0.05
