# SPDX-License-Identifier: Apache-2.0
"""Random profiles, and quantised steps to run them over: any shape that the runtime takes."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tcuq
from tcuq.monitor import Monitor
from tcuq.profile.quantize import SIGNALS
from tcuq.profile.settings import MAX_DIMENSIONS, NEEDS_FEATURES

CALIBRATION_STEPS, STEPS = 1200, 300


@dataclass(frozen=True, slots=True)
class RandomProfile:
    """A profile and steps like those it was calibrated on."""

    profile: tcuq.Profile
    posteriors: NDArray[np.uint8]
    features: NDArray[np.int8] | None


def draw(seed: int) -> RandomProfile:
    """The same profile for the same seed."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 21))
    narrow, middle, wide = (int(rng.integers(*span)) for span in ((1, 33), (8, 33), (33, 97)))
    width = (0, narrow, middle, MAX_DIMENSIONS, wide)[int(rng.integers(5))]
    recorded = _stream(rng, classes, width, CALIBRATION_STEPS + STEPS)
    calibration = recorded.cut(0, CALIBRATION_STEPS)
    lags = tuple(sorted(rng.choice(np.arange(1, 9), int(rng.integers(1, 5)), replace=False)))
    lags = (1, 2, 4) if rng.random() < 0.3 else lags  # the default more often than another
    changes: dict[str, Any] = {"lags": [int(lag) for lag in lags]}
    changes["h"] = (None, 12, 20)[int(rng.integers(3))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so short a calibration promises little
        if rng.random() < 0.3:
            profile = tcuq.fit(calibration, _shifted(calibration, rng), preset="paper", **changes)
        else:
            changes["terms"] = _terms(rng, width)
            profile = tcuq.fit(calibration, **changes)
    steps = recorded.cut(CALIBRATION_STEPS, len(recorded))
    posteriors, features = Monitor(profile).quantize(steps.posteriors, steps.features)
    return RandomProfile(profile, posteriors, features)


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
    given = [s for s in SIGNALS if width or s not in NEEDS_FEATURES]
    chosen = rng.choice(len(given), int(rng.integers(1, min(5, len(given)) + 1)), replace=False)
    return [
        tcuq.TermPlan(
            given[i],
            tail="lower" if rng.random() < 0.2 else "upper",
            ewma=int(rng.integers(1, 6)) if rng.random() < 0.3 else None,
        )
        for i in chosen
    ]
