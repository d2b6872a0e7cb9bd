# SPDX-License-Identifier: Apache-2.0
"""Baselines that average several posteriors: of networks, of heads, or of stochastic passes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmark.scores.score import Judged, softmax
from benchmark.seen import Seen

Gather = Callable[[Seen], NDArray[np.floating]]  # logits (steps, posteriors, classes)


@dataclass(slots=True)
class Averaged:
    """1 - max of the mean probability."""

    gather: Gather

    def fit(self, calibration: Seen, development: Seen) -> None:
        """Nothing to learn: its training was the fit."""

    def judge(self, seen: Seen) -> Judged:
        """The mean of the softmaxes."""
        p = softmax(self.gather(seen)).mean(axis=1)
        return Judged(p, 1 - p.max(axis=1))


def _members(seen: Seen) -> NDArray[np.floating]:
    names = [name for name in seen.outputs if name.startswith("member")]
    return np.stack([seen.outputs[name]["logits"] for name in names], axis=1)


def _exits(network: str) -> Gather:
    def gather(seen: Seen) -> NDArray[np.floating]:
        held = seen.outputs[network]
        return np.concatenate([held["heads"], held["logits"][:, None]], axis=1)

    return gather


# The paper's ablation of the early-exit ensemble leaves the final exit out.
GATHERS: Mapping[str, Gather] = {
    "ensemble": _members,
    "exits": _exits("exits"),
    "light exits": _exits("exits-light"),
    "exits without the last": lambda seen: seen.outputs["exits"]["heads"],
    "hydra": lambda seen: seen.outputs["hydra"]["heads"],
    "dropout": lambda seen: seen.outputs["dropout"]["passes"],
}


@dataclass(slots=True)
class Posterior:
    """A posterior network's Dirichlet: 1 - max of its mean (Charpentier and others 2020)."""

    def fit(self, calibration: Seen, development: Seen) -> None:
        """Nothing to learn."""

    def judge(self, seen: Seen) -> Judged:
        """By the mean; the evidence is in it, because little evidence makes it flat."""
        alpha = seen.outputs["postnet"]["alpha"].astype(np.float64)
        p = alpha / alpha.sum(axis=1, keepdims=True)
        return Judged(p, 1 - p.max(axis=1))
