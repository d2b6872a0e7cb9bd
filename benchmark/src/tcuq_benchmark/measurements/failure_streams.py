# SPDX-License-Identifier: Apache-2.0
"""The monitor beside a softmax threshold on the streams of one network: figures for `failures`.

The profile is the default one and sees no label. Finished networks are in the cache, so an
interrupted run resumes.
"""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from tcuq import Monitor, Profile, Stream
from tcuq.autocorrelation import autocorrelation_time
from tcuq.decision import Trace
from tcuq.evaluation.bootstrap import MIN_EVENTS, block_interval
from tcuq.evaluation.measures import area_under_risk_coverage, auroc, moving_mean
from tcuq.evaluation.selection import BLOCK_TIMES
from tcuq_benchmark.cache import cache_root, write_entry
from tcuq_benchmark.data.samples import Ints
from tcuq_benchmark.experiments.detection import mean_of
from tcuq_benchmark.experiments.measures import (
    WINDOW,
    accuracy_reference,
    drop_auprc,
    ood_auroc,
)
from tcuq_benchmark.experiments.variants import load_variant, run_scenario
from tcuq_benchmark.measurements import accuracy_estimates
from tcuq_benchmark.measurements.accuracy_estimates import Atc, Estimator, NannyCbpe, OwnCbpe
from tcuq_benchmark.measurements.alarm_cases import code_sha256
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scenarios.scenario import Kind
from tcuq_benchmark.scenarios.tasks import WITHOUT_OOD
from tcuq_benchmark.scores.monitors import quiet_fit
from tcuq_benchmark.scores.posterior import Posterior, Temperature
from tcuq_benchmark.scores.score import Prediction, softmax

NETWORK = "base"
BASELINES = ("max_prob", "temperature")
OURS, ATC, CBPE, OWN_CBPE = "tcuq", "ATC", "CBPE (NannyML)", "CBPE (own)"
EVERY = 25  # steps between two windows whose accuracy is estimated
ROUNDS = 300
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRun:
    """A scenario with the monitor's trace and the doubt of each baseline by step."""

    run: ScenarioRun
    trace: Trace
    posteriors: Floats
    doubts: Mapping[str, Floats]

    @property
    def known(self) -> Bools:
        """The steps whose true class is known."""
        return self.run.labels >= 0

    @property
    def wrong(self) -> Bools:
        """The steps whose prediction is not the true class."""
        wrong: Bools = self.posteriors.argmax(axis=1) != self.run.labels
        return wrong


@dataclass(frozen=True, slots=True, eq=False)
class FittedScores:
    """The default profile of a calibration stream, and baselines fitted on its labels."""

    calibration: ScenarioRun
    profile: Profile
    temperature: Temperature
    estimators: Mapping[str, Estimator]

    def score(self, run: ScenarioRun) -> ScoredRun:
        """Run the monitor and the baselines over a scenario."""
        trace = Monitor(self.profile).run(run.stream(NETWORK))
        plain, scaled = Posterior("max_prob").predict(run), self.temperature.predict(run)
        doubts = dict(zip(BASELINES, (plain.risk, scaled.risk), strict=True))
        return ScoredRun(run, trace, plain.probabilities, doubts)


def fit_scores(calibration: ScenarioRun, *, own_cbpe: bool) -> FittedScores:
    """Fit everything on one calibration stream; the profile without its labels."""
    outputs, known = calibration.outputs[NETWORK], calibration.labels >= 0
    temperature = Temperature()
    temperature.fit(calibration, calibration)
    estimators: dict[str, Estimator] = {ATC: Atc()}
    estimators |= {OWN_CBPE: OwnCbpe()} if own_cbpe else {CBPE: NannyCbpe()}
    for estimator in estimators.values():
        estimator.fit(softmax(outputs["logits"])[known], calibration.labels[known])
    profile = quiet_fit(unlabelled_stream(calibration))
    return FittedScores(calibration, profile, temperature, estimators)


def unlabelled_stream(run: ScenarioRun) -> Stream:
    """Return the base network's stream without its labels."""
    outputs = run.outputs[NETWORK]
    return Stream(outputs["logits"], outputs["features"], kind="logits", starts=run.starts)


def saved_figures(task: str, kind: Kind, seed: int, *, own_cbpe: bool) -> Figures:
    """Return the figures of one network, from the cache if the same code computed them before."""
    modules = [Path(__file__), Path(accuracy_estimates.__file__)]
    identity = [load_variant(task, NETWORK, seed).sha256, str(own_cbpe), *map(code_sha256, modules)]
    digest = hashlib.sha256(" ".join(identity).encode()).hexdigest()[:24]
    at = cache_root() / "failures" / f"{task}-{kind}-{seed}-{digest}.json"
    if not at.is_file():
        print(f"{task} {kind} seed {seed}", file=sys.stderr, flush=True)
        with write_entry(at) as file:
            file.write(json.dumps(figures_of(task, kind, seed, own_cbpe=own_cbpe)).encode())
    figures: Figures = json.loads(at.read_text("utf-8"))
    return figures


