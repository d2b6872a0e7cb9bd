# SPDX-License-Identifier: Apache-2.0
"""The paper's choices one at a time: signals, mix, blend, lags, combiner, threshold, assistance."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchmark.experiments.crew import looked_at, seeds_of
from benchmark.experiments.detection import available, drop_worth, networks_of
from benchmark.experiments.result import Row
from benchmark.scores.monitors import Monitored
from benchmark.scores.score import Judged
from benchmark.scores.table import Entry
from benchmark.seen import Seen
from tcuq import Monitor, Outcome

SIGNALS = ("divergence", "instability", "inconsistency", "doubt")
TEMPORAL = SIGNALS[:3]


@dataclass(slots=True)
class Edited:
    """The paper's score with its fitted combiner changed by hand."""

    weights: Mapping[str, float]
    fitted_: Monitored = field(
        default_factory=lambda: Monitored({"score": "tcuq"}, labelled=True), init=False
    )

    def fit(self, calibration: Seen, development: Seen) -> None:
        """Fit, then change."""
        self.fitted_.fit(calibration, development)
        profile = self.fitted_.profile()
        score: Any = profile.score
        changed = replace(score, weights=replace(score.weights, **self.weights))
        self.fitted_.profile_ = replace(profile, score=changed)

    def judge(self, seen: Seen) -> Judged:
        """As the changed profile does."""
        return self.fitted_.judge(seen)


@dataclass(slots=True)
class Requests:
    """Requests to abstain as a risk: what the threshold lets the caller see of the score."""

    mode: str
    fitted_: Monitored = field(init=False)

    def __post_init__(self) -> None:
        self.fitted_ = Monitored({"score": "tcuq", "mode": self.mode}, labelled=True)

    def fit(self, calibration: Seen, development: Seen) -> None:
        """As a user would."""
        self.fitted_.fit(calibration, development)

    def judge(self, seen: Seen) -> Judged:
        """1 where the monitor would abstain if the budget allowed."""
        trace = Monitor(self.fitted_.profile()).run(seen.stream("base"))
        asked = (trace.outcome != Outcome.ACCEPT).astype(float)
        return Judged(self.fitted_.judge(seen).probabilities, asked)


def _weighted(weight: float, *names: str) -> Entry:
    return Entry(lambda: Edited(dict.fromkeys(names, weight)))


def _tcuq(network: str = "base", **options: object) -> Entry:
    held = {"score": "tcuq", **options}
    return Entry(lambda: Monitored(held, labelled=True, network=network), (network,))


ABLATIONS: Mapping[str, Entry] = {
    "tcuq": _tcuq(),
    **{f"without {name}": _weighted(0.0, name) for name in SIGNALS},
    "without any temporal signal": _weighted(0.0, *TEMPORAL),
    "combiner frozen at equal weights": _weighted(1.0, *SIGNALS),
    **{f"mix {mix}": _tcuq(mix=mix) for mix in (0.0, 0.3, 0.5, 0.9, 1.0)},
    **{f"blend {blend}": _tcuq(blend=blend) for blend in (0.0, 1.0)},
    **{
        f"lags {', '.join(map(str, lags))}": _tcuq(lags=lags)
        for lags in ((1,), (1, 2), (1, 2, 4, 8), (1, 2, 4, 8, 16), (4,), (16,))
    },
    "requests, adaptive threshold": Entry(lambda: Requests("adaptive")),
    "requests, frozen threshold": Entry(lambda: Requests("guarded")),
    "temporal assistance": _tcuq("assisted"),
    **{f"temporal assistance, {k} exits": _tcuq(f"assisted-k{k}") for k in (2, 4, 6, 8, 10)},
    "temporal assistance, wide": _tcuq("wide"),
}


def ablations(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows by variant and seed, coherent streams."""
    rows: list[Row] = []
    for seed in seeds_of(task):
        entries = {name: entry for name, entry in ABLATIONS.items() if available(task, entry, seed)}
        variants = sorted({network for entry in entries.values() for network in entry.networks})
        calibration, development, away = (
            looked_at(task, name, "coherent", seed, variants)
            for name in ("calibration", "development", "drop")
        )
        for name, entry in entries.items():
            print(f"{task} seed {seed}: {name}", file=sys.stderr)
            score = entry.make()
            score.fit(calibration, development)
            worth = drop_worth(score, calibration, away)
            rows.append({"variant": name, "seed": seed, "drop AUPRC": worth})
    return rows, networks_of(task, ABLATIONS)
