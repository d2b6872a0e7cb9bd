# SPDX-License-Identifier: Apache-2.0
"""Labelled streams of disjoint units, on which a bound on the accepted error is measured.

A unit is what is drawn at random into calibration or held out: an image, a row of gas data, a
speaker or a person. A stream shows each of its units about once; people are its recordings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

import tcuq
from benchmark.data import gas_drift
from benchmark.data.samples import Array, Ints, Samples
from benchmark.detectors.pools import SPAN, SamplePool
from benchmark.detectors.recording_pool import RecordingPool
from benchmark.detectors.tasks import make_pool
from benchmark.networks.zoo import load_network
from benchmark.outputs import join_rows
from benchmark.recordings import windows
from benchmark.scenarios.corruption import CorruptionScenarios
from benchmark.scenarios.inertial import InertialScenarios
from benchmark.scenarios.scenario import make_plan
from benchmark.scenarios.tasks import FACTORIES
from benchmark.streams import Episode, by_speaker

IMAGES = ("mnist", "fashion_mnist", "cifar10")
STEPS_PER_IMAGE = 5  # a visit takes about 7 steps, so that few images come twice


class Source(Protocol):
    """The units of a set and their streams."""

    part: Ints  # of each unit: 0 for calibration's, 1 for test's

    @property
    def shifts(self) -> Sequence[Episode]:
        """The shifts that a stream can have."""

    def stream(self, units: Ints, seed: int) -> tcuq.Stream:
        """An in-distribution stream of these units."""

    def shifted(self, shift: Episode, units: Ints, seed: int) -> tcuq.Stream:
        """A shifted stream; of test's samples where the set has no people."""


@dataclass(frozen=True, eq=False)
class SampleSource:
    """Images or rows, in coherent streams."""

    pool: SamplePool
    part: Ints
    shifted_labels: Mapping[Episode, Ints]

    @property
    def shifts(self) -> Sequence[Episode]:
        """Corruptions, or later batches."""
        return self.pool.shifts

    def stream(self, units: Ints, seed: int) -> tcuq.Stream:
        """A coherent stream in which few units come twice."""
        images = self.pool.positions > 1
        steps = len(units) * (STEPS_PER_IMAGE if images else 1)
        plan = make_plan(self.pool.samples.take(units), steps, "coherent", seed)
        clean = self.pool.in_distribution(units, steps, seed)
        return labelled(clean, self.pool.samples.y[units[plan.index]])

    def shifted(self, shift: Episode, units: Ints, seed: int) -> tcuq.Stream:
        """The span of this shift."""
        return labelled(self.pool.shifted(shift, units, seed), self.shifted_labels[shift])


@dataclass(frozen=True, eq=False)
class SpeakerSource:
    """Speakers: each is a recording of all its clips, word by word."""

    pool: SamplePool
    part: Ints
    shifted_labels: Mapping[Episode, Ints]

    @property
    def shifts(self) -> Sequence[Episode]:
        """Corruptions of the sound."""
        return self.pool.shifts

    def stream(self, units: Ints, seed: int) -> tcuq.Stream:
        """Every clip of these speakers once."""
        samples = self.pool.samples
        speakers = np.unique(samples.group)[units]
        rows = np.flatnonzero(np.isin(samples.group, speakers))
        chosen = samples.take(rows)
        index = by_speaker(chosen, seed).index
        at = rows[index]
        starts = np.flatnonzero(np.diff(samples.group[at], prepend=-1))
        outputs = self.pool.outputs
        return tcuq.Stream(
            outputs["logits"][at],
            outputs["features"][at],
            samples.y[at],
            kind="logits",
            starts=starts,
        )

    def shifted(self, shift: Episode, units: Ints, seed: int) -> tcuq.Stream:
        """The span of this shift."""
        return labelled(self.pool.shifted(shift, units, seed), self.shifted_labels[shift])


@dataclass(frozen=True, eq=False)
class PeopleSource:
    """People: each is a recording of all its sessions."""

    pool: RecordingPool
    labels: Sequence[Ints]  # of each session
    part: Ints

    @property
    def shifts(self) -> Sequence[Episode]:
        """Sensor faults."""
        return self.pool.shifts

    def stream(self, units: Ints, seed: int) -> tcuq.Stream:
        """All sessions of these people."""
        return self._stream(units, self.pool.clean, seed)

    def shifted(self, shift: Episode, units: Ints, seed: int) -> tcuq.Stream:
        """The same with a fault, up to SPAN steps."""
        return self._stream(units, self.pool.faulty[shift], seed)[:SPAN]

    def _stream(self, units: Ints, outputs: Sequence[dict[str, Array]], seed: int) -> tcuq.Stream:
        people = np.unique(self.pool.person)[np.random.default_rng([seed, 13]).permutation(units)]
        sessions = [np.flatnonzero(self.pool.person == person) for person in people]
        joined = join_rows([outputs[i] for at in sessions for i in at])
        lengths = [sum(len(self.labels[i]) for i in at) for at in sessions]
        return tcuq.Stream(
            joined["logits"],
            joined["features"],
            np.concatenate([self.labels[i] for at in sessions for i in at]),
            kind="logits",
            starts=np.cumsum([0, *lengths[:-1]]),
        )


@lru_cache(maxsize=1)
def source_of(task: str, network: int) -> Source:
    """The units of a set with one network's outputs."""
    factory = FACTORIES[task]
    pool = make_pool(task, load_network(task, "base", network), network)
    if isinstance(factory, InertialScenarios):
        assert isinstance(pool, RecordingPool)  # noqa: S101 - for the type checker
        parts = factory.load()
        cut = windows([*parts["calibration"], *parts["test"]], factory.classes)
        people, first = np.unique(pool.person, return_index=True)
        labels = np.split(cut.samples.y, cut.starts[1:])
        return PeopleSource(pool, labels, pool.part[first])
    assert isinstance(pool, SamplePool)  # noqa: S101 - for the type checker
    if isinstance(factory, CorruptionScenarios):
        labels = _span_labels(factory.load()["test"], pool.shifts, network)
    else:
        labels = _batch_labels(pool.shifts, network)
    if task == "speech":
        _, first = np.unique(pool.samples.group, return_index=True)
        return SpeakerSource(pool, pool.part[first], labels)
    return SampleSource(pool, pool.part, labels)


def labelled(stream: tcuq.Stream, labels: Ints) -> tcuq.Stream:
    """The stream with labels."""
    return tcuq.Stream(
        stream.posteriors, stream.features, labels, kind=stream.kind, starts=stream.starts
    )


def _span_labels(test: Samples, shifts: Sequence[Episode], seed: int) -> dict[Episode, Ints]:
    """Labels of the spans of a pool, which are one after the other on one plan."""
    index = make_plan(test, SPAN * len(shifts), "coherent", seed).index
    return dict(zip(shifts, test.y[index].reshape(len(shifts), SPAN), strict=True))


def _batch_labels(shifts: Sequence[Episode], seed: int) -> dict[Episode, Ints]:
    """Labels of the later batches of the gas data."""
    test = gas_drift.load()["test"]
    labels = {}
    for name, level in shifts:
        batch = test.take(test.group == int(name.split()[1]))
        labels[name, level] = batch.y[make_plan(batch, SPAN, "coherent", seed).index]
    return labels
