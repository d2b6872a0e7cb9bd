# SPDX-License-Identifier: Apache-2.0
"""Baselines that measure how far features lie from those of the calibration stream."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.covariance import LedoitWolf, ShrunkCovariance
from sklearn.linear_model import Ridge

from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.score import Floats, Prediction, softmax


@dataclass(slots=True)
class Mahalanobis:
    """Squared distance to the nearest class mean under one shrunk covariance.

    K. Lee and others, A simple unified framework for detecting out-of-distribution samples, 2018;
    last layer only, and without its input perturbation, which needs a backward pass.
    """

    network: str = "base"
    shrinkage: float | None = None  # Ledoit and Wolf's if None
    means_: Floats = field(default_factory=lambda: np.empty(0), init=False)
    precision_: Floats = field(default_factory=lambda: np.empty(0), init=False)

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Estimate means and covariance from labelled calibration features."""
        known = calibration.labels >= 0
        features = calibration.outputs[self.network]["features"][known].astype(np.float64)
        labels = calibration.labels[known]
        classes, position = np.unique(labels, return_inverse=True)
        self.means_ = np.stack([features[labels == c].mean(axis=0) for c in classes])
        shrunk = (
            LedoitWolf(assume_centered=True)
            if self.shrinkage is None
            else ShrunkCovariance(assume_centered=True, shrinkage=self.shrinkage)
        )
        spread = shrunk.fit(features - self.means_[position])
        self.precision_ = spread.precision_

    def predict(self, run: ScenarioRun) -> Prediction:
        """Return the distance of each step."""
        outputs = run.outputs[self.network]
        features = outputs["features"].astype(np.float64)
        gaps = features[:, None] - self.means_
        squared = np.einsum("ncd,de,nce->nc", gaps, self.precision_, gaps, optimize=True)
        return Prediction(softmax(outputs["logits"]), squared.min(axis=1))


@dataclass(slots=True)
class NextActivation:
    """Surprise of the last features given an earlier layer's, by a linear Gaussian prediction.

    Our reading of SNAP-UQ (single-pass next-activation prediction), of which we have only the idea:
    small heads predict a layer from the one before, and a large residual means high risk.
    """

    network: str = "base"
    ridge: float = 1.0
    model_: Any = field(default=None, init=False)
    scale_: Floats = field(default_factory=lambda: np.empty(0), init=False)

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit a ridge regression and the spread of its residuals."""
        outputs = calibration.outputs[self.network]
        self.model_ = Ridge(self.ridge).fit(outputs["early"], outputs["features"])
        residual = outputs["features"] - self.model_.predict(outputs["early"])
        self.scale_ = residual.std(axis=0) + 1e-6

    def predict(self, run: ScenarioRun) -> Prediction:
        """Return the mean squared residual in units of its spread."""
        outputs = run.outputs[self.network]
        residual = (outputs["features"] - self.model_.predict(outputs["early"])) / self.scale_
        return Prediction(softmax(outputs["logits"]), (residual**2).mean(axis=1).astype(np.float64))
