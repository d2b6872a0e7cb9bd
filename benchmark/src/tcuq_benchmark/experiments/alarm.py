# SPDX-License-Identifier: Apache-2.0
"""The alarm: false alarms against its promise, and its delays beside other detectors'.

In-distribution streams are coherent, of test samples, and new for every calibration. Other
detectors run at three kinds of limits. default: their authors'. tuned: the lowest without an alarm
on the calibration stream, as a user can set it. equal: the lowest with no more false alarms than
ours at h = 20 on the test streams themselves, which no user can know.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tcuq import AlarmFlag
from tcuq.evaluation.measures import poisson_interval
from tcuq_benchmark.detectors.cases import (
    Case,
    Delays,
    FittedDetector,
    Limits,
    add_delays,
    make_cases,
    shorten,
    summary,
)
from tcuq_benchmark.detectors.detector import Detector, at_most_alarms, lowest_limit
from tcuq_benchmark.detectors.pools import SPLITS, Pool, Split
from tcuq_benchmark.detectors.table import BASELINES, OURS, DetectorEntry
from tcuq_benchmark.detectors.tasks import make_pool
from tcuq_benchmark.detectors.tcuq_alarm import TcuqAlarm
from tcuq_benchmark.experiments.result import ExperimentRow
from tcuq_benchmark.experiments.variants import load_variant, trained_seeds

LEVELS = (14, 17, 20)


def alarm(task: str) -> tuple[list[ExperimentRow], dict[str, str]]:
    """Return rows of the promise by split and of the delays by detector; and the networks."""
    pools, networks = _pools(task)
    rows: list[ExperimentRow] = []
    cases: list[Case] = []
    for split in reversed(SPLITS):  # the cases of "parts" come last and are used below
        _log(f"{task}: calibrations, {split}")
        cases = [case for seed, pool in pools.items() for case in make_cases(pool, split, seed)]
        rows += promise(split, cases)
    most = sum(_false_alarms(TcuqAlarm(), case, LEVELS[-1]) for case in cases)
    fitted = []
    for entry in (OURS, *BASELINES):
        _log(f"{task}: limits of {entry.name} on {entry.signal}")
        fitted.append(_fit(entry, cases, most))
    delays: list[dict[str, Delays]] = [{kind: {} for kind in one.limits} for one in fitted]
    for position, case in enumerate(cases):
        _log(f"{task}: delays after calibration {position + 1} of {len(cases)}")
        add_delays(case, position, fitted, delays)
    for detector, by_limit in zip(fitted, delays, strict=True):
        rows += _delay_rows(detector, by_limit)
    return rows, networks


def _pools(task: str) -> tuple[dict[int, Pool], dict[str, str]]:
    """Return pools by seed, and the hashes of the networks."""
    pools, networks = {}, {}
    for seed in trained_seeds(task):
        network = load_variant(task, "base", seed)
        _log(f"{task}: samples through network {seed}")
        pools[seed] = make_pool(task, network, seed)
        networks[f"base-{seed}"] = network.sha256
    return pools, networks


def promise(split: Split, cases: Sequence[Case]) -> Iterator[ExperimentRow]:
    """Yield false alarms of our alarm beside the number allowed."""
    steps = sum(len(case.in_distribution.stream) for case in cases)
    for h in LEVELS:
        flags = [TcuqAlarm().flags(case.in_distribution, h) for case in cases]
        counts = [int((one > 0).sum()) for one in flags]
        low, high = poisson_interval(sum(counts))
        yield {
            "what": "promise",
            "split": split,
            "h": h,
            "calibrations": len(cases),
            "steps": steps,
            "allowed": steps / 2**h,
            "false alarms": sum(counts),
            "low": low,
            "high": high,
            "by calibration": counts,
            "by channel": {
                str(flag.name): sum(int((one & flag > 0).sum()) for one in flags)
                for flag in AlarmFlag
            },
        }


def _fit(entry: DetectorEntry, cases: Sequence[Case], most: int) -> FittedDetector:
    if entry.slow:
        cases = [shorten(case) for case in cases[:1]]
    detectors = []
    for case in cases:
        detectors.append(entry.make())
        detectors[-1].fit(case.calibration)
    return FittedDetector(entry, cases, detectors, _limits(entry, cases, detectors, most))


def _limits(
    entry: DetectorEntry, cases: Sequence[Case], detectors: Sequence[Detector], most: int
) -> Limits:
    first, count = detectors[0], len(cases)
    pairs = list(zip(detectors, cases, strict=True))
    limits: dict[str, Sequence[float]]
    if entry is OURS:
        limits = {f"h = {h}": [h] * count for h in LEVELS}
    else:
        tuned = [lowest_limit(d.limits, at_most_alarms([(d, c.calibration)])) for d, c in pairs]
        limits = {"default": [first.default_limit] * count, "tuned": tuned}
    if not entry.slow:
        accepts = at_most_alarms([(d, case.in_distribution) for d, case in pairs], most)
        limits["equal"] = [lowest_limit(first.limits, accepts)] * count
    return limits


def _delay_rows(detector: FittedDetector, delays: Mapping[str, Delays]) -> Iterator[ExperimentRow]:
    """Yield one row for each kind of limit."""
    steps = sum(len(case.in_distribution.signals["risk"]) for case in detector.cases)
    for kind, chosen in detector.limits.items():
        runs = zip(detector.detectors, detector.cases, chosen, strict=True)
        count = sum(_false_alarms(*run) for run in runs)
        yield {
            "what": "delays",
            "detector": detector.entry.name,
            "signal": detector.entry.signal,
            "limits": kind,
            "median limit": float(np.median(chosen)),
            "calibrations": len(detector.cases),
            "steps": steps,
            "false alarms": count,
            "per million": 1e6 * count / steps,
        } | summary(delays[kind])


def _false_alarms(detector: Detector, case: Case, limit: float) -> int:
    return int(detector.alarms(case.in_distribution, limit).sum())


def _log(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
