# SPDX-License-Identifier: Apache-2.0
"""The interface: a score is fitted once, then judges streams; and what a judgement holds."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.data.samples import Ints
from benchmark.seen import Seen

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a method says of each step: its class probabilities, and how far not to trust them."""

    probabilities: Floats
    risk: Floats

    @property
    def label(self) -> Ints:
        """The predicted class."""
        best: Ints = self.probabilities.argmax(axis=1)
        return best


class Score(Protocol):
    """A score or baseline."""

    def fit(self, calibration: Seen, development: Seen) -> None:
        """Learn from an in-distribution stream, and where labels are used, from a labelled mix."""

    def judge(self, seen: Seen) -> Judged:
        """A risk for every step, higher where the prediction should be trusted less."""


def softmax(logits: NDArray[np.floating], temperature: float = 1.0) -> Floats:
    """Probabilities along the last axis."""
    scaled = logits.astype(np.float64) / temperature
    powers = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def entropy(probabilities: Floats) -> Floats:
    """In nats, along the last axis."""
    held: Floats = -(probabilities * np.log(np.maximum(probabilities, 1e-300))).sum(axis=-1)
    return held
