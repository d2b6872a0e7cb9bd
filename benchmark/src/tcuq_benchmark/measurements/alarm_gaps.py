# SPDX-License-Identifier: Apache-2.0
"""Duty cycles: HAPT's faults with a gap every 20, 60 and 200 steps, beside no gaps.

A gap makes the monitor forget its past: channels that look back skip the first steps after it.
Delays are in steps that the alarming channel counts.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tcuq
from results.result import Row, measure
from tcuq_benchmark.measurements.alarm_cases import LEVELS, LIBRARIES, fitted
from tcuq_benchmark.measurements.alarm_hapt import (
    FAULTS,
    clean_stream,
    draw,
    fault_stream,
    provenance,
    runs_of,
)
from tcuq_benchmark.measurements.alarm_hapt_network import EPOCHS, SHORT_EPOCHS

H = LEVELS[-1]
GAPS = (20, 60, 200)  # steps between two gaps
DRAWS, SHORT_DRAWS = range(7), range(1)
MOST_RATIO = 1.5
COUNT_EVERY_STEP = tcuq.AlarmFlag.NOVELTY | tcuq.AlarmFlag.HEALTH


def with_gaps(stream: tcuq.Stream, every: int | None) -> dict[str, Any]:
    """Return the arguments of `Monitor.run` for this stream with a gap every so many steps."""
    extra = np.arange(0, len(stream), every) if every else np.zeros(1, np.int64)
    columns = {"stream": stream.posteriors, "features": stream.features}
    columns |= {} if stream.health is None else {"health": stream.health}
    return columns | {"starts": np.union1d(stream.starts, extra)}


def delays(profile: tcuq.Profile, stream: tcuq.Stream, every: int | None) -> list[float]:
    """Count the steps from each onset to its alarm; infinite if missed."""
    delays = []
    for run in runs_of(stream):
        assert run.shifted is not None  # noqa: S101 - faults are marked
        arguments = with_gaps(run, every)
        alarm = tcuq.Monitor(profile).run(**arguments).alarm
        hits = np.flatnonzero((alarm > 0) & run.shifted)
        step = int(hits[0]) if len(hits) else None
        delays.append(np.inf if step is None else delay_steps(profile, run, arguments, alarm, step))
    return delays


def delay_steps(
    profile: tcuq.Profile, run: tcuq.Stream, arguments: dict[str, Any], alarm: np.ndarray, step: int
) -> float:
    """Return steps from the onset to the alarm that its channel counts."""
    assert run.shifted is not None  # noqa: S101 - faults are marked
    onset = int(run.shifted.argmax())
    if alarm[step] & COUNT_EVERY_STEP:
        return float(step + 1 - onset)
    starts = arguments["starts"]
    at = np.arange(onset, step + 1)
    age = at - starts[np.searchsorted(starts, at, side="right") - 1]
    return float((age >= max(profile.signals.lags)).sum())


def delays_by_gap(seeds: Sequence[int], epochs: int) -> dict[int | None, list[float]]:
    """Measure delays by gap; the profile is fitted on calibration without gaps."""
    profile = fitted(clean_stream("calibration", health=True, epochs=epochs), H)
    figures: dict[int | None, list[float]] = {every: [] for every in (None, *GAPS)}
    for fault in FAULTS:
        for seed in seeds:
            stream = fault_stream(fault, draw(fault, seed), health=True, epochs=epochs)
            for every in figures:
                figures[every] += delays(profile, stream, every)
    return figures


def rows(short: bool) -> Iterator[Row]:
    """Yield onsets caught and median delays with gaps, beside those without."""
    figures = delays_by_gap(*((SHORT_DRAWS, SHORT_EPOCHS) if short else (DRAWS, EPOCHS)))
    whole = np.array(figures[None])
    most = int(np.isfinite(whole).sum())
    for every in GAPS:
        delayed = np.array(figures[every])
        both = np.isfinite(delayed) & np.isfinite(whole)
        ratio = float(np.median(delayed[both] / whole[both])) if both.any() else np.inf
        count = int(np.isfinite(delayed).sum())
        yield Row(
            f"a gap every {every} steps: onsets caught, and median ratio of counted delays",
            f"≥ {most} of {len(whole)} as without gaps, ≤ {MOST_RATIO}",
            f"{count} of {len(whole)}, {ratio:.2f}",
            count >= most and ratio <= MOST_RATIO,
        )


if __name__ == "__main__":
    measure("alarm_gaps", rows, LIBRARIES, more=provenance)
