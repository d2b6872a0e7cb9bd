# SPDX-License-Identifier: Apache-2.0
"""Comparisons of two scores, or of one with all others, from the committed results."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tcuq_benchmark.report.results import TITLES, by_condition
from tcuq_benchmark.report.verdict import (
    Comparison,
    Groups,
    Interval,
    Values,
    mean_over_sets,
    seed_differences,
    t_interval,
)

METHODS: Mapping[str, str] = {
    "BASE": "max_prob",
    "MCD": "dropout",
    "DEEP": "ensemble",
    "EE-ens": "exits",
    "G-ODIN": "odin",
    "HYDRA": "hydra",
}
TCUQ = "tcuq assisted"
LOWER_IS_BETTER = frozenset({"NLL", "Brier / classes", "ECE"})


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of an experiment's rows; `key` is the column that names a score or variant."""

    name: str
    kind: str | None = None
    experiment: str = "detection"
    key: str = "score"

    def values(self, task: str, score: str) -> Values:
        """Return a score's values by seed and condition."""
        where = {self.key: score} | ({} if self.kind is None else {"kind": self.kind})
        return by_condition(self.experiment, task, self.name, **where)

    @property
    def sign(self) -> int:
        """1 if higher is better."""
        return -1 if self.name.removeprefix("probabilities/") in LOWER_IS_BETTER else 1


def compare(
    task: str, measure: Measure, ours: str, theirs: str, *, name: str = "", least: float = 0.0
) -> Comparison:
    """Compare two scores on their common seeds and conditions."""
    one, other = (measure.values(task, score) for score in (ours, theirs))
    differences = seed_differences(one, other, measure.sign)
    shared = sorted(one.keys() & other.keys())
    if not shared:
        return Comparison(name, (), least)
    levels = [float(np.mean([side[at] for at in shared])) for side in (one, other)]
    return Comparison(name, differences, least, (levels[0], levels[1]))


def gain_over_sets(tasks: Iterable[str], ours: str, theirs: str) -> Interval:
    """Return the mean gain in accuracy-drop AUPRC over sets on coherent streams."""
    measure = Measure("drop AUPRC", "coherent")
    return mean_over_sets([compare(task, measure, ours, theirs).differences for task in tasks])


def gain_by_set(tasks: Iterable[str], ours: str, theirs: str) -> Interval:
    """Return the same gain with sets as the independent units, for other sets."""
    measure = Measure("drop AUPRC", "coherent")
    seeds = [compare(task, measure, ours, theirs).differences for task in tasks]
    return t_interval([float(np.mean(one)) for one in seeds])


def delays_against_all(tasks: Iterable[str], kind: str, ratio: float) -> Groups:
    """Compare log ratios of median delays: TCUQ's is at most `ratio` of each other method's."""
    measure = Measure("delay/median", kind)
    groups = {}
    for task in tasks:
        ours = measure.values(task, TCUQ)
        groups[TITLES[task]] = [
            _log_ratio(name, ours, measure.values(task, score), ratio)
            for name, score in METHODS.items()
        ]
    return groups


def _log_ratio(name: str, ours: Values, theirs: Values, ratio: float) -> Comparison:
    shared = sorted(ours.keys() & theirs.keys())
    logs = tuple(math.log(theirs[at] / ours[at]) for at in shared)
    levels = [float(np.mean([side[at] for at in shared])) for side in (ours, theirs) if shared]
    return Comparison(name, logs, -math.log(ratio), (levels[0], levels[1]) if shared else None)
