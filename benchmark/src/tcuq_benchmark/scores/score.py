# SPDX-License-Identifier: Apache-2.0
"""The interface: a score is fitted once, then predicts class probabilities and a risk by step."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.samples import Ints
from tcuq_benchmark.scenario_run import ScenarioRun

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """A method's class probabilities, risk, novelty and expected error for each step.

    Novelty ranks out-of-distribution samples, the mean expected error ranks windows by their
    accuracy; a method without them ranks by its risk.
    """

    probabilities: Floats
    risk: Floats
    novelty: Floats | None = None
    expected_error: Floats | None = None

    @property
    def label(self) -> Ints:
        """The predicted class."""
        best: Ints = self.probabilities.argmax(axis=1)
        return best


class Score(Protocol):
    """A score or baseline."""

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Learn from an in-distribution stream and, if labels are used, from a labelled mix."""

    def predict(self, run: ScenarioRun) -> Prediction:
        """Return a risk for every step, higher where the prediction should be trusted less."""


class Unfitted:
    """A score that learns nothing."""

    __slots__ = ()

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Learn nothing."""


def softmax(logits: NDArray[np.floating], temperature: float = 1.0) -> Floats:
    """Return probabilities along the last axis."""
    scaled = logits.astype(np.float64) / temperature
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def entropy(probabilities: Floats) -> Floats:
    """Return the entropy in nats, along the last axis."""
    nats: Floats = -(probabilities * np.log(np.maximum(probabilities, 1e-300))).sum(axis=-1)
    return nats
