# SPDX-License-Identifier: Apache-2.0
"""Generalised ODIN: the posterior after one gradient step on the input."""

import hashlib
from dataclasses import dataclass

from tcuq_benchmark.data.samples import Array
from tcuq_benchmark.networks.tasks import TASKS
from tcuq_benchmark.networks.zoo import TrainedNetwork

TEMPERATURE = 1000.0
EPSILONS = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
TRIAL_SAMPLES = 512  # calibration samples on which the step size is chosen


@dataclass(frozen=True, slots=True)
class OdinNetwork:
    """A base network run twice, the second time on an input perturbed along the gradient."""

    base: TrainedNetwork
    epsilon: float

    @property
    def variant(self) -> str:
        """The name among the variants."""
        return "odin"

    @property
    def seed(self) -> int:
        """The base network's seed."""
        return self.base.seed

    @property
    def sha256(self) -> str:
        """Hash of the weights, step size and temperature."""
        identity = f"{self.base.sha256} odin {self.epsilon} {TEMPERATURE}"
        return hashlib.sha256(identity.encode()).hexdigest()

    def prepared(self, x: Array) -> Array:
        """Return raw samples after the base network's front end."""
        return self.base.prepared(x)

    def run_prepared(self, x: Array) -> dict[str, Array]:
        """Return plain logits, and the largest posterior of the perturbed input."""
        perturbed = self.base.odin(x, self.epsilon, TEMPERATURE)
        return {"logits": self.base.run_prepared(x)["logits"], "odin": perturbed}


def odin_network(base: TrainedNetwork) -> OdinNetwork:
    """Choose the step that makes calibration samples most certain, as Hsu and others do."""
    x = base.prepared(TASKS[base.task].load()["calibration"].x[:TRIAL_SAMPLES])
    certainty = {step: float(base.odin(x, step, TEMPERATURE).mean()) for step in EPSILONS}
    return OdinNetwork(base, max(certainty, key=lambda step: certainty[step]))
