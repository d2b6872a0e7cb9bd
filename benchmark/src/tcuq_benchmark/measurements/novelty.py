# SPDX-License-Identifier: Apache-2.0
"""Novelty for out-of-distribution samples, beside risk, max-prob and Mahalanobis, on every set.

The test scenarios of the benchmark, base networks: clean steps, then steps of another set; and the
same samples with each out-of-distribution step alone among clean ones.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from results.result import Row, measure
from tcuq_benchmark.experiments.measures import ood_auroc
from tcuq_benchmark.experiments.variants import run_scenarios, trained_seeds
from tcuq_benchmark.measurements.labelled import mean_interval
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scenarios.scenario import KINDS, Kind
from tcuq_benchmark.scenarios.tasks import FACTORIES, WITHOUT_OOD
from tcuq_benchmark.scores.table import SCORES

TASKS = tuple(task for task in FACTORIES if task not in WITHOUT_OOD)
BASELINES = ("max_prob", "mahalanobis")
METHODS = ("novelty", "risk", *BASELINES)
LEAST, SLACK = 0.93, 0.01
CLEAN_STEPS = 9  # between two out-of-distribution steps that come alone

Figures = Mapping[str, NDArray[np.float64]]  # by method, one per seed


def alone(run: ScenarioRun) -> ScenarioRun:
    """Return the clean steps in order, with one out-of-distribution step after every nine."""
    clean, shifted = np.flatnonzero(~run.shifted), np.flatnonzero(run.shifted)
    count = min(len(clean) // CLEAN_STEPS, len(shifted))
    rows = clean[: count * CLEAN_STEPS].reshape(count, CLEAN_STEPS)
    return run.take(np.column_stack([rows, shifted[:count]]).ravel(), np.zeros(1, np.int64))


def aurocs(task: str, kind: Kind, seed: int) -> list[dict[str, float]]:
    """Return the AUROC by method, for OOD steps in a stretch and for single ones."""
    calibration, whole = run_scenarios(task, ("calibration", "ood"), kind, seed)
    print(f"{task} {kind} seed {seed}", file=sys.stderr)
    rows: list[dict[str, float]] = []
    scores = {name: SCORES[name].make() for name in ("recommended", *BASELINES)}
    for score in scores.values():
        score.fit(calibration, calibration)  # none of them reads development
    for run in (whole, alone(whole)):
        values = {name: ood_auroc(run, scores[name].predict(run)) for name in BASELINES}
        ours = scores["recommended"].predict(run)
        values["novelty"] = ood_auroc(run, ours)
        values["risk"] = ood_auroc(run, replace(ours, novelty=None))
        rows.append(values)
    return rows


def by_method(rows: Sequence[Mapping[str, float]]) -> Figures:
    """Return one array per method from one row per seed."""
    return {name: np.array([row[name] for row in rows]) for name in METHODS}


def half_width(values: Sequence[NDArray[np.float64]]) -> float:
    """Return half of the 95 % interval of the mean of sets."""
    centre, _, high = mean_interval(values)
    return high - centre


def set_rows(kind: Kind, figures: Mapping[str, Figures]) -> Iterator[Row]:
    """Yield each set's AUROC, which on coherent streams must not be below the better baseline's."""
    for task, of in figures.items():
        better = max(BASELINES, key=lambda name: of[name].mean())
        ahead = of["novelty"] - of[better]
        others = ", ".join(f"{name} {of[name].mean():.3f}" for name in METHODS[1:])
        yield Row(
            f"OOD AUROC of novelty, {kind}, {task}",
            f"≥ {better} − {SLACK:.2f}" if kind == "coherent" else "stated",
            f"{of['novelty'].mean():.3f} ({others}); ahead of {better} by"
            f" {ahead.mean():+.3f} ± {half_width([ahead]):.3f}",
            bool(ahead.mean() >= -SLACK) if kind == "coherent" else None,
        )


def mean_row(what: str, figures: Mapping[str, Figures], *, least: float | None) -> Row:
    """Return the mean of sets of every method."""
    means = {name: float(np.mean([of[name].mean() for of in figures.values()])) for name in METHODS}
    ahead = [of["novelty"] - of["risk"] for of in figures.values()]
    gain = float(np.mean([values.mean() for values in ahead]))
    others = ", ".join(f"{name} {means[name]:.3f}" for name in METHODS[1:])
    spread = half_width([of["novelty"] for of in figures.values()])
    return Row(
        what,
        "stated" if least is None else f"≥ {least}",
        f"{means['novelty']:.3f} ± {spread:.3f} ({others}); ahead of risk by"
        f" {gain:+.3f} ± {half_width(ahead):.3f}",
        None if least is None else means["novelty"] >= least,
    )


def rows(short: bool) -> Iterator[Row]:
    """Yield the AUROC of novelty on both kinds of stream."""
    for kind in KINDS[::-1]:
        stretch: dict[str, Figures] = {}
        single: dict[str, Figures] = {}
        for task in TASKS[:1] if short else TASKS:
            seeds = trained_seeds(task)[: 2 if short else None]
            values = [aurocs(task, kind, seed) for seed in seeds]
            stretch[task], single[task] = (by_method(part) for part in zip(*values, strict=True))
        least = LEAST if kind == "coherent" else None
        yield mean_row(f"OOD AUROC of novelty, {kind}, mean of sets", stretch, least=least)
        yield from set_rows(kind, stretch)
        what = f"OOD AUROC of novelty, {kind}, OOD steps that come alone, mean of sets"
        yield mean_row(what, single, least=None)


if __name__ == "__main__":
    measure("novelty", rows, ("scikit-learn", "scipy"))
