# SPDX-License-Identifier: Apache-2.0
"""Random profiles of any shape that the runtime accepts."""

import warnings
from typing import Any

import numpy as np

import tcuq
from tcuq.profile.quantize import SIGNALS
from tcuq.profile.settings import MAX_DIMENSIONS, NEEDS_FEATURES

CALIBRATION_STEPS = 1200


def random_profile(seed: int) -> tcuq.Profile:
    """The same profile for the same seed."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 21))
    narrow, middle, wide = (int(rng.integers(*span)) for span in ((1, 33), (8, 33), (33, 97)))
    width = (0, narrow, middle, MAX_DIMENSIONS, wide)[int(rng.integers(5))]
    calibration = _stream(rng, classes, width, CALIBRATION_STEPS)
    lags = tuple(sorted(rng.choice(np.arange(1, 9), int(rng.integers(1, 5)), replace=False)))
    lags = (1, 2, 4) if rng.random() < 0.3 else lags  # the default lags are drawn more often
    changes: dict[str, Any] = {"lags": [int(lag) for lag in lags]}
    changes |= ({"alarm": False}, {"steps_per_false_alarm": 1 << 12}, {})[int(rng.integers(3))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the calibration stream is short on purpose
        if rng.random() < 0.3:
            shifted = _shifted(calibration, rng)
            return tcuq.fit(calibration, shifted, preset="paper", **changes)
        return tcuq.fit(calibration, terms=_terms(rng, width), **changes)


def _stream(rng: np.random.Generator, classes: int, width: int, steps: int) -> tcuq.Stream:
    labels = np.repeat(rng.integers(0, classes, steps // 10 + 1), 10)[:steps]
    logits = rng.normal(size=(steps, classes))
    logits[np.arange(steps), labels] += 3
    features = None
    if width:
        features = 2 * rng.normal(size=(classes, width))[labels] + rng.normal(size=(steps, width))
    return tcuq.Stream(logits, features, labels, kind="logits")


def _shifted(stream: tcuq.Stream, rng: np.random.Generator) -> tcuq.Stream:
    late = np.arange(len(stream)) >= len(stream) // 2
    noise = 3 * rng.normal(size=stream.posteriors.shape)
    logits = np.where(late[:, None], stream.posteriors + noise, stream.posteriors)
    return tcuq.Stream(logits, stream.features, stream.labels, kind="logits", shifted=late)


def _terms(rng: np.random.Generator, width: int) -> list[tcuq.TermPlan]:
    available = [s for s in SIGNALS if width or s not in NEEDS_FEATURES]
    indices = rng.choice(
        len(available), int(rng.integers(1, min(5, len(available)) + 1)), replace=False
    )
    return [
        tcuq.TermPlan(
            available[i],
            tail="lower" if rng.random() < 0.2 else "upper",
            ewma=int(rng.integers(1, 6)) if rng.random() < 0.3 else None,
        )
        for i in indices
    ]
