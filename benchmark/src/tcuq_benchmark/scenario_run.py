# SPDX-License-Identifier: Apache-2.0
"""A scenario with the outputs of networks on it: what scores are fitted on and applied to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tcuq import Stream
from tcuq_benchmark.data.samples import Array, Ints
from tcuq_benchmark.outputs import cached, key
from tcuq_benchmark.scenarios.scenario import Scenario

Outputs = Mapping[str, Array]


class Network(Protocol):
    """A network's outputs on inputs, and the hash of its weights."""

    @property
    def sha256(self) -> str:
        """The identity of its weights."""

    def prepared(self, x: Array) -> Array:
        """Return raw samples after the front end, which is the same for all networks of a task."""

    def run_prepared(self, x: Array) -> dict[str, Array]:
        """Return named outputs, one row per sample; they include "logits" and "features"."""


@dataclass(frozen=True, slots=True, eq=False)
class ScenarioRun:
    """A scenario's labels, marks and conditions by step, and the outputs of networks by name."""

    labels: Ints
    starts: Ints
    shifted: NDArray[np.bool_]
    severity: Ints
    condition: Ints
    conditions: tuple[str, ...]
    outputs: Mapping[str, Outputs]

    def __len__(self) -> int:
        return len(self.labels)

    def stream(self, network: str) -> Stream:
        """Return one network's outputs as a recorded stream."""
        outputs = self.outputs[network]
        return Stream(
            outputs["logits"],
            outputs["features"],
            self.labels,
            kind="logits",
            starts=self.starts,
            shifted=self.shifted,
        )

    def where(self, mask: NDArray[np.bool_]) -> "ScenarioRun":
        """Return the steps in the mask; history restarts with each condition."""
        at = np.flatnonzero(mask)
        begins = np.flatnonzero(np.diff(self.condition[at], prepend=-1))
        inner = np.searchsorted(at, self.starts[mask[self.starts]])
        return self.take(at, np.unique(np.concatenate([begins, inner])))

    def take(self, at: Ints, starts: Ints) -> "ScenarioRun":
        """Return the steps at these places; history restarts at `starts` of the new run."""
        return ScenarioRun(
            self.labels[at],
            starts,
            self.shifted[at],
            self.severity[at],
            self.condition[at],
            self.conditions,
            {
                name: {column: values[at] for column, values in outputs.items()}
                for name, outputs in self.outputs.items()
            },
        )


def run_networks(scenario: Scenario, networks: Mapping[str, Network]) -> ScenarioRun:
    """Run networks over a scenario; outputs computed before are read from the cache."""
    inputs = _DistinctInputs(scenario)
    return ScenarioRun(
        scenario.labels,
        scenario.plan.starts,
        scenario.plan.shifted,
        scenario.plan.severity,
        scenario.condition,
        scenario.conditions,
        {name: inputs.outputs_of(network) for name, network in networks.items()},
    )


class _DistinctInputs:
    """A scenario's distinct inputs, prepared once for all networks.

    Clean steps with the same sample and camera offset have the same input and are run once.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        plan = scenario.plan
        corrupted_step = np.where(plan.severity > 0, np.arange(len(plan)), -1)
        identity = np.column_stack([plan.index, plan.move, corrupted_step])
        _, self.first, self.position = np.unique(
            identity, axis=0, return_index=True, return_inverse=True
        )
        self.prepared: Array | None = None

    def outputs_of(self, network: Network) -> Outputs:
        """Return the network's outputs on every step."""
        scenario = self.scenario
        settings = scenario.plan.settings | {"scenario": scenario.name}
        name = key(scenario.samples.sha256, network.sha256, settings)

        def run(begin: int, end: int) -> dict[str, Array]:
            if self.prepared is None:
                self.prepared = network.prepared(scenario.inputs[self.first])
            return network.run_prepared(self.prepared[begin:end])

        outputs = cached(name, len(self.first), run)
        position = self.position.ravel()
        return {column: values[position] for column, values in outputs.items()}
