# SPDX-License-Identifier: Apache-2.0
"""Figures of the second confirmation for one network: ranking, promise and alarm.

Finished figures are in the cache, so an interrupted run resumes.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import tcuq
from tcuq.evaluation.measures import auroc
from tcuq_benchmark.data.samples import Array, Ints, Samples
from tcuq_benchmark.detectors.cases import LENGTHS
from tcuq_benchmark.experiments.measures import ood_auroc
from tcuq_benchmark.measurements.accepted_figures import Trial, held_out_figures
from tcuq_benchmark.measurements.alarm_calm import STEPS, false_alarms
from tcuq_benchmark.measurements.alarm_cases import Calm, Case, Figures, log
from tcuq_benchmark.measurements.failure_streams import (
    NETWORK,
    OURS,
    Floats,
    ScoredRun,
    cells,
    fit_scores,
)
from tcuq_benchmark.networks.zoo import load_network
from tcuq_benchmark.scenario_run import ScenarioRun, run_networks
from tcuq_benchmark.scenarios.confirmation import SCENARIOS
from tcuq_benchmark.scenarios.scenario import Kind, Name
from tcuq_benchmark.scores.score import Prediction

BASELINE = "max_prob"
SPLITS = 20  # random splits of each network's rows, for the promise
SHARE = 0.6


@dataclass(frozen=True, eq=False)
class Rows:
    """Outputs of one network on the calibration and test parts, as the source of streams.

    `part` is 0 for calibration's rows and 1 for test's; inputs are left out.
    """

    task: str
    kind: Kind
    samples: Samples
    part: Ints
    outputs: dict[str, Array]

    @property
    def person(self) -> Ints:
        """The recording of each row; random splits are drawn within recordings."""
        return self.samples.group

    @property
    def shifts(self) -> tuple[()]:
        """Return none: the promise is measured in distribution."""
        return ()

    def stream(self, rows: Ints, seed: int) -> tcuq.Stream:
        """Return a labelled stream with every row once."""
        return self.steps(rows, len(rows), seed)

    def steps(self, rows: Ints, steps: int, seed: int) -> tcuq.Stream:
        """Return a labelled stream of this many steps."""
        plan = SCENARIOS[self.task].plan(self.samples.take(rows), steps, self.kind, seed)
        at = rows[plan.index]
        return tcuq.Stream(
            self.outputs["logits"][at],
            self.outputs["features"][at],
            self.samples.y[at],
            kind="logits",
        )

    def shifted(self, shift: tuple[str, int], rows: Ints, seed: int) -> tcuq.Stream:
        """Refuse: there is no shift."""
        raise ValueError(f"there are no shifted streams, got {shift}, {len(rows)} rows, {seed}")


@lru_cache(maxsize=2)
def rows_of(task: str, network: int, kind: Kind) -> Rows:
    """Return the in-distribution rows with a network's outputs."""
    parts = SCENARIOS[task].load()
    both = [parts["calibration"], parts["test"]]
    outputs = load_network(task, NETWORK, network).run(np.concatenate([one.x for one in both]))
    y, group, row = (
        np.concatenate([getattr(one, column) for one in both]) for column in ("y", "group", "row")
    )
    samples = Samples(np.zeros((len(y), 1), np.float32), y, group, row, both[0].classes)
    part = np.repeat([0, 1], [len(one) for one in both])
    return Rows(task, kind, samples, part, outputs)


def run(task: str, name: Name, kind: Kind, seed: int) -> ScenarioRun:
    """Run a scenario through the network of a seed."""
    network = load_network(task, NETWORK, seed)
    return run_networks(SCENARIOS[task](name, kind, seed), {NETWORK: network})


