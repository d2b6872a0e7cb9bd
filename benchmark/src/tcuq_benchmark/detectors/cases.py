# SPDX-License-Identifier: Apache-2.0
"""Cases: a calibration and the streams run after it; and the delays of detectors on them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tcuq import Stream
from tcuq_benchmark.detectors.detector import Bools, Detector, DetectorInput, detector_input
from tcuq_benchmark.detectors.pools import Pool, Split, SplitRows
from tcuq_benchmark.detectors.table import DetectorEntry
from tcuq_benchmark.scores.monitors import quiet_fit
from tcuq_benchmark.streams import Episode

LENGTHS = (5_000, 10_000, 20_000, 20_000)  # of each network's calibration streams
RUN_STEPS = 80_000  # in-distribution steps after each calibration
LEAD_IN, LEAD_IN_JITTER = 3_000, 512  # in-distribution steps before a shift, plus a random number
SLOW_STEPS, SLOW_LEAD_IN = 5_000, 300  # for slow detectors

Limits = Mapping[str, Sequence[float]]  # by kind of limit, one per case
Delays = dict[Episode, list[float]]


@dataclass(frozen=True, eq=False)
class Case:
    """One calibration, and an in-distribution stream to run after it."""

    pool: Pool
    rows: SplitRows
    number: int
    calibration: DetectorInput
    in_distribution: DetectorInput


@dataclass(frozen=True, eq=False)
class FittedDetector:
    """A detector fitted for each of its cases, and the limits it runs at."""

    entry: DetectorEntry
    cases: Sequence[Case]
    detectors: Sequence[Detector]
    limits: Limits


def make_cases(pool: Pool, split: Split, seed: int) -> Iterator[Case]:
    """Yield one case per calibration length for the network of this seed; one split each."""
    for turn, steps in enumerate(LENGTHS):
        number = len(LENGTHS) * seed + turn
        rows = pool.split(split, number)
        calibration = pool.calibration(rows[0], steps, 2 * number)
        profile = quiet_fit(calibration)
        run = pool.in_distribution(rows[1], RUN_STEPS, 2 * number + 1)
        inputs = (detector_input(profile, stream) for stream in (calibration, run))
        yield Case(pool, rows, number, *inputs)


def shorten(case: Case) -> Case:
    """Return the last steps of a case, for slow detectors."""
    short = (last_steps(one, SLOW_STEPS) for one in (case.calibration, case.in_distribution))
    return Case(case.pool, case.rows, case.number, *short)


def last_steps(stream: DetectorInput, steps: int) -> DetectorInput:
    """Return the input with only the last steps of its signals."""
    signals = {name: values[-steps:] for name, values in stream.signals.items()}
    return replace(stream, signals=signals)


def add_delays(
    case: Case, position: int, fitted: Sequence[FittedDetector], delays: Sequence[dict[str, Delays]]
) -> None:
    """Add each detector's delays on every shift after one calibration, by kind of limit.

    `position` is the case's among all; slow detectors have fewer.
    """
    for turn, shift in enumerate(case.pool.shifts):
        stream, length = _shifted(case, shift, turn)
        for detector, into in zip(fitted, delays, strict=True):
            if position >= len(detector.cases):
                continue
            slow = detector.entry.slow
            view = last_steps(stream, SLOW_LEAD_IN + length) if slow else stream
            delay_at: dict[float, float] = {}
            for kind, chosen in detector.limits.items():
                limit = chosen[position]
                if limit not in delay_at:
                    alarms = detector.detectors[position].alarms(view, limit)
                    delay_at[limit] = delay(alarms[-length:])
                into[kind].setdefault(shift, []).append(delay_at[limit])


def delay(alarms: Bools) -> float:
    """Return steps until the first alarm; infinite if there is none."""
    return float(alarms.argmax() + 1) if alarms.any() else float("inf")


def summary(delays: Delays) -> dict[str, Any]:
    """Return medians and misses by severity, and the median of each shift; None is infinite."""
    row: dict[str, Any] = {}
    for severity in sorted({level for _, level in delays}):
        of_shift = {shift: d for (shift, level), d in delays.items() if level == severity}
        every = np.concatenate(list(of_shift.values()))
        row[f"severity {severity}" if severity else "drift"] = {
            "onsets": len(every),
            "missed": int(np.isinf(every).sum()),
            "median delay": _finite(np.median(every)),
            "by shift": {shift: _finite(np.median(d)) for shift, d in of_shift.items()},
        }
    return row


def _shifted(case: Case, shift: Episode, turn: int) -> tuple[DetectorInput, int]:
    """Return in-distribution steps, then shifted ones; and the number of the latter."""
    lead_in = LEAD_IN + jitter(case.number, turn)
    clean = case.pool.in_distribution(case.rows[1], lead_in, 1_000 + case.number)
    shifted = case.pool.shifted(shift, case.rows[1], case.number)
    return detector_input(case.calibration.profile, concatenate(clean, shifted)), len(shifted)


def jitter(number: int, turn: int) -> int:
    """Return a random number of steps before a shift, so that no block begins with it."""
    return int(np.random.default_rng([number, turn, 13]).integers(LEAD_IN_JITTER))


def concatenate(first: Stream, then: Stream) -> Stream:
    """Return one stream after the other, without a restart of history between them."""
    if first.features is None or then.features is None:
        raise ValueError("both streams must have features")
    return Stream(
        np.concatenate([first.posteriors, then.posteriors]),
        np.concatenate([first.features, then.features]),
        kind=first.kind,
        starts=np.concatenate([first.starts, then.starts[1:] + len(first)]),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
