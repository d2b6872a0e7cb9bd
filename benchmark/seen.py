# SPDX-License-Identifier: Apache-2.0
"""A scene as networks saw it: what every score is fitted on and judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmark.data.samples import Array, Ints
from benchmark.outputs import cached, key
from benchmark.scenes.scene import Scene
from tcuq import Stream

Outputs = Mapping[str, Array]


class Network(Protocol):
    """What is asked of a network: its outputs on inputs, and the hash of its weights."""

    @property
    def sha256(self) -> str:
        """The identity of its weights."""

    def prepared(self, x: Array) -> Array:
        """Raw samples behind the front end, the same for all networks of a task."""

    def run_prepared(self, x: Array) -> dict[str, Array]:
        """Named outputs, a row a sample; "logits" and "features" are among them."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Labels and marks of a scene's steps, and the outputs of the networks that saw them."""

    labels: Ints
    starts: Ints
    shifted: NDArray[np.bool_]
    severity: Ints
    scenario: Ints
    scenarios: tuple[str, ...]
    outputs: Mapping[str, Outputs]

    def __len__(self) -> int:
        return len(self.labels)

    def stream(self, network: str, layers: Sequence[str] = ("features",)) -> Stream:
        """One network's outputs as a recorded stream, features from these layers side by side."""
        held = self.outputs[network]
        return Stream(
            held["logits"],
            np.concatenate([held[layer] for layer in layers], axis=1),
            self.labels,
            kind="logits",
            starts=self.starts,
            shifted=self.shifted,
        )

    def where(self, kept: NDArray[np.bool_]) -> "Seen":
        """Some of the steps; each scenario that is kept begins anew."""
        at = np.flatnonzero(kept)
        scenario = self.scenario[at]
        begins = np.flatnonzero(np.diff(scenario, prepend=-1))
        inner = np.searchsorted(at, self.starts[kept[self.starts]])
        return Seen(
            self.labels[at],
            np.unique(np.concatenate([begins, inner])),
            self.shifted[at],
            self.severity[at],
            scenario,
            self.scenarios,
            {
                name: {column: values[at] for column, values in held.items()}
                for name, held in self.outputs.items()
            },
        )


def seen(scene: Scene, networks: Mapping[str, Network]) -> Seen:
    """The scene through these networks; what was computed before is read from the cache."""
    shown = _Shown(scene)
    return Seen(
        scene.labels,
        scene.plan.starts,
        scene.plan.shifted,
        scene.plan.severity,
        scene.scenario,
        scene.scenarios,
        {name: shown.to(network) for name, network in networks.items()},
    )


class _Shown:
    """A scene's distinct inputs, prepared once for all networks.

    A clean step that shows what another clean step showed is not looked at again.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        plan = scene.plan
        alone = np.where(plan.severity > 0, np.arange(len(plan)), -1)
        shown = np.column_stack([plan.index, plan.move, alone])
        _, self.first, self.place = np.unique(shown, axis=0, return_index=True, return_inverse=True)
        self.prepared: Array | None = None

    def to(self, network: Network) -> Outputs:
        """The network's outputs on every step."""
        scene = self.scene
        name = key(
            scene.samples.sha256, network.sha256, scene.plan.settings | {"scene": scene.name}
        )

        def run(begin: int, end: int) -> dict[str, Array]:
            if self.prepared is None:
                self.prepared = network.prepared(scene.inputs[self.first])
            return network.run_prepared(self.prepared[begin:end])

        held = cached(name, len(self.first), run)
        place = self.place.ravel()
        return {column: values[place] for column, values in held.items()}
