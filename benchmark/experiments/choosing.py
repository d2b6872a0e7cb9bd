# SPDX-License-Identifier: Apache-2.0
"""Candidates for the default score, on development samples alone (docs/decisions/0008)."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmark.experiments.crew import looked_at, seeds_of
from benchmark.experiments.detection import networks_of, worth
from benchmark.experiments.result import Row
from benchmark.scores.monitors import Monitored, five_terms
from benchmark.scores.table import ANCHORED, OURS, SINGLE_PASS, Entry, H, M, N
from tcuq import TermPlan

if TYPE_CHECKING:
    from benchmark.scenes.scene import Kind, Name
    from benchmark.seen import Seen

LAYERS = {"an earlier layer": ("early",), "both layers": ("features", "early")}
# Sets that were explored before anything was frozen: their other things may be looked at, too.
EXPLORED = frozenset({"mnist", "fashion_mnist", "hapt"})
LISTS: Mapping[str, tuple[TermPlan, ...]] = {
    "anchored": ANCHORED,
    "N": N,
    "H": H,
    "M": M,
    "R": five_terms(0.5, 0.5, 0.5, 0.5, novelty_cap=12.0),
    "R1": five_terms(1.0, 0.5, 0.5, 0.5, novelty_cap=12.0),
    "R flips": five_terms(0.5, 0.5, 0.5, 1.0, novelty_cap=12.0),
}
LABELLED = ("anchored", "R")


def candidates() -> dict[str, Entry]:
    """Every list of terms; some with weights fitted on labels, and on an earlier layer, too."""
    found = {name: SINGLE_PASS[name] for name in ("max_prob", "margin", "entropy", "energy")}
    found["tcuq"] = OURS["tcuq"]
    found |= {name: _entry(terms) for name, terms in LISTS.items()}
    found |= {f"{name} labelled": _entry(LISTS[name], labelled=True) for name in LABELLED}
    found |= {f"R, {name}": _entry(LISTS["R"], layers) for name, layers in LAYERS.items()}
    return found


def _entry(
    terms: tuple[TermPlan, ...], layers: tuple[str, ...] = ("features",), *, labelled: bool = False
) -> Entry:
    options = {"terms": terms}
    return Entry(lambda: Monitored(options, labelled=labelled, layers=layers), labels=labelled)


def choosing(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows by candidate and seed, coherent streams: what the rule looks at."""
    rows: list[Row] = []
    entries = candidates()
    kind: Kind = "coherent"
    for seed in seeds_of(task):
        wanted: tuple[Name, ...] = ("calibration", "development", "rehearsal")
        scenes = {name: looked_at(task, name, kind, seed, ("base",)) for name in wanted}
        rehearsal = scenes["rehearsal"]
        judged: dict[Name, Seen] = {
            "calibration": scenes["calibration"],
            "development": scenes["development"],
            "identity": rehearsal.where(~rehearsal.shifted),
            "drop": rehearsal,
        }
        if task in EXPLORED:
            judged["ood"] = looked_at(task, "ood", kind, seed, ("base",))
        for name, entry in entries.items():
            print(f"{task} {kind} seed {seed}: {name}", file=sys.stderr)
            rows.append({"score": name, "kind": kind, "seed": seed} | worth(task, entry, judged))
    return rows, networks_of(task, entries)
