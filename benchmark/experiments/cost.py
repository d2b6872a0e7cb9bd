# SPDX-License-Identifier: Apache-2.0
"""What each score costs at inference beyond one pass of the base network."""

import json
import time
from pathlib import Path

from benchmark.experiments.crew import crew, looked_at, network
from benchmark.experiments.detection import available, networks_of
from benchmark.experiments.result import Row
from benchmark.networks.zoo import Trained
from benchmark.scores.table import OURS, SCORES

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware" / "budget.json"
ROUNDS = 3
BUILD_OF = {"tcuq": "tcuq", "anchored": "everything", "recommended": "recommended"}


def cost(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows by score: passes, parameters, microseconds of NumPy, and on the device for ours."""
    budget = json.loads(FIRMWARE.read_text("utf-8"))["m4"]
    base = network(task, "base", 0)
    count = base.parameters if isinstance(base, Trained) else 0
    entries = {name: entry for name, entry in SCORES.items() if available(task, entry, 0)}
    variants = sorted({variant for entry in entries.values() for variant in entry.networks})
    calibration, development, judged = (
        looked_at(task, name, "coherent", 0, variants)
        for name in ("calibration", "development", "identity")
    )
    rows: list[Row] = []
    for name, entry in entries.items():
        score = entry.make()
        score.fit(calibration, development)
        took = []
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            score.judge(judged)
            took.append((time.perf_counter() - begun) / len(judged))
        kept = [
            n.parameters for n in crew(task, entry.networks, 0).values() if isinstance(n, Trained)
        ]
        row: Row = {
            "score": name,
            "passes": entry.passes,
            "extra parameters": max(0, sum(kept) - count),
            "microseconds of NumPy a step": min(took) * 1e6,
            "uses labels of shifted data": entry.labels,
        }
        if name in OURS and name in BUILD_OF:
            build = budget[BUILD_OF[name]]
            row |= {
                "instructions a step, Cortex-M4": build["instructions"],
                "state bytes": build["ram"],
                "flash bytes": build["flash"],
            }
        rows.append(row)
    return rows, networks_of(task, entries)
