# SPDX-License-Identifier: Apache-2.0
"""What stress adds: the area under risk-coverage with and without it, on faults of other families.

Stress is made of the calibration stream's own inputs; faults that it holds too (noise, offsets,
gains, clipping, dead channels) are left out of the test.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from results.result import Row, measure
from tcuq.stream import Kind
from tcuq.tap import stress
from tcuq_benchmark.data.samples import Array
from tcuq_benchmark.experiments.variants import (
    AnyNetwork,
    load_variant,
    run_scenario,
)
from tcuq_benchmark.measurements.failure_streams import (
    NETWORK,
    cells,
    fit_scores,
    unlabelled_stream,
)
from tcuq_benchmark.scenarios.scenario import KINDS
from tcuq_benchmark.scenarios.scenario import Kind as Order
from tcuq_benchmark.scenarios.tasks import make_scenario
from tcuq_benchmark.scores.monitors import quiet_fit

SETS = ("digits", "mnist", "fashion_mnist", "hapt", "watch")
SEEDS = (0, 1)
STEPS = 6000  # of stress, at most
WORST = 1.05
WORDS = {"iid": "shuffled", "coherent": "coherent"}
IN_STRESS = frozenset({
    "bias", "brighter", "brightness", "dead_column", "dimmed", "dropout", "gain", "hold",
    "impulse_noise", "noise", "offset", "saturation", "shot_noise", "stuck",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class NetworkTap:
    """A trained network as a tap."""

    network: AnyNetwork
    kind: Kind = "logits"
    layer: str = "features"
    batch: int = 512
    labels: None = None

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - as in Tap
        """Return logits and features."""
        outputs = self.network.run_prepared(self.network.prepared(inputs))
        return outputs["logits"], outputs["features"]


def ratios(task: str, kind: Order, seed: int) -> Iterator[tuple[bool, float, float]]:
    """Yield of each cell whether the fault is partial, and its ratios without and with stress."""
    print(f"{task} {kind} seed {seed}", file=sys.stderr, flush=True)
    calibration = run_scenario(task, "calibration", kind, seed)
    inputs = make_scenario(task, "calibration", kind, seed).inputs[:STEPS]
    stressed = stress(NetworkTap(load_variant(task, NETWORK, seed)), inputs)
    plain = fit_scores(calibration, own_cbpe=True)
    profile = quiet_fit(unlabelled_stream(calibration), stress=stressed)
    drop = run_scenario(task, "drop", kind, seed)
    scored = [fitted.score(drop) for fitted in (plain, replace(plain, profile=profile))]
    for without, weighed in zip(*map(cells, scored), strict=True):
        if without["condition"].split()[0] not in IN_STRESS:
            yield without["right"] >= 0.5, without["ratio"], weighed["ratio"]


def rows(short: bool) -> Iterator[Row]:
    """Yield the geometric means of both, and the worst cell with stress."""
    networks = list(product(SETS[:1] if short else SETS, SEEDS))
    for kind in KINDS:
        both = [cell for task, seed in networks for cell in ratios(task, kind, seed)]
        for partial in (True, False):
            figures = np.array([cell[1:] for cell in both if cell[0] == partial])
            plain, weighed = np.exp(np.log(figures).mean(axis=0))
            what = f"{WORDS[kind]}, {'partial' if partial else 'total'} faults of other families"
            yield Row(
                f"area under risk-coverage ÷ max-prob's with stress, {what}: geometric mean",
                "stated",
                f"{weighed:.3f}; without stress {plain:.3f} ({len(figures)} cells)",
                None,
            )
            if partial:
                plain, weighed = figures.max(axis=0)
                yield Row(
                    f"area under risk-coverage ÷ max-prob's with stress, {what}: worst cell",
                    f"≤ {WORST}" if kind == "iid" else "stated",
                    f"{weighed:.2f}; without stress {plain:.2f}",
                    bool(weighed <= WORST) if kind == "iid" else None,
                )


if __name__ == "__main__":
    measure("stress", rows, ("scikit-learn", "scipy", "torch"))
