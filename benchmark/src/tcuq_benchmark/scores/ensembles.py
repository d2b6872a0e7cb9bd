# SPDX-License-Identifier: Apache-2.0
"""Baselines that average posteriors: of networks, of heads, or of stochastic passes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.score import Prediction, Unfitted, softmax

LogitsOf = Callable[[ScenarioRun], NDArray[np.floating]]  # logits (steps, posteriors, classes)


@dataclass(slots=True)
class MeanPosterior(Unfitted):
    """1 - max of the mean probability."""

    logits_of: LogitsOf

    def predict(self, run: ScenarioRun) -> Prediction:
        """Average the softmax outputs."""
        p = softmax(self.logits_of(run)).mean(axis=1)
        return Prediction(p, 1 - p.max(axis=1))


def _members(run: ScenarioRun) -> NDArray[np.floating]:
    names = [name for name in run.outputs if name.startswith("member")]
    return np.stack([run.outputs[name]["logits"] for name in names], axis=1)


def _exits(network: str) -> LogitsOf:
    def logits_of(run: ScenarioRun) -> NDArray[np.floating]:
        outputs = run.outputs[network]
        return np.concatenate([outputs["heads"], outputs["logits"][:, None]], axis=1)

    return logits_of


# The paper's ablation of the early-exit ensemble leaves the final exit out.
LOGITS: Mapping[str, LogitsOf] = {
    "ensemble": _members,
    "exits": _exits("exits"),
    "light exits": _exits("exits-light"),
    "exits without the last": lambda run: run.outputs["exits"]["heads"],
    "hydra": lambda run: run.outputs["hydra"]["heads"],
    "dropout": lambda run: run.outputs["dropout"]["passes"],
}


@dataclass(slots=True)
class PosteriorNetwork(Unfitted):
    """A posterior network's Dirichlet: 1 - max of its mean (Charpentier and others 2020)."""

    def predict(self, run: ScenarioRun) -> Prediction:
        """Predict with the Dirichlet mean, which is flat where there is little evidence."""
        alpha = run.outputs["postnet"]["alpha"].astype(np.float64)
        p = alpha / alpha.sum(axis=1, keepdims=True)
        return Prediction(p, 1 - p.max(axis=1))
