# SPDX-License-Identifier: Apache-2.0
"""Scores of one network's posterior, and three trivial baselines."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.special import logsumexp

from tcuq import fit_temperature
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.score import Floats, Prediction, Unfitted, entropy, softmax

Rule = Literal["max_prob", "margin", "entropy", "energy"]


@dataclass(slots=True)
class Posterior(Unfitted):
    """1 - max p, 1 - margin, entropy, or energy (Liu and others 2020)."""

    rule: Rule
    network: str = "base"

    def predict(self, run: ScenarioRun) -> Prediction:
        """Apply the rule."""
        logits = run.outputs[self.network]["logits"]
        p = softmax(logits)
        if self.rule == "energy":
            return Prediction(p, -logsumexp(logits.astype(np.float64), axis=1))
        if self.rule == "entropy":
            return Prediction(p, entropy(p))
        first, second = np.sort(p, axis=1)[:, :-3:-1].T
        return Prediction(p, 1 - first if self.rule == "max_prob" else 1 - (first - second))


@dataclass(slots=True)
class Temperature:
    """1 - max p after one temperature, fitted by `tcuq.fit_temperature` on calibration steps."""

    network: str = "base"
    temperature_: float = field(default=1.0, init=False)

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Find the temperature with the lowest negative log-likelihood."""
        logits = calibration.outputs[self.network]["logits"]
        self.temperature_ = fit_temperature(logits, calibration.labels)

    def predict(self, run: ScenarioRun) -> Prediction:
        """Predict with scaled probabilities."""
        p = softmax(run.outputs[self.network]["logits"], self.temperature_)
        return Prediction(p, 1 - p.max(axis=1))


@dataclass(slots=True)
class Conformal:
    """1 - conformal p-value of 1 - max p against the calibration steps, as the paper's baseline."""

    network: str = "base"
    calibration_scores_: Floats = field(default_factory=lambda: np.empty(0), init=False)

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Sort the calibration scores."""
        p = softmax(calibration.outputs[self.network]["logits"])
        self.calibration_scores_ = np.sort(1 - p.max(axis=1))

    def predict(self, run: ScenarioRun) -> Prediction:
        """Return the share of calibration steps with a lower score."""
        p = softmax(run.outputs[self.network]["logits"])
        below = np.searchsorted(self.calibration_scores_, 1 - p.max(axis=1), side="left")
        return Prediction(p, below / (len(self.calibration_scores_) + 1))


@dataclass(slots=True)
class Odin(Unfitted):
    """1 - max p after a gradient step on the input.

    Y. Hsu and others, Generalized ODIN, 2020: its perturbation and choice of step, as the paper
    uses it, on a network that was not trained for it. The step is chosen with the network.
    """

    def predict(self, run: ScenarioRun) -> Prediction:
        """Return the risk of the perturbed input, and the network's own probabilities."""
        outputs = run.outputs["odin"]
        return Prediction(softmax(outputs["logits"]), 1 - outputs["odin"].astype(np.float64))


@dataclass(slots=True)
class TrivialBaseline(Unfitted):
    """Always and never give every step the same risk; random draws it."""

    rule: Literal["always", "never", "random"]
    network: str = "base"

    def predict(self, run: ScenarioRun) -> Prediction:
        """Return a risk that does not depend on the stream."""
        p = softmax(run.outputs[self.network]["logits"])
        constant = np.full(len(run), float(self.rule == "always"))
        rng = np.random.default_rng(0)
        return Prediction(p, rng.random(len(run)) if self.rule == "random" else constant)
