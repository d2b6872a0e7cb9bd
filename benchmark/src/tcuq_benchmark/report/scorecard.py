# SPDX-License-Identifier: Apache-2.0
"""The benchmark's targets as rows of the scorecard: results/benchmark.json."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from statistics import median

import numpy as np
from scipy.stats import poisson

from results.result import Row, json_text, not_reached, reasons
from tcuq_benchmark.experiments.alarm import LEVELS
from tcuq_benchmark.experiments.result import ExperimentRow, read_result
from tcuq_benchmark.report.claims_page import all_claims
from tcuq_benchmark.report.comparisons import Measure, compare, gain_over_sets
from tcuq_benchmark.report.results import (
    SELECTION_SETS,
    TASKS,
    TITLES,
    by_seed,
    detection_mean,
    mean,
    rows,
    values,
)
from tcuq_benchmark.report.verdict import TESTED
from tcuq_benchmark.scenarios.scenario import KINDS, Kind
from tcuq_benchmark.scenarios.tasks import WITHOUT_OOD
from tcuq_benchmark.scores.table import SINGLE_PASS

DROP, FAILURE, OOD = "drop AUPRC", "failure AUROC", "OOD AUROC"
KIND_TITLES: Mapping[Kind, str] = {"coherent": "coherent", "iid": "shuffled"}
SIGNALS = {"max_prob": "1 - max p", "risk": "our own risk"}
SEVERAL_PASSES = ("dropout", "ensemble", "exits", "hydra")
DELTA = 0.05  # of the promise: the share of calibrations that may break it


def scorecard_rows() -> list[Row]:
    """Return the rows, from the committed results."""
    return [
        *_against("recommended", 0.02),
        *_against("recommended labelled", 0.035),
        *_rest(),
        *_promise(),
        *_delays(),
        *_claims(),
    ]


def document(date: str) -> str:
    """Return the text of the file that the scorecard reads."""
    scorecard = scorecard_rows()
    return json_text(
        {
            "command": "python -m tcuq_benchmark.report",
            "date": date,
            "versions": {"tcuq": version("tcuq")},
            "data_sha256": {t: read_result("detection", t)["data_sha256"] for t in _tasks()},
            "rows": [asdict(row) for row in scorecard],
            **not_reached(scorecard, reasons()["benchmark"]),
        }
    )


def _tasks() -> list[str]:
    return [task for task in TASKS if rows("detection", task)]


def _against(score: str, least: float) -> Iterator[Row]:
    """Yield the gain of one of our scores over the paper's, in the mean and at worst."""
    title = "default" if score == "recommended" else "labelled"
    gains = {
        task: detection_mean(task, score, DROP) - detection_mean(task, "tcuq", DROP)
        for task in _tasks()
    }
    for group, tasks in _groups():
        gain = gain_over_sets(tasks, score, "tcuq")
        yield Row(
            f"accuracy drops, {title} against tcuq: mean over {group}, coherent",
            f"≥ +{least}", f"{gain}", gain.mean >= least,
        )  # fmt: skip
    yield _worst(f"accuracy drops, {title} against tcuq: worst set, coherent", -0.01, gains)


def _groups() -> Iterator[tuple[str, list[str]]]:
    """Yield all sets, and those whose test samples were not used to choose the default."""
    yield f"{len(_tasks())} sets", _tasks()
    others = [task for task in _tasks() if task not in SELECTION_SETS]
    yield f"the {len(others)} sets whose test samples had no part in the choice", others


def _rest() -> Iterator[Row]:
    for group, tasks in _groups():
        yield _best("single-pass", SINGLE_PASS, tasks, group)
        yield _best("multi-pass or multi-head", SEVERAL_PASSES, tasks, group)
    for kind in KINDS:
        yield from _steps(kind)
    seeds = min(
        len(values("detection", t, DROP, score="recommended", kind="coherent")) for t in _tasks()
    )
    yield Row("networks and streams per mean", "≥ 3", f"{seeds}", seeds >= 3)


def _steps(kind: Kind) -> Iterator[Row]:
    """Yield failures and out-of-distribution samples on one kind of stream."""
    title = KIND_TITLES[kind]
    measure = Measure(FAILURE, kind)
    gaps = [
        compare(task, measure, "recommended", name, name=f"{TITLES[task]}, {name}", least=-0.01)
        for task in _tasks()
        for name in SINGLE_PASS
    ]
    worst = min(gaps, key=lambda one: one.interval().low)
    yield Row(
        f"failures, default against every single-pass score, by interval, {title}",
        "low end ≥ -0.01 on every set", f"{worst.interval()} ({worst.name})",
        all(one.holds for one in gaps),
    )  # fmt: skip
    ood = {
        task: detection_mean(task, "recommended", OOD, kind)
        for task in _tasks()
        if task not in WITHOUT_OOD
    }
    average = mean(list(ood.values()))
    yield Row(
        f"out of distribution, default: mean AUROC, {title}", "≥ 0.90", f"{average:.3f}",
        average >= 0.9,
    )  # fmt: skip
    above = {
        task: value - detection_mean(task, "max_prob", OOD, kind) for task, value in ood.items()
    }
    yield _worst(f"out of distribution, default against max-prob: worst set, {title}", 0, above)


