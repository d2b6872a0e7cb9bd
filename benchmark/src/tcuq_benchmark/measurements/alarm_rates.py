# SPDX-License-Identifier: Apache-2.0
"""Delays at equal measured rates: the alarm, the form before it, and what else a user could take.

Every detector gets, per set, the lowest limit with at most one false alarm in 2^h calm steps of the
samples or people that were not calibrated on: in hindsight, which no user has. Rows "tuned on
calibration" take the lowest limit that calibration itself, in random order, allows: those a user
can have, and their rate is measured. Faults begin after 3,000 calm steps.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from results.result import RESULTS, Row, figure, measure
from tcuq_benchmark.detectors.cases import delay
from tcuq_benchmark.detectors.detector import lowest_limit
from tcuq_benchmark.measurements.alarm_cases import (
    DEVELOPMENT,
    LIBRARIES,
    Case,
    Figures,
    cases,
    log,
    provenance,
    saved,
)
from tcuq_benchmark.measurements.alarm_rivals import (
    DETECTORS,
    Detector,
    Setting,
    in_random_order,
    learners_limit,
    oracle_delays,
    prepare,
)

RATES = (13, 15, 17)  # one false alarm in 2^h steps
STEPS, SHORT_STEPS = 80_000, 10_000
TURNS = (1, 3)  # of the calibrations of a network: 10,000 and 20,000 steps
MISSED = 1_000.0  # steps that a miss counts for
MOST_OF_FORMER, MOST_SLOWER = 0.75, 1.05
PICTURE = "alarm_rates.svg"
BOUNDS = ("CUSUM that knows the fault", "limit of a learner")
TICKS = (20, 50, 100, 200, 500)


def measure_set(case: Case, chosen: Sequence[Case], steps: int) -> Figures:
    """Measure every detector on one set: by rate, delays in hindsight; and tuned on calibration."""
    ready = [prepare(one, steps) for one in chosen]
    total = steps * len(ready)
    figures: Figures = {"steps": total, "hindsight": {}, "calibration": {}}
    for detector in DETECTORS:
        log(f"{case.task}: {detector.name}")
        by_rate = {}
        for h in RATES:
            limit = lowest_limit(detector.limits, _accepts(detector, ready, total / 2**h))
            by_rate[str(h)] = _delays(detector, ready, [limit] * len(ready))
        figures["hindsight"][detector.name] = by_rate
        if not detector.in_hindsight_alone:
            limits = [_calibrated_limit(detector, one, place) for place, one in enumerate(ready)]
            false = sum(
                int(detector.alarms(one, one.calm, limit).sum())
                for one, limit in zip(ready, limits, strict=True)
            )
            figures["calibration"][detector.name] = {
                "alarms": false,
                "delays": _delays(detector, ready, limits),
            }
    figures["hindsight"]["CUSUM that knows the fault"] = {
        str(h): oracle_delays(ready, total / 2**h) for h in RATES
    }
    figures["hindsight"]["limit of a learner"] = {
        str(h): [learners_limit(one, h) for one in ready] for h in RATES
    }
    return figures


def _accepts(
    detector: Detector, ready: Sequence[Setting], allowed: float
) -> Callable[[float], bool]:
    def accepts(limit: float) -> bool:
        count = 0
        for one in ready:
            count += int(detector.alarms(one, one.calm, limit).sum())
            if count > allowed:
                return False
        return True

    return accepts


def _calibrated_limit(detector: Detector, case: Setting, seed: int) -> float:
    runs = [in_random_order(case, 8 * seed + turn) for turn in range(4)]
    return lowest_limit(
        detector.limits,
        lambda limit: not any(detector.alarms(case, run, limit).any() for run in runs),
    )


def _delays(detector: Detector, ready: Sequence[Setting], limits: Sequence[float]) -> list[float]:
    return [
        min(delay(detector.alarms(one, onset.stream, limit)[onset.begin :]), MISSED)
        for one, limit in zip(ready, limits, strict=True)
        for onset in one.onsets
    ]


def median(delays: Sequence[float]) -> float:
    """Return the median, a miss counting as the longest delay."""
    return float(np.median(np.minimum(delays, MISSED)))


def rate_rows(figures: dict[str, Figures]) -> Iterator[Row]:
    """Yield the comparisons that must hold at one in 2^17, then each set and detector."""
    h = str(RATES[-1])
    medians = {
        task: {name: median(by_rate[h]) for name, by_rate in one["hindsight"].items()}
        for task, one in figures.items()
    }
    ratios = {task: m["this alarm"] / m["the former alarm"] for task, m in medians.items()}
    middle, slowest = float(np.median(list(ratios.values()))), max(ratios.values())
    detail = ", ".join(f"{task} {ratio:.2f}" for task, ratio in ratios.items())
    yield Row(
        f"delay over the former alarm's at equal measured rate, one in 2^{h}",
        f"≤ {MOST_OF_FORMER} on the median set, ≤ {MOST_SLOWER} on each",
        f"{middle:.2f} ({detail})",
        middle <= MOST_OF_FORMER and slowest <= MOST_SLOWER,
    )
    behind = []
    for task, one in figures.items():
        allowed = one["steps"] / 2 ** RATES[-1]
        for name, tuned in one["calibration"].items():
            steps = median(tuned["delays"])
            if tuned["alarms"] <= allowed and steps < medians[task]["this alarm"]:
                behind.append(f"{task}: {name}, {steps:.0f}")
    yield Row(
        f"peers tuned on calibration that keep one in 2^{h} and are faster",
        "none",
        "; ".join(behind) or "none",
        not behind,
    )
    for task, one in figures.items():
        allowed = one["steps"] / 2 ** RATES[-1]
        words = ", ".join(f"{name} {steps:.0f}" for name, steps in medians[task].items())
        yield figure(f"{task}: median delay in hindsight, one in 2^{h}", words)
        words = ", ".join(
            f"{name} {median(tuned['delays']):.0f} ({tuned['alarms'] / allowed:.1f} times)"
            for name, tuned in one["calibration"].items()
        )
        yield figure(
            f"{task}: median delay tuned on calibration, and false alarms over 2^{h}", words
        )


def draw(figures: dict[str, Figures]) -> None:
    """Draw delay against rate, one curve a detector, the mean over sets of log delays."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tcuq"
    import matplotlib.pyplot as plt

    curves = {
        name: [
            math.exp(np.mean([math.log(median(of[name][str(h)])) for of in hindsight]))
            for h in RATES
        ]
        for hindsight in [[one["hindsight"] for one in figures.values()]]
        for name in hindsight[0]
    }
    _, ax = plt.subplots(figsize=(7.2, 4.6), layout="constrained")
    label = 0.0
    for name, curve in sorted(curves.items(), key=lambda item: item[1][-1]):
        colour = f"C{list(curves).index(name)}"
        style = "--" if name in BOUNDS else "-"
        ax.plot(RATES, curve, style, color=colour, lw=3 if name == DETECTORS[0].name else 1.5)
        label = max(curve[-1], 1.1 * label)  # names do not cover each other
        ax.annotate(f" {name}", (RATES[-1], label), color=colour, va="center", fontsize=8)
    ax.set_yscale("log")
    ax.set_yticks(TICKS, [str(tick) for tick in TICKS])
    ax.minorticks_off()
    ax.set_xticks(RATES, [f"2^{h}" for h in RATES])
    ax.set_xlim(RATES[0], RATES[-1] + 1.6)
    ax.set_xlabel("measured calm steps per false alarm; limits chosen in hindsight")
    ax.set_ylabel("median delay in steps, geometric mean over sets")
    ax.spines[["top", "right"]].set_visible(False)
    path = RESULTS.parent / "benchmark/docs" / PICTURE
    plt.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close()


def rows(short: bool) -> Iterator[Row]:
    """Yield the rows of every set; those of the short form promise nothing."""
    by_task: dict[str, list[Case]] = {}
    for case in cases(DEVELOPMENT, short=short):
        if case.turn in TURNS:
            by_task.setdefault(case.task, []).append(case)
    steps = SHORT_STEPS if short else STEPS
    figures = {
        task: saved(measure_set, Case(task, -1), chosen, steps) for task, chosen in by_task.items()
    }
    if not short:
        draw(figures)
    for row in rate_rows(figures):
        yield replace(row, passed=None) if short else row


if __name__ == "__main__":
    libraries = (*LIBRARIES, "river", "matplotlib")
    measure("alarm_rates", rows, libraries, more=partial(provenance, DEVELOPMENT))