def ranking(case: Case, kind: Kind) -> Figures:
    """Return the figures of claims 1 to 4 on one kind of stream."""
    task, seed = case.task, case.network
    fitted = fit_scores(run(task, "calibration", kind, seed), own_cbpe=False)
    clean = fitted.score(run(task, "in_distribution", kind, seed))
    drop, ood = (fitted.score(run(task, name, kind, seed)) for name in ("drop", "ood"))
    natural = tuple(SCENARIOS[task].shifts())
    chances = {OURS: 1 - drop.trace.expected_error}
    chances |= {n: each.chance_of_right(drop.posteriors) for n, each in fitted.estimators.items()}
    return {
        "in distribution": failure_aurocs(clean, np.ones(len(clean.run), np.bool_)),
        "natural shift": {name: failure_aurocs(drop, steps_of(drop, name)) for name in natural},
        "cells": list(cells(drop)),
        "unknown": {name: unknown_aurocs(ood, name) for name in ood.run.conditions},
        "estimate errors": {
            name: {each: estimate_error(drop, each, chance) for each in drop.run.conditions}
            for name, chance in chances.items()
        },
        "natural": natural,
        "accuracy": {"in distribution": 1 - float(clean.wrong.mean())}
        | {
            name: 1 - float(drop.wrong[steps_of(drop, name)].mean()) for name in drop.run.conditions
        },
    }


def steps_of(scored: ScoredRun, condition: str) -> np.ndarray:
    """Return the shifted steps of a condition."""
    number = scored.run.conditions.index(condition)
    steps: np.ndarray = scored.run.shifted & (scored.run.condition == number)
    return steps


def failure_aurocs(scored: ScoredRun, at: np.ndarray) -> Figures:
    """Return the AUROC for wrong predictions of the risk and of 1 - confidence."""
    wrong = scored.wrong[at]
    other = scored.doubts[BASELINE]
    return {"ours": auroc(wrong, scored.trace.risk[at]), "other": auroc(wrong, other[at])}


def unknown_aurocs(scored: ScoredRun, condition: str) -> Figures:
    """Return the AUROC for unknown things, beside correct predictions, of novelty and baseline."""
    number = scored.run.conditions.index(condition)
    mask = scored.run.condition == number
    one = scored.run.where(mask)
    posteriors, trace = scored.posteriors[mask], scored.trace
    return {
        "ours": ood_auroc(one, Prediction(posteriors, trace.risk[mask], trace.novelty[mask])),
        "other": ood_auroc(one, Prediction(posteriors, scored.doubts[BASELINE][mask])),
    }


def estimate_error(scored: ScoredRun, condition: str, chance: Floats) -> float:
    """Return |estimated - true accuracy| on a condition's shifted steps."""
    at = steps_of(scored, condition)
    return abs(float(chance[at].mean() - (~scored.wrong[at]).mean()))


def promises(case: Case, kind: Kind, accepted_error: float) -> Figures:
    """Return held-out error and coverage of random splits; None where the fit refuses."""
    source = rows_of(case.task, case.network, kind)
    trial = Trial(case.task, SHARE, accepted_error, new_people=False)
    seeds = [100 * case.network + split for split in range(SPLITS)]
    return {"splits": [held_out_figures(trial, source, seed) for seed in seeds]}


def calm(case: Case, kind: Kind) -> Figures:
    """Count false alarms on in-distribution steps after one calibration."""
    log(f"calm steps of {case.name}, {kind}")
    source = rows_of(case.task, case.network, kind)
    part = source.part
    if case.split == "mixed":
        part = np.random.default_rng([case.number, 7]).permutation(part)
    known, others = np.flatnonzero(part == 0), np.flatnonzero(part == 1)
    calibration = source.steps(known, LENGTHS[case.turn], 2 * case.number)
    calm_stream = source.steps(others, STEPS, 2 * case.number + 1)
    unlabelled = tcuq.Stream(calibration.posteriors, calibration.features, kind="logits")
    return dict(false_alarms(unlabelled, Calm(calm_stream, np.zeros(STEPS, np.int64))))
