# SPDX-License-Identifier: Apache-2.0
"""Scores of one network's own posterior, and the three that know nothing."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from benchmark.scores.score import Floats, Judged, entropy, softmax
from benchmark.seen import Seen
from tcuq.evaluate.measures import negative_log_likelihood

Rule = Literal["max_prob", "margin", "entropy", "energy"]


@dataclass(slots=True)
class Posterior:
    """1 - max p, 1 - margin, entropy, or energy (Liu and others 2020)."""

    rule: Rule
    network: str = "base"

    def fit(self, calibration: Seen, development: Seen) -> None:
        """Nothing to learn."""

    def judge(self, seen: Seen) -> Judged:
        """By the rule."""
        logits = seen.outputs[self.network]["logits"]
        p = softmax(logits)
        if self.rule == "energy":
            return Judged(p, -logsumexp(logits.astype(np.float64), axis=1))
        if self.rule == "entropy":
            return Judged(p, entropy(p))
        first, second = np.sort(p, axis=1)[:, :-3:-1].T
        return Judged(p, 1 - first if self.rule == "max_prob" else 1 - (first - second))


@dataclass(slots=True)
class Temperature:
    """1 - max p after one temperature, fitted by likelihood on labelled calibration steps.

    C. Guo and others, On calibration of modern neural networks, 2017.
    """

    network: str = "base"
    temperature_: float = field(default=1.0, init=False)

    def fit(self, calibration: Seen, development: Seen) -> None:
        """The temperature of least negative log-likelihood."""
        known = calibration.labels >= 0
        logits = calibration.outputs[self.network]["logits"][known]
        labels = calibration.labels[known]

        def loss(log_temperature: float) -> float:
            p = softmax(logits, np.exp(log_temperature))
            return float(negative_log_likelihood(p, labels).mean())

        found = minimize_scalar(loss, bounds=(-3, 3), method="bounded")
        self.temperature_ = float(np.exp(found.x))

    def judge(self, seen: Seen) -> Judged:
        """Scaled probabilities."""
        p = softmax(seen.outputs[self.network]["logits"], self.temperature_)
        return Judged(p, 1 - p.max(axis=1))


@dataclass(slots=True)
class Conformal:
    """1 - conformal p-value of 1 - max p against the calibration steps, as the paper's baseline."""

    network: str = "base"
    usual_: Floats = field(default_factory=lambda: np.empty(0), init=False)

    def fit(self, calibration: Seen, development: Seen) -> None:
        """The calibration scores, in order."""
        p = softmax(calibration.outputs[self.network]["logits"])
        self.usual_ = np.sort(1 - p.max(axis=1))

    def judge(self, seen: Seen) -> Judged:
        """The share of calibration steps with a lower score."""
        p = softmax(seen.outputs[self.network]["logits"])
        below = np.searchsorted(self.usual_, 1 - p.max(axis=1), side="left")
        return Judged(p, below / (len(self.usual_) + 1))


@dataclass(slots=True)
class Perturbed:
    """1 - max p after a gradient step on the input.

    Y. Hsu and others, Generalized ODIN, 2020: its perturbation and choice of step, as the paper
    uses it, on a network that was not trained for it.
    """

    def fit(self, calibration: Seen, development: Seen) -> None:
        """The step was chosen before."""

    def judge(self, seen: Seen) -> Judged:
        """By the moved input's posterior; predictions are the network's own."""
        held = seen.outputs["odin"]
        return Judged(softmax(held["logits"]), 1 - held["odin"].astype(np.float64))


@dataclass(slots=True)
class Dummy:
    """Always and never call every step equally risky; random draws."""

    rule: Literal["always", "never", "random"]
    network: str = "base"

    def fit(self, calibration: Seen, development: Seen) -> None:
        """Nothing to learn."""

    def judge(self, seen: Seen) -> Judged:
        """What a monitor that knows nothing says."""
        p = softmax(seen.outputs[self.network]["logits"])
        flat = np.full(len(seen), float(self.rule == "always"))
        rng = np.random.default_rng(0)
        return Judged(p, rng.random(len(seen)) if self.rule == "random" else flat)
