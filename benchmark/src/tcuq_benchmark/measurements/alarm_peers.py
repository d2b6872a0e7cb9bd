# SPDX-License-Identifier: Apache-2.0
"""Delays beside ADWIN and Page-Hinkley on our own risk, at equal false alarms.

Each baseline gets, per set, the lowest limit with no more false alarms than ours at h = 20 on all
calm streams of `alarm_calm`: an oracle that no user has.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

import tcuq
from results.result import Row, figure, measure
from tcuq_benchmark.detectors.baselines import River, adwin, page_hinkley
from tcuq_benchmark.detectors.cases import LEAD_IN, LEAD_IN_JITTER, concatenate, delay
from tcuq_benchmark.detectors.detector import (
    at_most_alarms,
    detector_input,
    lowest_limit,
    signal_input,
)
from tcuq_benchmark.measurements.alarm_cases import (
    DEVELOPMENT,
    LEVELS,
    LIBRARIES,
    Case,
    Figures,
    calibration,
    calm,
    cases,
    fitted,
    log,
    pool_of,
    provenance,
    saved,
)

H = LEVELS[-1]
STEPS, SHORT_STEPS = 80_000, 10_000
SEVERE = (4, 0)  # severity 0 is a natural drift
PEERS: dict[str, Callable[[str], River]] = {"ADWIN": adwin, "Page-Hinkley": page_hinkley}
MOST_RATIO = 0.7


def ours_calm(case: Case, steps: int) -> Figures:
    """Count our false alarms on one calm stream; return the risk that the baselines read, too."""
    profile = fitted(calibration(case), H)
    trace = tcuq.Monitor(profile).run(calm(case, steps, 2 * case.number + 1).stream)
    return {"alarms": int((trace.alarm > 0).sum()), "risk": trace.risk.round(5).tolist()}


def oracle_limit(_set: Case, name: str, chosen: Sequence[Case], steps: int) -> Figures:
    """Find the lowest limit with no more false alarms than ours, and count its false alarms."""
    peer, runs = PEERS[name]("risk"), [saved(ours_calm, case, steps) for case in chosen]
    inputs = [signal_input("risk", np.array(run["risk"])) for run in runs]
    most = sum(run["alarms"] for run in runs)
    limit = lowest_limit(peer.limits, at_most_alarms([(peer, one) for one in inputs], most))
    count = sum(int(peer.alarms(one, limit).sum()) for one in inputs)
    return {"limit": limit, "alarms": count}


def delays(case: Case, limits: dict[str, float]) -> Figures:
    """Measure the delay of ours and of each baseline on every severe shift."""
    pool = pool_of(case.task, case.network)
    _, rows = pool.split(case.split, case.number)
    profile = fitted(calibration(case), H)
    lead_in = calm(case, LEAD_IN + LEAD_IN_JITTER, 1_000 + case.number).stream
    figures: Figures = {name: [] for name in ("ours", *limits)}
    for turn, shift in enumerate(pool.shifts):
        if shift[1] not in SEVERE:
            continue
        jitter = int(np.random.default_rng([case.number, turn, 13]).integers(LEAD_IN_JITTER))
        shifted = pool.shifted(shift, rows, case.number)
        whole = concatenate(lead_in[: LEAD_IN + jitter], shifted)
        alarms = {"ours": tcuq.Monitor(profile).run(whole).alarm > 0}
        inputs = detector_input(profile, whole)
        for name, limit in limits.items():
            alarms[name] = PEERS[name]("risk").alarms(inputs, limit)
        for name, one in alarms.items():
            figures[name].append(delay(one[-len(shifted) :]))
    return figures


def measure_set(task: str, chosen: Sequence[Case], steps: int) -> Figures:
    """Measure one set: false alarms of all calibrations, delays on people not calibrated on."""
    ours = sum(saved(ours_calm, case, steps)["alarms"] for case in chosen)
    tuned = {name: saved(oracle_limit, Case(task, -1), name, chosen, steps) for name in PEERS}
    limits = {name: one["limit"] for name, one in tuned.items()}
    log(f"{task}: ours {ours} false alarms, limits {limits}")
    runs = [saved(delays, case, limits) for case in chosen if case.split == "parts"]
    return {
        "steps": steps * len(chosen),
        "false alarms": {"ours": ours} | {name: one["alarms"] for name, one in tuned.items()},
        "median delay": {
            name: float(np.median([value for run in runs for value in run[name]]))
            for name in ("ours", *PEERS)
        },
    }


def peer_rows(figures: dict[str, Figures]) -> list[Row]:
    """Return the ratio to the faster baseline, and each set for the record."""
    ratios = {task: _ratio(one) for task, one in figures.items()}
    middle = float(np.median(list(ratios.values())))
    detail = ", ".join(f"{task} {value:.2f}" for task, value in ratios.items())
    rows = [
        Row(
            f"delay over the faster of oracle-tuned ADWIN and Page-Hinkley, h = {H}, median set",
            f"≤ {MOST_RATIO}",
            f"{middle:.2f} ({detail})",
            middle <= MOST_RATIO,
        )
    ]
    for task, one in figures.items():
        for name, median in one["median delay"].items():
            what = f"{task}: median delay of {name}, false alarms in {one['steps']:,} steps"
            rows.append(figure(what, f"{median:.0f}, {one['false alarms'][name]}"))
    return rows


def _ratio(figures: Figures) -> float:
    """Return our median delay over the faster baseline's, which is at most 1,000 steps."""
    medians = figures["median delay"]
    return float(medians["ours"] / min(1_000, *(medians[name] for name in PEERS)))


def rows(short: bool) -> Iterator[Row]:
    """Yield the rows of every set; those of the short form promise nothing."""
    by_task: dict[str, list[Case]] = {}
    for case in cases(DEVELOPMENT, ("parts", "mixed"), short=short):
        by_task.setdefault(case.task, []).append(case)
    steps = SHORT_STEPS if short else STEPS
    figures = {task: measure_set(task, chosen, steps) for task, chosen in by_task.items()}
    for row in peer_rows(figures):
        yield replace(row, passed=None) if short else row


if __name__ == "__main__":
    libraries = (*LIBRARIES, "river")
    measure("alarm_peers", rows, libraries, more=partial(provenance, DEVELOPMENT))
