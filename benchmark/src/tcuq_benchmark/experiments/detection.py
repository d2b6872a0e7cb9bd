# SPDX-License-Identifier: Apache-2.0
"""Every score on a task: accuracy drops, failures, out-of-distribution samples, probabilities."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tcuq_benchmark.corruptions.suite import SEVERITIES
from tcuq_benchmark.experiments import measures
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.variants import SEEDS, load_variants, run_scenario, trained_seeds
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scenarios.scenario import KINDS, Kind, Name
from tcuq_benchmark.scenarios.tasks import WITHOUT_OOD
from tcuq_benchmark.scores.score import Prediction, Score
from tcuq_benchmark.scores.table import SCORES, Entry

WITH_SEVERITIES = ("cifar10", "speech", "tinyimagenet")
SCENARIOS: tuple[Name, ...] = ("calibration", "development", "in_distribution", "drop", "ood")
NOT_RUN = {
    "tinyimagenet": frozenset({"odin"}),  # benchmark/docs/protocol.md
    "cifar10": frozenset({"odin"}),  # four passes of each step; no claim needs it there
}
TEST_SCENARIOS = SCENARIOS[2:]
# Networks whose scores learn nothing from calibration, so they are not run on it.
TEST_ONLY = frozenset({"members", "exits", "exits-light", "hydra", "dropout", "postnet", "odin"})


def detection(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Return rows by score, kind of stream and seed; and the hashes of the networks."""
    rows: list[ExperimentRow] = []
    for kind in KINDS:
        for seed in trained_seeds(task):
            rows += rows_of_seed(task, kind, seed, SCORES)
    return rows, network_hashes(task, SCORES)


def is_available(task: str, entry: Entry, seed: int) -> bool:
    """Return whether the networks that a score needs are trained for this task and seed."""
    if not set(entry.networks).isdisjoint(NOT_RUN.get(task, ())):
        return False
    if "members" in entry.networks and seed not in SEEDS:
        return False
    try:
        load_variants(task, entry.networks, seed)
    except FileNotFoundError:
        return False
    return True


def available(
    task: str, entries: Mapping[str, Entry], seed: int
) -> tuple[dict[str, Entry], list[str]]:
    """Return the scores whose networks are trained, and the names of these networks."""
    chosen = {name: entry for name, entry in entries.items() if is_available(task, entry, seed)}
    return chosen, sorted({network for entry in chosen.values() for network in entry.networks})


def network_hashes(task: str, entries: Mapping[str, Entry]) -> dict[str, str]:
    """Return the hashes of the weights of all networks that scores use."""
    return {
        f"{network.variant}-{network.seed}": network.sha256
        for seed in trained_seeds(task)
        for entry in available(task, entries, seed)[0].values()
        for network in load_variants(task, entry.networks, seed).values()
    }


def rows_of_seed(
    task: str, kind: Kind, seed: int, scores: Mapping[str, Entry]
) -> Iterator[ExperimentRow]:
    """Yield the rows of one seed on one kind of stream, by score."""
    entries, variants = available(task, scores, seed)
    fitted = ["base", *(v for v in variants if v not in TEST_ONLY and v != "base")]
    runs: dict[Name, ScenarioRun] = {}
    for name in SCENARIOS:
        if name != "ood" or task not in WITHOUT_OOD:
            networks = variants if name in TEST_SCENARIOS else fitted
            runs[name] = run_scenario(task, name, kind, seed, networks)
    for score, entry in entries.items():
        print(f"{task} {kind} seed {seed}: {score}", file=sys.stderr)
        yield {"score": score, "kind": kind, "seed": seed} | all_measures(task, entry, runs)


def all_measures(task: str, entry: Entry, runs: Mapping[Name, ScenarioRun]) -> dict[str, Any]:
    """Fit a score and compute all its measures."""
    score = entry.make()
    score.fit(runs["calibration"], runs["development"])
    in_distribution = score.predict(runs["in_distribution"])
    drop = score.predict(runs["drop"])
    reference = measures.accuracy_reference(runs["calibration"])
    drops = measures.drop_auprc(runs["drop"], drop, reference)
    row: dict[str, Any] = {
        "drop AUPRC": mean_of(drops),
        "failure AUROC": measures.failure_auroc(runs["in_distribution"], in_distribution),
        "shifted failure AUROC": measures.failure_auroc(runs["drop"], drop),
        "risk-coverage area": measures.risk_coverage_area(runs["drop"], drop),
        "delay": measures.detection_delay(
            runs["drop"], drop, (runs["in_distribution"], in_distribution), reference
        ),
    }
    if "ood" in runs:
        row["OOD AUROC"] = measures.ood_auroc(runs["ood"], score.predict(runs["ood"]))
    row["probabilities"] = measures.probabilities(runs["in_distribution"], in_distribution)
    row["drop AUPRC by condition"] = drops
    if task in WITH_SEVERITIES:
        row["drop AUPRC by severity"] = by_severity(runs["drop"], drop, reference)
    return row


def by_severity(
    run: ScenarioRun, prediction: Prediction, reference: measures.AccuracyReference
) -> dict[str, float]:
    """Return the mean accuracy-drop AUPRC of each severity."""
    return {
        str(level): mean_of(measures.drop_auprc(run, prediction, reference, level))
        for level in SEVERITIES
    }


def mean_drop_auprc(score: Score, calibration: ScenarioRun, drop: ScenarioRun) -> float:
    """Return the mean accuracy-drop AUPRC of a fitted score."""
    reference = measures.accuracy_reference(calibration)
    return mean_of(measures.drop_auprc(drop, score.predict(drop), reference))


def mean_of(values: Mapping[str, float]) -> float:
    """Return the mean over the conditions in which accuracy dropped at all."""
    finite = [value for value in values.values() if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")