def _promise() -> Iterator[Row]:
    """Yield false alarms on test samples beside the number allowed, and by calibration."""
    promises = {task: [r for r in rows("alarm", task) if _is_promise(r)] for task in TASKS}
    promises = {task: of_task for task, of_task in promises.items() if of_task}
    by_h = {h: [r for p in promises.values() for r in p if r["h"] == h] for h in LEVELS}
    steps, calibrations = (sum(r[n] for r in by_h[LEVELS[0]]) for n in ("steps", "calibrations"))
    yield Row(
        "alarm: in-distribution steps, calibrations, sets", "≥ 3,000,000, 50, 4",
        f"{steps:,}, {calibrations}, {len(promises)}",
        steps >= 3_000_000 and calibrations >= 50 and len(promises) >= 4,
    )  # fmt: skip
    for h, at_h in by_h.items():
        allowed, count = (sum(r[name] for r in at_h) for name in ("allowed", "false alarms"))
        yield Row(
            f"alarm: false alarms at h = {h}", f"≤ {allowed:.1f}", f"{count}",
            count <= allowed,
        )  # fmt: skip
    # The promise is made with probability 1 - delta over calibrations.
    broken = {task: _broken(of_task) for task, of_task in promises.items()}
    listed = ", ".join(f"{TITLES[task]} {count}" for task, count in broken.items() if count)
    total, most = sum(broken.values()), DELTA * calibrations
    yield Row(
        f"alarm: calibrations of {calibrations} that break the promise (each count's p < 0.01)",
        f"≤ {most:.1f}", f"{total} ({listed})" if listed else "0", total <= most,
    )  # fmt: skip


def _claims() -> Iterator[Row]:
    """Yield whether every verdict of the claims page has a test and every row was run."""
    claims = all_claims()
    untested = [c for c in claims if c.verdict in TESTED and isinstance(c.basis, str)]
    waiting = [c.where for c in claims if c.verdict == "not run yet"]
    yield Row("claims: verdicts without a test", "0", f"{len(untested)} of {len(claims)}",
               not untested)  # fmt: skip
    yield Row("claims: rows not run yet", "0", f"{len(waiting)} ({'; '.join(waiting)})"
               if waiting else "0", not waiting)  # fmt: skip


def _is_promise(row: ExperimentRow) -> bool:
    return (row["what"], row.get("split")) == ("promise", "parts")


def _broken(promises: Sequence[ExperimentRow]) -> int:
    """Return the number of calibrations after which some level's count is too high to be chance."""
    chances = [
        poisson.sf(np.array(row["by calibration"]) - 1, row["allowed"] / row["calibrations"])
        for row in promises
    ]
    return int((np.min(chances, axis=0) < 0.01).sum())


def _delays() -> Iterator[Row]:
    """Yield the ratio of our median delay to others' by set, at equal numbers of false alarms."""
    for detector in ("ADWIN", "Page-Hinkley"):
        for signal in ("max_prob", "risk"):
            ratios = {}
            for task in TASKS:
                ours = _delay(task, "ours", "channels")
                theirs = _delay(task, detector, signal)
                if math.isfinite(ours) or math.isfinite(theirs):
                    ratios[task] = ours / theirs
            if not ratios:
                continue
            listed = ", ".join(f"{TITLES[task]} {ratio:.2f}" for task, ratio in ratios.items())
            yield Row(
                f"alarm: median delay over {detector}'s on {SIGNALS[signal]}, equal false alarms",
                "≤ 0.70, median of the sets", f"{median(ratios.values()):.2f} ({listed})",
                median(ratios.values()) <= 0.7,
            )  # fmt: skip


def _delay(task: str, detector: str, signal: str) -> float:
    """Return the median delay at severity 4 or in later months; infinite if half are missed."""
    for row in rows("alarm", task):
        if (row["what"], row.get("limits")) == ("delays", "equal") and (
            row["detector"], row["signal"]) == (detector, signal):  # fmt: skip
            delay = (row.get("severity 4") or row["drift"])["median delay"]
            return math.inf if delay is None else float(delay)
    return math.inf


def _worst(what: str, least: float, by_task: Mapping[str, float]) -> Row:
    """Return a row for the set with the smallest difference."""
    task = min(by_task, key=lambda task: by_task[task])
    measured = f"{by_task[task]:+.3f} ({TITLES[task]})"
    return Row(what, f"≥ {least}", measured, by_task[task] >= least)


def _best(what: str, names: Iterable[str], tasks: Sequence[str], group: str) -> Row:
    """Compare the default with each of these scores on its sets and seeds; the row has the best."""
    levels = {name: _levels(name, tasks) for name in names}
    best = max(levels, key=lambda name: levels[name][1] - levels[name][0])
    ours, theirs, sets = levels[best]
    missing = "" if sets == len(tasks) else f", run on {sets} of them"
    return Row(
        f"accuracy drops, default above every {what} baseline: mean over {group}",
        f"> {theirs:.3f} ({best}{missing})", f"{ours:.3f}", ours > theirs,
    )  # fmt: skip


def _levels(name: str, tasks: Sequence[str]) -> tuple[float, float, int]:
    """Return the means of the default and of a score over the sets that have it, and their number.

    A score whose networks are trained for some seeds only is compared on these.
    """
    pairs = []
    for task in tasks:
        ours, theirs = (
            by_seed("detection", task, DROP, score=score, kind="coherent")
            for score in ("recommended", name)
        )
        if shared := ours.keys() & theirs.keys():
            pairs.append([mean([side[seed] for seed in shared]) for side in (ours, theirs)])
    default, other = np.mean(pairs, axis=0)
    return float(default), float(other), len(pairs)
