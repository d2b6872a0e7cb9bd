# SPDX-License-Identifier: Apache-2.0
"""The cost of each score at inference beyond one pass of the base network."""

import json
import timeit
from collections.abc import Iterable
from pathlib import Path

from tcuq_benchmark.experiments.detection import available, network_hashes
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.variants import load_variants, run_scenarios
from tcuq_benchmark.networks.zoo import TrainedNetwork
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.score import Score
from tcuq_benchmark.scores.table import SCORES

FIRMWARE = Path(__file__).resolve().parents[4] / "tools/measurements/budget.json"
ROUNDS = 3
BUILDS = {"tcuq": "tcuq -O2", "recommended": "recommended -O2"}  # scores measured as firmware


def cost(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Return rows by score: passes, parameters, time on the host, and on the device for ours."""
    budget = json.loads(FIRMWARE.read_text("utf-8"))["m4"]
    base_parameters = _parameters(task, ("base",))
    entries, variants = available(task, SCORES, 0)
    calibration, development, test = run_scenarios(
        task, ("calibration", "development", "in_distribution"), "coherent", 0, variants
    )
    rows: list[ExperimentRow] = []
    for name, entry in entries.items():
        score = entry.make()
        score.fit(calibration, development)
        row: ExperimentRow = {
            "score": name,
            "passes": entry.passes,
            "extra parameters": max(0, _parameters(task, entry.networks) - base_parameters),
            "microseconds per step, host": _seconds_per_step(score, test) * 1e6,
            "uses labels of shifted data": entry.labels,
        }
        if name in BUILDS:
            build = budget[BUILDS[name]]
            row |= {
                "instructions per step, Cortex-M4": build["instructions"],
                "state bytes": build["ram"],
                "flash bytes": build["flash"],
            }
        rows.append(row)
    return rows, network_hashes(task, entries)


def _parameters(task: str, variants: Iterable[str]) -> int:
    networks = load_variants(task, variants, 0).values()
    return sum(n.parameters for n in networks if isinstance(n, TrainedNetwork))


def _seconds_per_step(score: Score, run: ScenarioRun) -> float:
    """Return the fastest of a few rounds."""
    return min(timeit.repeat(lambda: score.predict(run), number=1, repeat=ROUNDS)) / len(run)
