# SPDX-License-Identifier: Apache-2.0
"""Generalised ODIN's pass: the posterior after one gradient step on the input."""

import hashlib
from dataclasses import dataclass

from benchmark.data.samples import Array
from benchmark.networks.tasks import TASKS
from benchmark.networks.zoo import Trained

TEMPERATURE = 1000.0
EPSILONS = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
TRIED_ON = 512  # calibration samples


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A base network asked twice, the second time on an input that a gradient has moved."""

    base: Trained
    epsilon: float

    @property
    def variant(self) -> str:
        """Its name among the variants."""
        return "odin"

    @property
    def seed(self) -> int:
        """The base network's."""
        return self.base.seed

    @property
    def sha256(self) -> str:
        """Of the weights and what is done with them."""
        said = f"{self.base.sha256} odin {self.epsilon} {TEMPERATURE}"
        return hashlib.sha256(said.encode()).hexdigest()

    def prepared(self, x: Array) -> Array:
        """As the base network's."""
        return self.base.prepared(x)

    def run_prepared(self, x: Array) -> dict[str, Array]:
        """Plain logits, and the largest posterior of the moved input."""
        moved = self.base.odin_prepared(x, self.epsilon, TEMPERATURE)
        return {"logits": self.base.run_prepared(x)["logits"], "odin": moved}


def perturbed(base: Trained) -> Perturbed:
    """With the step that makes calibration samples most certain, as Hsu and others choose it."""
    x = base.prepared(TASKS[base.task].load()["calibration"].x[:TRIED_ON])
    certainty = {step: float(base.odin_prepared(x, step, TEMPERATURE).mean()) for step in EPSILONS}
    return Perturbed(base, max(certainty, key=lambda step: certainty[step]))
