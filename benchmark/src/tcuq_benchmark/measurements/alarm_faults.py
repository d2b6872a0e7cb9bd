# SPDX-License-Identifier: Apache-2.0
"""HAPT's six sensor faults: how many onsets the alarm catches, and how fast.

The alarm is set to one false alarm in 1,048,576 steps. The six published draws, new draws at full
and at half severity, and the same people without a fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import tcuq
from results.result import Row, figure, measure
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
NEW_DRAWS = range(1, 7)
HALF_FAULTS = tuple(fault for fault in FAULTS if fault != "stuck")  # it has no severity
FEWEST, FEWEST_FULL, FEWEST_HALF = 10, 59, 40
LONGEST_DELAY = 205


@dataclass(slots=True)
class Detections:
    """By fault and draw: delays of two onsets, infinite if missed, and causes of their alarms."""

    delays: dict[str, list[float]] = field(default_factory=dict)
    causes: dict[str, list[str]] = field(default_factory=dict)
    early: int = 0  # alarms before an onset

    def add(self, name: str, profile: tcuq.Profile, stream: tcuq.Stream) -> None:
        """Run each onset on a new monitor, as after a repair."""
        self.delays[name], self.causes[name] = [], []
        for run in runs_of(stream):
            assert run.shifted is not None  # noqa: S101 - faults are marked
            alarms = tcuq.Monitor(profile).run(run).alarms
            onset = int(run.shifted.argmax())
            first = next((step for step in alarms if step >= onset), None)
            self.delays[name].append(np.inf if first is None else float(first + 1 - onset))
            self.causes[name].append("" if first is None else alarms[first])
            self.early += sum(step < onset for step in alarms)

    def of(self, fault: str = "") -> list[float]:
        """Return the delays of every onset, or of those of one fault."""
        return [d for name, pair in self.delays.items() if name.startswith(fault) for d in pair]


def detections(
    faults: Sequence[str], seeds: Sequence[int], severity: float, epochs: int
) -> Detections:
    """Run every draw of these faults."""
    profile = fitted(clean_stream("calibration", health=True, epochs=epochs), H)
    result = Detections()
    for fault in faults:
        for seed in seeds:
            stream = fault_stream(fault, draw(fault, seed), severity, health=True, epochs=epochs)
            result.add(f"{fault} {seed}", profile, stream)
    return result


def published_rows(six: Detections) -> Iterator[Row]:
    """Yield the six published draws."""
    delays = six.of()
    count, total, median = caught(delays), len(delays), float(np.median(delays))
    yield Row(
        f"HAPT's six faults at h = {H}: onsets caught, and median delay in steps",
        f"≥ {FEWEST} of {total}, ≤ {LONGEST_DELAY}",
        f"{count} of {total}, {median:.0f}",
        count >= FEWEST and median <= LONGEST_DELAY,
    )
    for name, pair in six.delays.items():
        words = [
            f"{delay:.0f}" + (f" ({cause})" if cause else "") if np.isfinite(delay) else "missed"
            for delay, cause in zip(pair, six.causes[name], strict=True)
        ]
        what = f"delay of HAPT's fault {name.split()[0]}, its two onsets"
        yield figure(what, " and ".join(words))


def caught(delays: Sequence[float]) -> int:
    """Return the number of onsets with an alarm."""
    return int(np.isfinite(delays).sum())


def draws_row(new: Detections, title: str, fewest: int) -> Row:
    """Return how many onsets of new draws are caught."""
    faults = dict.fromkeys(name.split()[0] for name in new.delays)
    detail = ", ".join(f"{fault} {caught(new.of(fault))}" for fault in faults)
    count, total = caught(new.of()), len(new.of())
    return Row(
        f"new draws of HAPT's faults at {title} severity, h = {H}: onsets caught",
        f"≥ {fewest} of {total}",
        f"{count} of {total} ({detail})",
        count >= fewest,
    )


def quiet_row(early: int, epochs: int) -> Row:
    """Return the false alarms on the test people, and before any onset."""
    profile = fitted(clean_stream("calibration", health=True, epochs=epochs), H)
    test = clean_stream("test", health=True, epochs=epochs)
    count = int((tcuq.Monitor(profile).run(test).alarm > 0).sum())
    return Row(
        f"false alarms at h = {H} on HAPT's test people, and before any onset",
        "0 and 0",
        f"{count} and {early}",
        count == early == 0,
    )


def rows(short: bool) -> Iterator[Row]:
    """Yield the six published draws, and in the long form new ones."""
    epochs = SHORT_EPOCHS if short else EPOCHS
    six = detections(FAULTS, [0], 1.0, epochs)
    yield from published_rows(six)
    if short:
        # So short a training leaves 23 % errors on the test people, 8 % on calibration's: a shift.
        yield replace(quiet_row(six.early, epochs), must="–", passed=None)
        return
    full = detections(FAULTS, NEW_DRAWS, 1.0, epochs)
    half = detections(HALF_FAULTS, NEW_DRAWS, 0.5, epochs)
    yield quiet_row(six.early + full.early + half.early, epochs)
    yield draws_row(full, "full", FEWEST_FULL)
    yield draws_row(half, "half", FEWEST_HALF)


if __name__ == "__main__":
    measure("alarm_faults", rows, LIBRARIES, more=provenance)