def figures_of(task: str, kind: Kind, seed: int, *, own_cbpe: bool) -> Figures:
    """Return the figures of one network on one kind of stream, in JSON types."""
    fitted = fit_scores(run_scenario(task, "calibration", kind, seed), own_cbpe=own_cbpe)
    clean = fitted.score(run_scenario(task, "in_distribution", kind, seed))
    drop = fitted.score(run_scenario(task, "drop", kind, seed))
    figures = {
        "failures": {name: failure_difference(clean, name) for name in BASELINES},
        "cells": list(cells(drop)),
        "drops": drop_figures(drop, fitted.calibration),
        **estimate_figures(drop, fitted.estimators),
    }
    if task not in WITHOUT_OOD:
        ood = fitted.score(run_scenario(task, "ood", kind, seed))
        figures["ood"] = {
            "novelty": ood_auroc(
                ood.run, Prediction(ood.posteriors, ood.trace.risk, ood.trace.novelty)
            ),
            "max_prob": ood_auroc(ood.run, Prediction(ood.posteriors, ood.doubts["max_prob"])),
        }
    return figures


def failure_difference(scored: ScoredRun, baseline: str) -> Figures:
    """Return both failure AUROCs and their difference in resampled streams of blocks."""
    known = scored.known
    wrong, ours = scored.wrong[known], scored.trace.risk[known]
    other = scored.doubts[baseline][known]
    measures = resampled_auroc(wrong, ours), resampled_auroc(wrong, other)
    resampled: list[float] = []

    def difference(chosen: Ints) -> float:
        resampled.append(measures[0](chosen) - measures[1](chosen))
        return resampled[-1]

    block = int(BLOCK_TIMES * autocorrelation_time([ours]))
    block_interval(difference, len(wrong), block, ROUNDS, np.random.default_rng(0))
    return {"ours": auroc(wrong, ours), "other": auroc(wrong, other), "resampled": resampled}


def resampled_auroc(event: Bools, score: Floats) -> Callable[[Ints], float]:
    """Return the AUROC as a function of the chosen steps; the score is sorted once for all."""
    order = np.argsort(score)
    first = np.unique(score[order], return_index=True)[1]
    events, others = event[order], ~event[order]

    def value(chosen: Ints) -> float:
        counts = np.bincount(chosen, minlength=len(score))[order]
        positive = np.add.reduceat(counts * events, first)
        negative = np.add.reduceat(counts * others, first)
        pairs = int(positive.sum()) * int(negative.sum())
        below = np.cumsum(negative) - negative / 2
        return float(positive @ below / pairs) if pairs else math.nan

    return value


def cells(scored: ScoredRun) -> Iterator[Figures]:
    """Yield the ratio of areas under risk-coverage, by condition, with clean steps and without."""
    run, wrong = scored.run, scored.wrong
    for number, condition in enumerate(run.conditions):
        half = scored.known & (run.condition == number)
        whole = half & run.shifted
        right = 1 - float(wrong[whole].mean())
        for form, at in (("whole", whole), ("half", half)):
            if wrong[at].sum() >= MIN_EVENTS:
                ours, other = (
                    area_under_risk_coverage(wrong[at], doubt[at])
                    for doubt in (scored.trace.risk, scored.doubts["max_prob"])
                )
                yield {"condition": condition, "form": form, "right": right, "ratio": ours / other}


def drop_figures(scored: ScoredRun, calibration: ScenarioRun) -> Figures:
    """Return the mean accuracy-drop AUPRC of the expected error and of the baseline."""
    reference = accuracy_reference(calibration)
    doubts = {OURS: scored.trace.expected_error, "max_prob": scored.doubts["max_prob"]}
    return {
        name: mean_of(drop_auprc(scored.run, Prediction(scored.posteriors, doubt), reference))
        for name, doubt in doubts.items()
    }


def estimate_figures(scored: ScoredRun, estimators: Mapping[str, Estimator]) -> Figures:
    """Return each estimate's mean error on shifted steps, and its rank correlation by window."""
    chances = {OURS: 1 - scored.trace.expected_error}
    chances |= {name: each.chance_of_right(scored.posteriors) for name, each in estimators.items()}
    return {
        "estimate errors": {name: estimate_error(scored, each) for name, each in chances.items()},
        "rank correlation": {
            name: rank_correlation(scored, each) for name, each in chances.items()
        },
    }


def estimate_error(scored: ScoredRun, chance: Floats) -> float:
    """Return the mean over conditions of |estimated - true accuracy| on shifted steps."""
    run, right = scored.run, ~scored.wrong
    shifted = scored.known & run.shifted
    errors = []
    for number in range(len(run.conditions)):
        at = shifted & (run.condition == number)
        errors.append(abs(float(chance[at].mean() - right[at].mean())))
    return float(np.mean(errors))


def rank_correlation(scored: ScoredRun, chance: Floats) -> float:
    """Return Spearman's correlation of estimated and true accuracy over windows."""
    run, known = scored.run, scored.known
    right = (~scored.wrong).astype(np.float64)
    truth, estimate = (moving_mean(v, known, run.starts, WINDOW) for v in (right, chance))
    at = np.isfinite(truth) & (np.arange(len(run)) % EVERY == EVERY - 1)
    return float(spearmanr(truth[at], estimate[at]).statistic)
