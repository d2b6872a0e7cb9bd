# SPDX-License-Identifier: Apache-2.0
"""Threshold and budget on coherent streams: rates in distribution, and the effect of a shift."""

import sys
from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tcuq import Monitor, Outcome, Trace
from tcuq.evaluation.measures import auprc, auroc, worst_window_rate
from tcuq_benchmark.experiments.detection import network_hashes
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.variants import run_scenarios, trained_seeds
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.monitors import MonitorScore
from tcuq_benchmark.scores.table import OURS

ALPHAS = (0.05, 0.1, 0.2)
BUDGET, WINDOW = 0.15, 1000
WARMUPS = (0, 64)
OPTIONS: Mapping[str, dict[str, object]] = {"tcuq": {"score": "tcuq"}, "recommended": {}}
SEVERE = 4  # the lowest severe severity; natural drift, which has none, counts in full


def streaming(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Return rows by score, mode, alpha and warm-up."""
    rows: list[ExperimentRow] = []
    for seed in trained_seeds(task):
        calibration, development, in_distribution, drop = run_scenarios(
            task, ("calibration", "development", "in_distribution", "drop"), "coherent", seed
        )
        for name, own in OPTIONS.items():
            print(f"{task} seed {seed}: {name}", file=sys.stderr)
            for mode, alpha, warmup in product(("guarded", "adaptive"), ALPHAS, WARMUPS):
                if mode == "guarded" and warmup:
                    continue
                options = own | {"mode": mode, "alpha": alpha, "warmup": warmup, "budget": BUDGET}
                score = MonitorScore(options, labelled=name == "tcuq")
                score.fit(calibration, development)
                row: ExperimentRow = {"score": name, "seed": seed, "mode": mode, "alpha": alpha}
                row |= {"warmup": warmup} | _measures(score, alpha, in_distribution, drop)
                rows.append(row)
    return rows, network_hashes(task, {"tcuq": OURS["tcuq"]})


def _measures(
    score: MonitorScore, alpha: float, in_distribution: ScenarioRun, drop: ScenarioRun
) -> dict[str, float]:
    clean = Monitor(score.profile()).run(in_distribution.stream("base"))
    shifted = Monitor(score.profile()).run(drop.stream("base"))
    severe = drop.shifted & ((drop.severity >= SEVERE) | (drop.severity == 0))
    known, labelled = in_distribution.labels >= 0, severe & (drop.labels >= 0)
    wrong = (clean.label != in_distribution.labels)[known]
    abstained = clean.outcome == Outcome.ABSTAIN
    window = min(WINDOW, len(clean))
    return {
        "exceedance deviation": abs(float(clean.exceeded.mean()) - alpha),
        "exceedance rate, first 500 steps": float(clean.exceeded[:500].mean()),
        "exceedance rate, worst window": worst_window_rate(clean.exceeded, window),
        "abstention rate": float(abstained.mean()),
        "abstention rate, worst window": worst_window_rate(abstained, window),
        "request rate, severe shift": float((shifted.outcome != Outcome.ACCEPT)[severe].mean()),
        "error among accepted, severe shift": _error(drop, shifted, labelled),
        "error, severe shift": float((shifted.label != drop.labels)[labelled].mean()),
        "failure AUROC": auroc(wrong, clean.risk[known]),
        "failure AUPRC": auprc(wrong, clean.risk[known]),
    }


def _error(run: ScenarioRun, trace: Trace, at: NDArray[np.bool_]) -> float:
    """Return the error rate of steps on which the monitor did not request to abstain."""
    accepted = at & (trace.outcome == Outcome.ACCEPT)
    return float((trace.label != run.labels)[accepted].mean()) if accepted.any() else float("nan")
