# SPDX-License-Identifier: Apache-2.0
"""Continuous inertial recordings cut into windows; sensor faults act on whole spans."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.corruptions.suite import Suite, apply
from tcuq_benchmark.data.samples import Ints, Recording, Samples
from tcuq_benchmark.streams import Episode

WINDOW, HOP = 128, 64  # samples at 50 Hz


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Windows in recorded order: samples (n, 128, 6), where recordings start, which have faults."""

    samples: Samples
    starts: Ints
    shifted: NDArray[np.bool_]


def with_faults(
    recordings: Sequence[Recording],
    episodes: Sequence[Episode],
    suite: Suite,
    seed: int,
    *,
    clean: int,
    corrupted: int,
) -> tuple[list[Recording], list[NDArray[np.bool_]]]:
    """Return the recordings with faults, and masks of the samples on which they act.

    `clean` and `corrupted` are lengths in samples: clean, the first fault, clean, the second ...
    The remainder stays clean. A fault's random parameters are drawn once for its whole span.
    """
    signal = np.concatenate([recording.signal for recording in recordings])
    active = np.zeros(len(signal), np.bool_)
    needed = clean + len(episodes) * (corrupted + clean)
    if needed > len(signal):
        raise ValueError(f"the recordings must have {needed} samples, got {len(signal)}")
    for number, (name, severity) in enumerate(episodes):
        begin = clean + number * (corrupted + clean)
        span = slice(begin, begin + corrupted)
        rng = np.random.default_rng([seed, 4, number])
        signal[span] = apply(suite, name, signal[None, span], severity, rng)[0]
        active[span] = severity > 0
    cuts = np.cumsum([len(recording.label) for recording in recordings])[:-1]
    parts = zip(recordings, np.split(signal, cuts), strict=True)
    return [Recording(r.name, r.person, x, r.label) for r, x in parts], np.split(active, cuts)


def windows(
    recordings: Sequence[Recording],
    classes: tuple[str, ...],
    active: Sequence[NDArray[np.bool_]] | None = None,
    *,
    hop: int = HOP,
    join_people: bool = False,
) -> Windows:
    """Cut recordings into overlapping windows, each with the label of its centre (-1: unknown).

    A window is shifted if a fault acts on any of its samples. History restarts with each
    recording, or with `join_people` only with each person.
    """
    xs, ys, people, faults, starts = [], [], [], [], [0]
    for number, recording in enumerate(recordings):
        first = np.arange(0, len(recording.label) - WINDOW + 1, hop)
        inside = first[:, None] + np.arange(WINDOW)
        xs.append(recording.signal[inside])
        ys.append(recording.label[first + WINDOW // 2])
        people.append(np.full(len(first), recording.person))
        acting = np.zeros(len(recording.label), np.bool_) if active is None else active[number]
        faults.append(acting[inside].any(axis=1))
        starts.append(starts[-1] + len(first))
    person = np.concatenate(people)
    first_windows = np.unique(np.array(starts[:-1], np.int64))
    if join_people:
        new_person = person[first_windows] != person[first_windows - 1]
        first_windows = first_windows[(first_windows == 0) | new_person]
    rows = np.arange(len(person))
    samples = Samples(np.concatenate(xs), np.concatenate(ys), person, rows, classes)
    return Windows(samples, first_windows, np.concatenate(faults))
