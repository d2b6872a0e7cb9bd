# SPDX-License-Identifier: Apache-2.0
"""Fitted on one kind of stream and run on the other; and run on corruptions never fitted on."""

import sys
from itertools import product

import numpy as np

from benchmark.experiments.crew import looked_at, seeds_of
from benchmark.experiments.detection import drop_worth, networks_of
from benchmark.experiments.result import Row
from benchmark.scenes.scene import KINDS, Kind, Name
from benchmark.scores.table import SCORES
from benchmark.seen import Seen

NAMES = (
    "max_prob", "tcuq", "tcuq monotone", "anchored", "NL", "recommended", "recommended labelled",
)  # fmt: skip


def transfer(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows by score, seed, what it was fitted on and what it was run on."""
    entries = {name: SCORES[name] for name in NAMES}
    rows: list[Row] = []
    for seed in seeds_of(task):
        fitted = {kind: _learned_from(task, kind, seed) for kind in KINDS}
        run = {kind: looked_at(task, "drop", kind, seed, ("base",)) for kind in KINDS}
        for name, entry in entries.items():
            print(f"{task} seed {seed}: {name}", file=sys.stderr)
            for one, other in product(KINDS, KINDS):
                score = entry.make()
                score.fit(*fitted[one])
                found = {"score": name, "seed": seed, "fitted": one, "run": other}
                worth = drop_worth(score, fitted[other][0], run[other])
                rows.append(found | {"drop AUPRC": worth})
            calibration, development = fitted["coherent"]
            away = run["coherent"]
            halves = []
            for parity in (0, 1):
                score = entry.make()
                score.fit(calibration, _half(development, parity))
                halves.append(drop_worth(score, calibration, _half(away, 1 - parity)))
            found = {"score": name, "seed": seed, "fitted": "other corruptions", "run": "coherent"}
            rows.append(found | {"drop AUPRC": float(np.mean(halves))})
    return rows, networks_of(task, entries)


def _learned_from(task: str, kind: Kind, seed: int) -> tuple[Seen, Seen]:
    names: tuple[Name, Name] = ("calibration", "development")
    calibration, development = (looked_at(task, name, kind, seed, ("base",)) for name in names)
    return calibration, development


def _half(seen: Seen, parity: int) -> Seen:
    """Every other scenario; all of them where there is only one."""
    return seen if len(seen.scenarios) == 1 else seen.where(seen.scenario % 2 == parity)
