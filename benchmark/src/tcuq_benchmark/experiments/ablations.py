# SPDX-License-Identifier: Apache-2.0
"""Ablations of the paper's score: signals, mix, blend, lags, combiner, threshold, assistance."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from tcuq import Monitor, Outcome
from tcuq_benchmark.experiments.detection import available, mean_drop_auprc, network_hashes
from tcuq_benchmark.experiments.measures import probabilities
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.variants import run_scenario, run_scenarios, trained_seeds
from tcuq_benchmark.scenario_run import ScenarioRun
from tcuq_benchmark.scores.monitors import MonitorScore
from tcuq_benchmark.scores.refitted import SIGNALS, FrozenScore, RefittedScore
from tcuq_benchmark.scores.score import Prediction
from tcuq_benchmark.scores.table import Entry

TEMPORAL = SIGNALS[:3]
EXIT_COUNTS = (2, 4, 6, 8, 10)  # the paper's; `assisted` has one on most sets


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
        """Return 1 where the monitor would abstain if the budget allowed."""
        trace = Monitor(self.fitted_.profile()).run(run.stream("base"))
        requests = (trace.outcome != Outcome.ACCEPT).astype(float)
        return Prediction(self.fitted_.predict(run).probabilities, requests)


def _refitted(*without: str) -> Entry:
    names = tuple(name for name in SIGNALS if name not in without)
    return Entry(lambda: RefittedScore(names))


def _tcuq(network: str = "base", **options: object) -> Entry:
    chosen = {"score": "tcuq", **options}
    return Entry(lambda: MonitorScore(chosen, labelled=True, network=network), (network,))


ABLATIONS: Mapping[str, Entry] = {
    "tcuq": _tcuq(),
    **{f"without {name}": _refitted(name) for name in SIGNALS},
    "without any temporal signal": _refitted(*TEMPORAL),
    "combiner frozen at equal weights": Entry(FrozenScore),
    **{f"mix {mix}": _tcuq(mix=mix) for mix in (0.0, 0.3, 0.5, 0.9, 1.0)},
    **{f"blend {blend}": _tcuq(blend=blend) for blend in (0.0, 1.0)},
    **{
        f"lags {', '.join(map(str, lags))}": _tcuq(lags=lags)
        for lags in ((1,), (1, 2), (1, 2, 4, 8), (1, 2, 4, 8, 16), (4,), (16,))
    },
    "abstention requests, adaptive threshold": Entry(lambda: AbstentionRequests("adaptive")),
    "abstention requests, frozen threshold": Entry(lambda: AbstentionRequests("guarded")),
    "temporal assistance": _tcuq("assisted"),
    **{f"temporal assistance, {k} exits": _tcuq(f"assisted-k{k}") for k in EXIT_COUNTS},
    "temporal assistance, wide": _tcuq("wide"),
}


# Rows that also have accuracy and NLL in distribution: their networks differ.
TRAINED = ("tcuq", *(name for name in ABLATIONS if name.startswith("temporal assistance")))


def ablations(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Return rows by variant and seed on coherent streams; probabilities are of shuffled ones."""
    rows: list[ExperimentRow] = []
    for seed in trained_seeds(task):
        entries, variants = available(task, ABLATIONS, seed)
        calibration, development, drop = run_scenarios(
            task, ("calibration", "development", "drop"), "coherent", seed, variants
        )
        in_distribution = run_scenario(task, "in_distribution", "iid", seed, variants)
        for name, entry in entries.items():
            print(f"{task} seed {seed}: {name}", file=sys.stderr)
            score = entry.make()
            score.fit(calibration, development)
            row: ExperimentRow = {"variant": name, "seed": seed}
            row["drop AUPRC"] = mean_drop_auprc(score, calibration, drop)
            if name in TRAINED:
                shares = probabilities(in_distribution, score.predict(in_distribution))
                row |= {column: shares[column] for column in ("accuracy", "NLL")}
            rows.append(row)
    return rows, network_hashes(task, ABLATIONS)
