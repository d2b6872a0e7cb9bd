# SPDX-License-Identifier: Apache-2.0
"""Duty cycles: HAPT's faults with a gap every 20, 60 and 200 steps, beside no gaps.

A gap makes the monitor forget its past: channels that look back skip the first steps after it.
Delays are in steps that the alarming channel counts.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import tcuq
from results.result import Row, arguments, report
from tcuq_benchmark.data import hapt
from tcuq_benchmark.data.files import manifest
from tcuq_benchmark.measurements.alarm_cases import LEVELS, LIBRARIES, fitted
from tcuq_benchmark.measurements.alarm_hapt import FAULTS, clean_stream, draw, fault_stream, runs_of
from tcuq_benchmark.measurements.alarm_hapt_network import EPOCHS, SHORT_EPOCHS, weights_sha256

H = LEVELS[-1]
GAPS = (20, 60, 200)  # steps between two gaps
DRAWS, SHORT_DRAWS = range(7), range(1)
MOST_RATIO = 1.5
COUNT_EVERY_STEP = tcuq.AlarmFlag.NOVELTY | tcuq.AlarmFlag.HEALTH


def with_gaps(stream: tcuq.Stream, every: int | None) -> dict[str, Any]:
    """The arguments of `Monitor.run` for this stream with a gap every so many steps."""
    extra = np.arange(0, len(stream), every) if every else np.zeros(1, np.int64)
    columns = {"stream": stream.posteriors, "features": stream.features}
    columns |= {} if stream.health is None else {"health": stream.health}
    return columns | {"starts": np.union1d(stream.starts, extra)}


def delays(profile: tcuq.Profile, stream: tcuq.Stream, every: int | None) -> list[float | None]:
    """Counted steps from each onset to its alarm; None if missed."""
    delays: list[float | None] = []
    for run in runs_of(stream):
        assert run.shifted is not None  # noqa: S101 - faults are marked
        arguments = with_gaps(run, every)
        alarm = tcuq.Monitor(profile).run(**arguments).alarm
        hits = np.flatnonzero((alarm > 0) & run.shifted)
        delays.append(None if len(hits) == 0 else counted(profile, run, arguments, alarm, hits[0]))
    return delays


def counted(
    profile: tcuq.Profile,
    run: tcuq.Stream,
    arguments: dict[str, Any],
    alarm: np.ndarray,
    step: int,
) -> float:
    """Steps from the onset to the alarm that its channel counts."""
    assert run.shifted is not None  # noqa: S101 - faults are marked
    onset = int(run.shifted.argmax())
    if alarm[step] & COUNT_EVERY_STEP:
        return float(step + 1 - onset)
    starts = arguments["starts"]
    at = np.arange(onset, step + 1)
    age = at - starts[np.searchsorted(starts, at, side="right") - 1]
    return float((age >= max(profile.signals.lags)).sum())


def measured(seeds: Sequence[int], *, epochs: int) -> dict[str, list[float | None]]:
    """Delays by gap; the profile is fitted on calibration without gaps."""
    profile = fitted(clean_stream("calibration", health=True, epochs=epochs), H)
    figures: dict[str, list[float | None]] = {str(every): [] for every in (None, *GAPS)}
    for fault in FAULTS:
        for seed in seeds:
            stream = fault_stream(fault, draw(fault, seed), health=True, epochs=epochs)
            for every in (None, *GAPS):
                figures[str(every)] += delays(profile, stream, every)
    return figures


def gap_rows(figures: dict[str, list[float | None]]) -> list[Row]:
    """Onsets caught and median delays with gaps, beside those without."""
    whole = figures["None"]
    most = sum(value is not None for value in whole)
    rows = []
    for every in GAPS:
        delayed = figures[str(every)]
        pairs = [
            new / old
            for new, old in zip(delayed, whole, strict=True)
            if new is not None and old is not None
        ]
        ratio = float(np.median(pairs)) if pairs else np.inf
        count = sum(value is not None for value in delayed)
        rows.append(
            Row(
                f"a gap every {every} steps: onsets caught, and median ratio of counted delays",
                f"≥ {most} of {len(whole)} as without gaps, ≤ {MOST_RATIO}",
                f"{count} of {len(whole)}, {ratio:.2f}",
                count >= most and ratio <= MOST_RATIO,
            )
        )
    return rows


def main() -> None:
    """Measure and report."""
    args = arguments()
    epochs = SHORT_EPOCHS if args.short else EPOCHS
    seeds = SHORT_DRAWS if args.short else DRAWS
    figures = measured(seeds, epochs=epochs)
    provenance = {
        "data_sha256": {hapt.NAME: manifest()[hapt.NAME].sha256},
        "networks_sha256": {"hapt-activity": weights_sha256(epochs)},
    }
    rows = gap_rows(figures)
    sys.exit(report("alarm_gaps", rows, LIBRARIES, write=args.write, more=provenance))


if __name__ == "__main__":
    main()
