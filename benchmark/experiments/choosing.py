# SPDX-License-Identifier: Apache-2.0
"""Candidates for the default score, on development samples and the sets that were explored.

The rules and the choices: docs/decisions/0008 and 0018.
"""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchmark.experiments.crew import looked_at, seeds_of
from benchmark.experiments.detection import networks_of, worth
from benchmark.experiments.result import Row
from benchmark.scores.monitors import DOUBT, ODDS, Monitored, five_terms
from benchmark.scores.table import ANCHORED, OURS, R1, SINGLE_PASS, Entry, H, M, N
from tcuq import Options, TermPlan

if TYPE_CHECKING:
    from benchmark.scenes.scene import Kind, Name
    from benchmark.seen import Seen

LAYERS = {"an earlier layer": ("early",), "both layers": ("features", "early")}
# Sets that were explored before anything was frozen: their test samples and other things may be
# looked at, too.
EXPLORED = frozenset({"mnist", "fashion_mnist", "hapt"})
# Doubt, novelty and flips; and features that stand still.
THREE = (
    DOUBT,
    TermPlan("novelty", dead=4.0, cap=12.0),
    TermPlan("inconsistency", cap=8.0, weight=0.5),
)
STILL = TermPlan("instability", tail="lower", ewma=5, cap=4.0, weight=0.3)
LISTS: Mapping[str, tuple[TermPlan, ...]] = {
    "anchored": ANCHORED,
    "N": N,
    "H": H,
    "M": M,
    "R": five_terms(0.5, 0.5, 0.5, 0.5, novelty_cap=12.0),
    "R1": R1,
    "R flips": five_terms(0.5, 0.5, 0.5, 1.0, novelty_cap=12.0),
    "three": THREE,
    "still": (*THREE, STILL),
    "still, lasting": (*THREE, STILL, TermPlan("novelty", ewma=5, dead=6.0, cap=10.0, weight=0.2)),
    "still, flipping": (*THREE, STILL, TermPlan("inconsistency", ewma=5, dead=3.0, cap=5.0)),
}
SIX = Options().terms
# Doubt as the classifier's own odds of being wrong; decision 0018.
ODDS_LISTS: Mapping[str, tuple[TermPlan, ...]] = {
    "R1, odds": five_terms(1.0, 0.5, 0.5, 0.5, novelty_cap=12.0, doubt=ODDS),
    "three, odds": (ODDS, *THREE[1:]),
    "still, odds": (ODDS, *THREE[1:], STILL),
    "still, lasting, odds": (ODDS, *LISTS["still, lasting"][1:]),
    "six": SIX,
    "six, not for a while": tuple(t for t in SIX if (t.tail, t.ewma) != ("upper", 4)),
    "six and still": (*SIX, STILL),
}
LABELLED = ("anchored", "R", "three", "still", "still, lasting", "still, flipping")


def candidates() -> dict[str, Entry]:
    """Every list of terms; some with weights fitted on labels, and on an earlier layer, too."""
    found = {name: SINGLE_PASS[name] for name in ("max_prob", "margin", "entropy", "energy")}
    found["tcuq"] = OURS["tcuq"]
    found |= {name: _entry(terms) for name, terms in LISTS.items()}
    found |= {f"{name} labelled": _entry(LISTS[name], labelled=True) for name in LABELLED}
    for name, terms in ODDS_LISTS.items():
        found[name] = _entry(terms)
        found[f"{name} labelled"] = _entry(terms, labelled=True)
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
        if task in EXPLORED:
            wanted += ("identity", "drop", "ood")
        scenes = {name: looked_at(task, name, kind, seed, ("base",)) for name in wanted}
        rehearsal = scenes["rehearsal"]
        judged: dict[Name, Seen] = {
            "calibration": scenes["calibration"],
            "development": scenes["development"],
            "identity": rehearsal.where(~rehearsal.shifted),
            "drop": rehearsal,
        }
        for name, entry in entries.items():
            print(f"{task} {kind} seed {seed}: {name}", file=sys.stderr)
            said: Row = {"score": name, "kind": kind, "seed": seed}
            rows.append(said | {"samples": "development"} | worth(task, entry, judged))
            if task in EXPLORED:
                rows.append(said | {"samples": "test"} | worth(task, entry, scenes))
    return rows, networks_of(task, entries)
