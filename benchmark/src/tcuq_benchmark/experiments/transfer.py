# SPDX-License-Identifier: Apache-2.0
"""Scores fitted on one kind of stream and run on the other, or on corruptions not fitted on."""

import sys
from collections.abc import Sequence
from itertools import product

import numpy as np

from tcuq_benchmark.experiments.detection import mean_drop_auprc, network_hashes
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.variants import run_scenario, run_scenarios, trained_seeds
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scenarios.scenario import KINDS
from tcuq_benchmark.scores.table import SCORES, Entry

NAMES = ("max_prob", "tcuq", "tcuq monotone", "recommended", "recommended labelled")


def transfer(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Return rows by score, seed, the streams it was fitted on and the streams it was run on."""
    entries = {name: SCORES[name] for name in NAMES}
    rows: list[ExperimentRow] = []
    for seed in trained_seeds(task):
        fits = {
            kind: run_scenarios(task, ("calibration", "development"), kind, seed) for kind in KINDS
        }
        drops = {kind: run_scenario(task, "drop", kind, seed) for kind in KINDS}
        for name, entry in entries.items():
            print(f"{task} seed {seed}: {name}", file=sys.stderr)
            for one, other in product(KINDS, KINDS):
                score = entry.make()
                score.fit(*fits[one])
                auprc = mean_drop_auprc(score, fits[other][0], drops[other])
                row: ExperimentRow = {"score": name, "seed": seed, "fitted": one, "run": other}
                rows.append(row | {"drop AUPRC": auprc})
            auprc = _other_corruptions(entry, fits["coherent"], drops["coherent"])
            row = {"score": name, "seed": seed, "fitted": "other corruptions", "run": "coherent"}
            rows.append(row | {"drop AUPRC": auprc})
    return rows, network_hashes(task, entries)


def _other_corruptions(entry: Entry, fits: Sequence[ScenarioRun], drop: ScenarioRun) -> float:
    """Fit on every second condition and run on the others; return the mean of both ways round."""
    calibration, development = fits
    values = []
    for parity in (0, 1):
        score = entry.make()
        score.fit(calibration, _half(development, parity))
        values.append(mean_drop_auprc(score, calibration, _half(drop, 1 - parity)))
    return float(np.mean(values))


def _half(run: ScenarioRun, parity: int) -> ScenarioRun:
    """Return every second condition; all steps where there is only one."""
    return run if len(run.conditions) == 1 else run.where(run.condition % 2 == parity)
