# SPDX-License-Identifier: Apache-2.0
"""Tuned scores: accuracy drops with the best of eight trials on the development stream."""

import sys

from tcuq_benchmark.experiments import measures
from tcuq_benchmark.experiments.detection import (
    TEST_ONLY,
    WITH_SEVERITIES,
    available,
    by_severity,
    mean_of,
    network_hashes,
)
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.trials import TRIALS, Tuned
from tcuq_benchmark.experiments.variants import run_scenario, run_scenarios, trained_seeds
from tcuq_benchmark.scenarios.scenario import KINDS
from tcuq_benchmark.scores.table import SCORES


def tuned(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Return rows by score, kind of stream and seed, each with the trial chosen."""
    rows: list[ExperimentRow] = []
    entries = {name: SCORES[name] for name in TRIALS}
    for kind in KINDS:
        for seed in trained_seeds(task):
            names, networks = available(task, entries, seed)
            fitted = [network for network in networks if network not in TEST_ONLY]
            calibration = run_scenario(task, "calibration", kind, seed, fitted)
            development, drop = run_scenarios(task, ("development", "drop"), kind, seed, networks)
            reference = measures.accuracy_reference(calibration)
            for name in names:
                print(f"{task} {kind} seed {seed}: {name}", file=sys.stderr)
                score = Tuned(TRIALS[name])
                score.fit(calibration, development)
                predicted = score.predict(drop)
                row: ExperimentRow = {"score": name, "kind": kind, "seed": seed}
                row |= {"trial": score.chosen_, "limit of accuracy": reference.floor}
                row["drop AUPRC"] = mean_of(measures.drop_auprc(drop, predicted, reference))
                levels = by_severity(drop, predicted, reference) if task in WITH_SEVERITIES else {}
                rows.append(row | {"drop AUPRC by severity": levels})
    return rows, network_hashes(task, entries)
