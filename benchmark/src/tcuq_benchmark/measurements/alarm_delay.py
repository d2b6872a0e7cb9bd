# SPDX-License-Identifier: Apache-2.0
"""Delays of the alarm: after many calm steps, with a shift from boot, and on slow ramps."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

import tcuq
from results.result import Row, figure, measure
from tcuq_benchmark.detectors.cases import LEAD_IN, LEAD_IN_JITTER, concatenate, delay, jitter
from tcuq_benchmark.detectors.pools import SPAN
from tcuq_benchmark.detectors.recording_pool import RecordingPool
from tcuq_benchmark.measurements.alarm_cases import (
    DEVELOPMENT,
    LEVELS,
    LIBRARIES,
    SEVERE,
    Case,
    Figures,
    calibration,
    calm,
    cases,
    fitted,
    looped,
    pool_of,
    profiles,
    provenance,
    saved,
)

CALM, SHORT_CALM = 40_000, 5_000
RAMPS = (2_000, 10_000, 40_000)  # steps from clean to severity 4
SEGMENT = 20  # steps of a ramp that have the same severity
H = LEVELS[-1]
Delays = dict[str, list[float]]  # by shift, one per calibration


def run_on(monitor: tcuq.Monitor, stream: tcuq.Stream) -> np.ndarray:
    """Return the alarms of a stream that continues the one before."""
    trace = monitor.run(stream.posteriors, stream.features, starts=stream.starts[1:])
    return trace.alarm > 0


def delays(case: Case, calm_steps: int) -> Figures:
    """Measure the delay of every shift after calm steps and from boot, by h."""
    pool = pool_of(case.task, case.network)
    _, rows = pool.split(case.split, case.number)
    lead_in = calm(case, calm_steps + LEAD_IN_JITTER, 1_000 + case.number).stream
    figures: Figures = {}
    for h, profile in profiles(calibration(case)).items():
        monitor = tcuq.Monitor(profile)
        run_on(monitor, lead_in[:calm_steps])
        settled = monitor.snapshot()
        for turn, shift in enumerate(pool.shifts):
            before = jitter(case.number, turn)
            shifted = pool.shifted(shift, rows, case.number)
            name = f"{shift[0]} {shift[1]}"
            monitor.restore(settled)
            whole = shifted
            if before:
                whole = concatenate(lead_in[calm_steps : calm_steps + before], shifted)
            alarms = run_on(monitor, whole)
            figures[f"calm {h} {name}"] = delay(alarms[before:])
            figures[f"boot {h} {name}"] = delay(run_on(tcuq.Monitor(profile), shifted))
    return figures


def ramps(case: Case) -> Figures:
    """Measure the steps from the start of each slow ramp to the alarm at the slowest rate."""
    pool = pool_of(case.task, case.network)
    monitor = tcuq.Monitor(fitted(calibration(case), H))
    run_on(monitor, calm(case, LEAD_IN, 2_000 + case.number).stream)
    settled = monitor.snapshot()
    figures: Figures = {}
    for shift, severity in pool.shifts:
        if severity in SEVERE:
            for steps in RAMPS:
                monitor.restore(settled)
                alarms = run_on(monitor, ramp(case, shift, steps))
                figures[f"ramp {steps} {shift}"] = delay(alarms)
    return figures


def ramp(case: Case, shift: str, steps: int) -> tcuq.Stream:
    """Return a shift that grows over these steps and stays; segments mix severities."""
    pool = pool_of(case.task, case.network)
    _, rows = pool.split(case.split, case.number)
    severities = sorted(severity for name, severity in pool.shifts if name == shift)
    length, seed = steps + SPAN, 3_000 + case.number
    levels = [calm(case, length, seed).stream]
    for severity in severities:
        if isinstance(pool, RecordingPool):
            levels.append(looped(pool, rows, length, seed, pool.faulty[shift, severity]).stream)
        else:
            levels.append(_repeated(pool.shifted((shift, severity), rows, case.number), length))
    rng = np.random.default_rng([seed, 14])
    rounding = np.repeat(rng.random(-(-length // SEGMENT)), SEGMENT)[:length]
    share = np.minimum(np.arange(length) / steps, 1) * len(severities)
    level = np.minimum((share + rounding).astype(int), len(severities))
    columns = [(stream.posteriors, stream.features) for stream in levels]
    at = np.arange(length)
    logits, features = (np.stack(column)[level, at] for column in zip(*columns, strict=True))
    return tcuq.Stream(logits, features, kind="logits", starts=levels[0].starts)


def _repeated(stream: tcuq.Stream, steps: int) -> tcuq.Stream:
    assert stream.features is not None  # noqa: S101 - every task has features
    at = np.arange(steps) % len(stream)
    return tcuq.Stream(stream.posteriors[at], stream.features[at], kind="logits")


def delays_by_set(*, short: bool) -> dict[str, Delays]:
    """Return delays by set and by shift, one per calibration."""
    every: dict[str, Delays] = defaultdict(lambda: defaultdict(list))
    for case in cases(DEVELOPMENT, short=short):
        figures = saved(delays, case, SHORT_CALM if short else CALM)
        if case.turn % 2 == 0:
            figures |= saved(ramps, case)
        for name, value in figures.items():
            every[case.task][name].append(value)
    return every


def median(figures: Delays, what: str, severities: Sequence[int]) -> float:
    """Return the median delay over onsets, of which missed ones are infinite."""
    ends = tuple(f" {severity}" for severity in severities)
    chosen = [
        value
        for name, values in figures.items()
        if name.startswith(what) and name.endswith(ends)
        for value in values
    ]
    return float(np.median(chosen)) if chosen else np.nan


def caught(figures: Delays) -> list[bool]:
    """Return whether at least half of the calibrations catch each ramp."""
    return [
        sum(map(np.isfinite, values)) * 2 >= len(values)
        for name, values in figures.items()
        if name.startswith("ramp")
    ]


def rows(short: bool) -> Iterator[Row]:
    """Yield the median delays of each set, for the record."""
    for task, figures in delays_by_set(short=short).items():
        for what, when in (("calm", "after calm steps"), ("boot", "from boot")):
            for severities, title in ((SEVERE, "severity 4"), ((2,), "severity 2")):
                values = [median(figures, f"{what} {h} ", severities) for h in LEVELS]
                if not np.isnan(values).any():
                    name = f"{task}: median delay {when}, {title}, h = 14 / 17 / 20"
                    yield figure(name, " / ".join(f"{v:.0f}" for v in values))
        hits = caught(figures)
        yield figure(f"{task}: slow ramps caught at h = {H}", f"{sum(hits)} of {len(hits)}")


if __name__ == "__main__":
    measure("alarm_delay", rows, LIBRARIES, more=partial(provenance, DEVELOPMENT))
