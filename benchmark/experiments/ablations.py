# SPDX-License-Identifier: Apache-2.0
"""Ablations of the paper's score: signals, mix, blend, lags, combiner, threshold, assistance."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchmark.experiments.detection import is_available, mean_drop_auprc, network_hashes
from benchmark.experiments.result import Row
from benchmark.experiments.variants import run_scenario, trained_seeds
from benchmark.scenario_run import ScenarioRun
from benchmark.scores.monitors import MonitorScore
from benchmark.scores.score import Prediction
from benchmark.scores.table import Entry
from tcuq import Monitor, Outcome

SIGNALS = ("divergence", "instability", "inconsistency", "doubt")
TEMPORAL = SIGNALS[:3]


@dataclass(slots=True)
class ReweightedScore:
    """The paper's score with some fitted weights replaced."""

    weights: Mapping[str, float]
    fitted_: MonitorScore = field(
        default_factory=lambda: MonitorScore({"score": "tcuq"}, labelled=True), init=False
    )

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit, then replace the weights."""
        self.fitted_.fit(calibration, development)
        profile = self.fitted_.profile()
        score: Any = profile.score
        changed = replace(score, weights=replace(score.weights, **self.weights))
        self.fitted_.profile_ = replace(profile, score=changed)

    def predict(self, run: ScenarioRun) -> Prediction:
        """Predict with the changed profile."""
        return self.fitted_.predict(run)


@dataclass(slots=True)
class AbstentionRequests:
    """Abstention requests as a risk: the part of the score that the caller sees."""

    mode: str
    fitted_: MonitorScore = field(init=False)

    def __post_init__(self) -> None:
        self.fitted_ = MonitorScore({"score": "tcuq", "mode": self.mode}, labelled=True)

    def fit(self, calibration: ScenarioRun, development: ScenarioRun) -> None:
        """Fit the paper's score in this mode."""
        self.fitted_.fit(calibration, development)

    def predict(self, run: ScenarioRun) -> Prediction:
        """1 where the monitor would abstain if the budget allowed."""
        trace = Monitor(self.fitted_.profile()).run(run.stream("base"))
        requests = (trace.outcome != Outcome.ACCEPT).astype(float)
        return Prediction(self.fitted_.predict(run).probabilities, requests)


def _weighted(weight: float, *names: str) -> Entry:
    return Entry(lambda: ReweightedScore(dict.fromkeys(names, weight)))


def _tcuq(network: str = "base", **options: object) -> Entry:
    chosen = {"score": "tcuq", **options}
    return Entry(lambda: MonitorScore(chosen, labelled=True, network=network), (network,))


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
    "abstention requests, adaptive threshold": Entry(lambda: AbstentionRequests("adaptive")),
    "abstention requests, frozen threshold": Entry(lambda: AbstentionRequests("guarded")),
    "temporal assistance": _tcuq("assisted"),
    **{f"temporal assistance, {k} exits": _tcuq(f"assisted-k{k}") for k in (2, 4, 6, 8, 10)},
    "temporal assistance, wide": _tcuq("wide"),
}


def ablations(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows by variant and seed, coherent streams."""
    rows: list[Row] = []
    for seed in trained_seeds(task):
        entries = {
            name: entry for name, entry in ABLATIONS.items() if is_available(task, entry, seed)
        }
        variants = sorted({network for entry in entries.values() for network in entry.networks})
        calibration, development, drop = (
            run_scenario(task, name, "coherent", seed, variants)
            for name in ("calibration", "development", "drop")
        )
        for name, entry in entries.items():
            print(f"{task} seed {seed}: {name}", file=sys.stderr)
            score = entry.make()
            score.fit(calibration, development)
            auprc = mean_drop_auprc(score, calibration, drop)
            rows.append({"variant": name, "seed": seed, "drop AUPRC": auprc})
    return rows, network_hashes(task, ABLATIONS)
