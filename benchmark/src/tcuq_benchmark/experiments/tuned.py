# SPDX-License-Identifier: Apache-2.0
"""Tuned scores: accuracy drops with the best of eight trials on the development stream."""

import sys

from tcuq_benchmark.experiments import measures
from tcuq_benchmark.experiments.detection import (
    SEVERITIES_OF,
    TEST_ONLY,
    is_available,
    mean_of,
    network_hashes,
)
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.trials import TRIALS, Tuned
from tcuq_benchmark.experiments.variants import run_scenario, trained_seeds
from tcuq_benchmark.scenarios.scenario import KINDS
from tcuq_benchmark.scores.table import SCORES


def tuned(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Rows by score, kind of stream and seed, each with the trial chosen."""
    rows: list[ExperimentRow] = []
    entries = {name: SCORES[name] for name in TRIALS}
    for kind in KINDS:
        for seed in trained_seeds(task):
            names = [name for name in TRIALS if is_available(task, entries[name], seed)]
            networks = sorted({network for name in names for network in entries[name].networks})
            fitted = [network for network in networks if network not in TEST_ONLY]
            calibration = run_scenario(task, "calibration", kind, seed, fitted)
            development = run_scenario(task, "development", kind, seed, networks)
            drop = run_scenario(task, "drop", kind, seed, networks)
            reference = measures.accuracy_reference(calibration)
            for name in names:
                print(f"{task} {kind} seed {seed}: {name}", file=sys.stderr)
                score = Tuned(TRIALS[name])
                score.fit(calibration, development)
                predicted = score.predict(drop)
                rows.append(
                    {
                        "score": name,
                        "kind": kind,
                        "seed": seed,
                        "trial": score.chosen_,
                        "limit of accuracy": reference.floor,
                        "drop AUPRC": mean_of(measures.drop_auprc(drop, predicted, reference)),
                        "drop AUPRC by severity": {
                            str(level): mean_of(
                                measures.drop_auprc(drop, predicted, reference, level)
                            )
                            for level in SEVERITIES_OF.get(task, ())
                        },
                    }
                )
    return rows, network_hashes(task, entries)
