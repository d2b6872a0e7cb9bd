# SPDX-License-Identifier: Apache-2.0
"""Every score on every scene of a task: accuracy drops, failures, other things, probabilities."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmark.experiments import measures
from benchmark.experiments.crew import crew, looked_at, seeds_of
from benchmark.experiments.result import Row
from benchmark.scenes.scene import KINDS, Kind, Name
from benchmark.scenes.tasks import WITHOUT_OTHERS
from benchmark.scores.score import Score
from benchmark.scores.table import SCORES, Entry
from benchmark.seen import Seen

SEVERITIES_OF = {"cifar10": (1, 2, 3, 4, 5), "speech": (1, 2, 3, 4, 5)}
SCENES: tuple[Name, ...] = ("calibration", "development", "identity", "drop", "ood")
JUDGED_ON = SCENES[2:]
# Networks whose scores learn nothing from calibration: they need not look at it.
JUDGED_ONLY = frozenset({"members", "exits", "exits-light", "hydra", "dropout", "postnet", "odin"})


def detection(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows by score, kind of stream and seed; and the networks behind them."""
    rows: list[Row] = []
    for kind in KINDS:
        for seed in seeds_of(task):
            rows += judged_rows(task, kind, seed, SCORES)
    return rows, networks_of(task, SCORES)


def available(task: str, entry: Entry, seed: int) -> bool:
    """Whether the networks that a score needs are trained for this task and seed."""
    try:
        crew(task, entry.networks, seed)
    except FileNotFoundError:
        return False
    return True


def networks_of(task: str, entries: Mapping[str, Entry]) -> dict[str, str]:
    """The hashes of the weights that take part."""
    return {
        f"{found.variant}-{found.seed}": found.sha256
        for seed in seeds_of(task)
        for entry in entries.values()
        if available(task, entry, seed)
        for found in crew(task, entry.networks, seed).values()
    }


def judged_rows(task: str, kind: Kind, seed: int, scores: Mapping[str, Entry]) -> Iterator[Row]:
    """One seed on one kind of stream, every score whose networks are there."""
    entries = {name: entry for name, entry in scores.items() if available(task, entry, seed)}
    variants = sorted({variant for entry in entries.values() for variant in entry.networks})
    learned_from = ["base", *(v for v in variants if v not in JUDGED_ONLY and v != "base")]
    scenes: dict[Name, Seen] = {}
    for name in SCENES:
        if name != "ood" or task not in WITHOUT_OTHERS:
            wanted = variants if name in JUDGED_ON else learned_from
            scenes[name] = looked_at(task, name, kind, seed, wanted)
    for score, entry in entries.items():
        print(f"{task} {kind} seed {seed}: {score}", file=sys.stderr)
        yield {"score": score, "kind": kind, "seed": seed} | worth(task, entry, scenes)


def worth(task: str, entry: Entry, scenes: Mapping[Name, Seen]) -> dict[str, Any]:
    """All measures of one score."""
    score = entry.make()
    score.fit(scenes["calibration"], scenes["development"])
    at_home = score.judge(scenes["identity"])
    away = score.judge(scenes["drop"])
    ordinary = measures.usual(scenes["calibration"])
    drops = measures.drop_auprc(scenes["drop"], away, ordinary)
    found: dict[str, Any] = {
        "drop AUPRC": _mean(drops),
        "failure AUROC": measures.failure_auroc(scenes["identity"], at_home),
        "shifted failure AUROC": measures.failure_auroc(scenes["drop"], away),
        "risk-coverage area": measures.failure_area(scenes["drop"], away),
    }
    if "ood" in scenes:
        found["OOD AUROC"] = measures.other_auroc(scenes["ood"], score.judge(scenes["ood"]))
    found["probabilities"] = measures.probabilities(scenes["identity"], at_home)
    found["drop AUPRC by scenario"] = drops
    if task in SEVERITIES_OF:
        found["drop AUPRC by severity"] = {
            str(level): _mean(measures.drop_auprc(scenes["drop"], away, ordinary, level))
            for level in SEVERITIES_OF[task]
        }
    return found


def drop_worth(score: Score, calibration: Seen, away: Seen) -> float:
    """Mean accuracy-drop AUPRC of a fitted score."""
    ordinary = measures.usual(calibration)
    return _mean(measures.drop_auprc(away, score.judge(away), ordinary))


def _mean(values: Mapping[str, float]) -> float:
    """Over the scenarios in which accuracy dropped at all."""
    found = [value for value in values.values() if np.isfinite(value)]
    return float(np.mean(found)) if found else float("nan")
