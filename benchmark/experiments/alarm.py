# SPDX-License-Identifier: Apache-2.0
"""The alarm: false alarms against its promise, and its delays beside other detectors'.

In-distribution streams are coherent, of test samples, and new for every calibration. Others get
three kinds of limits: their default; tuned, the lowest that is quiet on the calibration stream, as
a user can; and equal, the lowest with no more false alarms than ours at h = 20 on the test streams
themselves, which no user can know.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmark.detectors.cases import (
    Case,
    Delays,
    Entrant,
    Limits,
    cases_of,
    delays_on,
    shortened,
    summary,
)
from benchmark.detectors.contenders import OTHERS, OURS, Contender
from benchmark.detectors.detector import Detector, least, quiet
from benchmark.detectors.ours import Ours
from benchmark.detectors.pools import DEALINGS, Dealing, Pool
from benchmark.detectors.tasks import pool
from benchmark.experiments.crew import network, seeds_of
from benchmark.experiments.result import Row
from tcuq import AlarmFlag
from tcuq.evaluate.measures import poisson_interval

LEVELS = (14, 17, 20)


def alarm(task: str) -> tuple[list[Row], dict[str, str]]:
    """Rows of the promise by dealing, then rows of the delays by detector; and the networks."""
    pools, networks = _pools(task)
    rows: list[Row] = []
    cases: list[Case] = []
    for dealing in reversed(DEALINGS):  # what is left at the end are the parts
        _say(f"{task}: calibrations, {dealing}")
        cases = [case for seed, one in pools.items() for case in cases_of(one, dealing, seed)]
        rows += promise(dealing, cases)
    most = sum(_count(Ours(), case, LEVELS[-1]) for case in cases)
    entrants = []
    for contender in (OURS, *OTHERS):
        _say(f"{task}: limits of {contender.name} on {contender.signal}")
        entrants.append(_entrant(contender, cases, most))
    found: list[dict[str, Delays]] = [{kind: {} for kind in one.limits} for one in entrants]
    for place, case in enumerate(cases):
        _say(f"{task}: delays after calibration {place + 1} of {len(cases)}")
        delays_on(case, place, entrants, found)
    for entrant, delays in zip(entrants, found, strict=True):
        rows += _compared(entrant, delays)
    return rows, networks


def _pools(task: str) -> tuple[dict[int, Pool], dict[str, str]]:
    """By seed, for each network that is trained."""
    pools, networks = {}, {}
    for seed in seeds_of(task):
        found = network(task, "base", seed)
        _say(f"{task}: samples through network {seed}")
        pools[seed] = pool(task, found, seed)
        networks[f"base-{seed}"] = found.sha256
    return pools, networks


def promise(dealing: Dealing, cases: Sequence[Case]) -> Iterator[Row]:
    """False alarms of ours beside what is allowed, on the device and in float."""
    steps = sum(len(case.calm.stream) for case in cases)
    for device in (True, False):
        for h in LEVELS:
            flags = [Ours(device=device).flags(case.calm, h) for case in cases]
            counts = [int((one > 0).sum()) for one in flags]
            low, high = poisson_interval(sum(counts))
            yield {
                "what": "promise",
                "dealing": dealing,
                "arithmetic": "device" if device else "float",
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


def _entrant(contender: Contender, cases: Sequence[Case], most: int) -> Entrant:
    if contender.slow:
        cases = [shortened(case) for case in cases[:1]]
    detectors = []
    for case in cases:
        detectors.append(contender.make())
        detectors[-1].fit(case.calibration)
    return Entrant(contender, cases, detectors, _limits(contender, cases, detectors, most))


def _limits(
    contender: Contender,
    cases: Sequence[Case],
    detectors: Sequence[Detector],
    most: int,
) -> Limits:
    first, count = detectors[0], len(cases)
    pairs = list(zip(detectors, cases, strict=True))
    if contender is OURS:
        found: dict[str, Sequence[float]] = {f"h = {h}": [h] * count for h in LEVELS}
    else:
        tuned = [least(d.limits, quiet([(d, case.calibration)])) for d, case in pairs]
        found = {"default": [first.usual] * count, "tuned": tuned}
    if not contender.slow:
        enough = quiet([(detector, case.calm) for detector, case in pairs], most)
        found["equal"] = [least(first.limits, enough)] * count
    return found


def _compared(entrant: Entrant, delays: Mapping[str, Delays]) -> Iterator[Row]:
    """A row for each kind of limit."""
    steps = sum(len(case.calm.values["risk"]) for case in entrant.cases)
    for kind, chosen in entrant.limits.items():
        pairs = zip(entrant.detectors, entrant.cases, chosen, strict=True)
        count = sum(_count(*pair) for pair in pairs)
        yield {
            "what": "delays",
            "detector": entrant.contender.name,
            "signal": entrant.contender.signal,
            "limits": kind,
            "median limit": float(np.median(chosen)),
            "calibrations": len(entrant.cases),
            "steps": steps,
            "false alarms": count,
            "per million": 1e6 * count / steps,
        } | summary(delays[kind])


def _count(detector: Detector, case: Case, limit: float) -> int:
    return int(detector.alarms(case.calm, limit).sum())


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)
