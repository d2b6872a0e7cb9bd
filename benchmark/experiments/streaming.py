# SPDX-License-Identifier: Apache-2.0
"""What threshold and budget do on coherent streams: kept rates at home, and what a shift shows."""

import sys
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmark.experiments.crew import looked_at, seeds_of
from benchmark.experiments.detection import networks_of
from benchmark.experiments.result import Row
from benchmark.scores.monitors import Monitored
from benchmark.scores.table import OURS
from benchmark.seen import Seen
from tcuq import Monitor, Outcome, Trace
from tcuq.evaluate.measures import auprc, auroc, worst_window_rate

ALPHAS = (0.05, 0.1, 0.2)
BUDGET, WINDOW = 0.15, 1000
WARMUPS = (0, 64)
HARSH = 4  # severities from here on; natural drift has none and counts whole


def streaming(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows by score, mode, alpha and warm-up."""
    rows: list[Row] = []
    for seed in seeds_of(task):
        calibration, development, at_home, away = (
            looked_at(task, name, "coherent", seed, ("base",))
            for name in ("calibration", "development", "identity", "drop")
        )
        for name in ("tcuq", "anchored", "recommended"):
            print(f"{task} seed {seed}: {name}", file=sys.stderr)
            held = {"score": "tcuq"} if name == "tcuq" else _options(name)
            for mode, alpha, warmup in product(("guarded", "adaptive"), ALPHAS, WARMUPS):
                if mode == "guarded" and warmup:
                    continue
                options = held | {"mode": mode, "alpha": alpha, "warmup": warmup, "budget": BUDGET}
                score = Monitored(options, labelled=name == "tcuq")
                score.fit(calibration, development)
                about = {"score": name, "seed": seed, "mode": mode, "alpha": alpha}
                rows.append(about | {"warmup": warmup} | _kept(score, alpha, at_home, away))
    return rows, networks_of(task, {"tcuq": OURS["tcuq"]})


def _options(name: str) -> dict[str, object]:
    score = OURS[name].make()
    return dict(score.options) if isinstance(score, Monitored) else {}


def _kept(score: Monitored, alpha: float, at_home: Seen, away: Seen) -> dict[str, float]:
    home = Monitor(score.profile()).run(at_home.stream("base"))
    device = Monitor(score.profile()).run(at_home.stream("base"))
    shifted = Monitor(score.profile()).run(away.stream("base"))
    harsh = away.shifted & ((away.severity >= HARSH) | (away.severity == 0))
    known, labelled = at_home.labels >= 0, harsh & (away.labels >= 0)
    wrong = (home.label != at_home.labels)[known]
    device_wrong = (device.label != at_home.labels)[known]
    return {
        "exceedance deviation": abs(float(home.exceeded.mean()) - alpha),
        "first 500 steps": float(home.exceeded[:500].mean()),
        "worst window": worst_window_rate(home.exceeded, min(WINDOW, len(home))),
        "abstained": float((home.outcome == Outcome.ABSTAIN).mean()),
        "worst window abstained": worst_window_rate(
            home.outcome == Outcome.ABSTAIN, min(WINDOW, len(home))
        ),
        "requests, harsh shift": float((shifted.outcome != Outcome.ACCEPT)[harsh].mean()),
        "error among accepted, harsh shift": _error(away, shifted, labelled),
        "error, harsh shift": float((shifted.label != away.labels)[labelled].mean()),
        "device differs in label or outcome": float(
            ((device.outcome != home.outcome) | (device.label != home.label)).mean()
        ),
        "failure AUROC": auroc(wrong, home.risk[known]),
        "failure AUROC, device": auroc(device_wrong, device.risk[known]),
        "failure AUPRC": auprc(wrong, home.risk[known]),
        "failure AUPRC, device": auprc(device_wrong, device.risk[known]),
    }


def _error(seen: Seen, trace: Trace, at: NDArray[np.bool_]) -> float:
    """Error where the monitor did not ask to abstain, whether the budget let it or not."""
    accepted = at & (trace.outcome == Outcome.ACCEPT)
    return float((trace.label != seen.labels)[accepted].mean()) if accepted.any() else float("nan")
