# SPDX-License-Identifier: Apache-2.0
"""Labelled streams of disjoint rows, on which the bound on the accepted error is measured.

A row is what a split draws: an image, a row of gas data, a spoken clip, or a person's session. A
stream shows each of its rows about once; where rows belong to people, each person is a recording.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

import tcuq
from tcuq_benchmark.data import gas_drift
from tcuq_benchmark.data.samples import Array, Ints, Samples
from tcuq_benchmark.detectors.pools import SPAN, SamplePool
from tcuq_benchmark.detectors.recording_pool import RecordingPool
from tcuq_benchmark.detectors.tasks import make_pool
from tcuq_benchmark.networks.zoo import load_network
from tcuq_benchmark.outputs import join_rows
from tcuq_benchmark.recordings import windows
from tcuq_benchmark.scenarios.corruption import CorruptionScenarios
from tcuq_benchmark.scenarios.inertial import InertialScenarios
from tcuq_benchmark.scenarios.scenario import make_plan
from tcuq_benchmark.scenarios.tasks import FACTORIES
from tcuq_benchmark.streams import Episode, by_speaker

STEPS_PER_IMAGE = 5  # a visit takes about 7 steps, so that few images come twice


class Source(Protocol):
    """The rows of a set, whom they belong to, and their streams."""

    @property
    def person(self) -> Ints:
        """The person of each row; a row of its own where there are none."""

    @property
    def shifts(self) -> Sequence[Episode]:
        """The shifts that a stream can have."""

    def stream(self, rows: Ints, seed: int) -> tcuq.Stream:
        """Return an in-distribution stream of these rows."""

    def shifted(self, shift: Episode, rows: Ints, seed: int) -> tcuq.Stream:
        """Return at most SPAN shifted steps; of test's samples where the set has no people."""


@dataclass(frozen=True, eq=False)
class SampleSource:
    """Images or gas data in coherent streams."""

    pool: SamplePool
    person: Ints
    shifted_labels: Mapping[Episode, Ints]

    @property
    def shifts(self) -> Sequence[Episode]:
        """Corruptions, or later batches."""
        return self.pool.shifts

    def stream(self, rows: Ints, seed: int) -> tcuq.Stream:
        """Return a coherent stream in which few rows come twice."""
        steps = len(rows) * (STEPS_PER_IMAGE if self.pool.positions > 1 else 1)
        index = make_plan(self.pool.samples.take(rows), steps, "coherent", seed).index
        clean = self.pool.in_distribution(rows, steps, seed)
        return labelled(clean, self.pool.samples.y[rows[index]])

    def shifted(self, shift: Episode, rows: Ints, seed: int) -> tcuq.Stream:
        """Return the span of this shift."""
        return labelled(self.pool.shifted(shift, rows, seed), self.shifted_labels[shift])


class SpeakerSource(SampleSource):
    """Spoken clips: a recording is a speaker's clips, word by word."""

    def stream(self, rows: Ints, seed: int) -> tcuq.Stream:
        """Return every clip once."""
        at = rows[by_speaker(self.pool.samples.take(rows), seed).index]
        outputs = self.pool.outputs
        return tcuq.Stream(
            outputs["logits"][at],
            outputs["features"][at],
            self.pool.samples.y[at],
            kind="logits",
            starts=np.flatnonzero(np.diff(self.person[at], prepend=-1)),
        )


@dataclass(frozen=True, eq=False)
class SessionSource:
    """Sessions of people: a recording is a person's sessions."""

    pool: RecordingPool
    person: Ints
    labels: Sequence[Ints]  # of each session

    @property
    def shifts(self) -> Sequence[Episode]:
        """Sensor faults."""
        return self.pool.shifts

    def stream(self, rows: Ints, seed: int) -> tcuq.Stream:
        """Return all of these sessions, in a random order of the people."""
        return self._stream(rows, self.pool.clean, seed)

    def shifted(self, shift: Episode, rows: Ints, seed: int) -> tcuq.Stream:
        """Return these sessions with a fault, up to SPAN steps."""
        stream = self._stream(rows, self.pool.faulty[shift], seed)
        return stream[: min(SPAN, len(stream))]

    def _stream(self, rows: Ints, outputs: Sequence[dict[str, Array]], seed: int) -> tcuq.Stream:
        people = np.random.default_rng([seed, 13]).permutation(np.unique(self.person[rows]))
        order = np.concatenate([rows[self.person[rows] == person] for person in people])
        joined = join_rows([outputs[i] for i in order])
        begins = np.cumsum([0, *[len(self.labels[i]) for i in order[:-1]]])
        return tcuq.Stream(
            joined["logits"],
            joined["features"],
            np.concatenate([self.labels[i] for i in order]),
            kind="logits",
            starts=begins[np.flatnonzero(np.diff(self.person[order], prepend=-1))],
        )


@lru_cache(maxsize=1)
def source_of(task: str, network: int) -> Source:
    """Return the rows of a set with one network's outputs."""
    factory = FACTORIES[task]
    pool = make_pool(task, load_network(task, "base", network), network)
    if isinstance(factory, InertialScenarios):
        assert isinstance(pool, RecordingPool)  # noqa: S101 - for the type checker
        parts = factory.load()
        cut = windows([*parts["calibration"], *parts["test"]], factory.classes)
        return SessionSource(pool, pool.person, np.split(cut.samples.y, cut.starts[1:]))
    assert isinstance(pool, SamplePool)  # noqa: S101 - for the type checker
    if task == "speech":
        assert isinstance(factory, CorruptionScenarios)  # noqa: S101 - for the type checker
        labels = _span_labels(factory.load()["test"], pool.shifts, network)
        return SpeakerSource(pool, pool.samples.group, labels)
    every = np.arange(len(pool.samples))
    if isinstance(factory, CorruptionScenarios):
        labels = _span_labels(factory.load()["test"], pool.shifts, network)
        return SampleSource(pool, every, labels)
    return SampleSource(pool, every, _batch_labels(pool.shifts, network))


def labelled(stream: tcuq.Stream, labels: Ints) -> tcuq.Stream:
    """Return the stream with labels."""
    return tcuq.Stream(
        stream.posteriors, stream.features, labels, kind=stream.kind, starts=stream.starts
    )


def split_rows(person: Ints, share: float, seed: int, *, new_people: bool) -> tuple[Ints, Ints]:
    """Return rows to calibrate on and rows held out, of other people or of the same."""
    rng = np.random.default_rng([seed, 14])
    people = rng.permutation(np.unique(person))
    if new_people:
        chosen = np.isin(person, people[: max(1, round(share * len(people)))])
    else:
        chosen = np.zeros(len(person), np.bool_)
        for one in people:
            at = rng.permutation(np.flatnonzero(person == one))
            chosen[at[: max(1, round(share * len(at)))]] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def _span_labels(test: Samples, shifts: Sequence[Episode], seed: int) -> dict[Episode, Ints]:
    """Return the labels of a pool's spans, which follow each other on one plan."""
    index = make_plan(test, SPAN * len(shifts), "coherent", seed).index
    return dict(zip(shifts, test.y[index].reshape(len(shifts), SPAN), strict=True))


def _batch_labels(shifts: Sequence[Episode], seed: int) -> dict[Episode, Ints]:
    """Return the labels of the later batches of the gas data."""
    test = gas_drift.load()["test"]
    labels = {}
    for name, level in shifts:
        batch = test.take(test.group == int(name.split()[1]))
        labels[name, level] = batch.y[make_plan(batch, SPAN, "coherent", seed).index]
    return labels
