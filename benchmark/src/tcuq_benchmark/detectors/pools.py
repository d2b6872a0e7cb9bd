# SPDX-License-Identifier: Apache-2.0
"""Pools: a network's outputs on all calibration and test samples, split for every calibration.

Streams of any length are then assembled by indexing: the network runs once per sample and camera
position, not once per step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from tcuq import Stream
from tcuq_benchmark.corruptions.suite import Suite
from tcuq_benchmark.data.samples import Array, Ints, Samples
from tcuq_benchmark.outputs import cached, key
from tcuq_benchmark.scenario_run import Network
from tcuq_benchmark.scenarios.scenario import JITTER, make_plan
from tcuq_benchmark.streams import Episode, Plan, in_order, new_plan, render, with_segments

# parts: calibrate on the calibration part, run on the test part; people differ.
# mixed: a random split of both parts' samples; people are on both sides.
Split = Literal["parts", "mixed"]
SPLITS: tuple[Split, ...] = ("parts", "mixed")
COLUMNS = ("logits", "features")
PART_STEPS = 16_384
SPAN = 1_000  # steps of a shift
SplitRows = tuple[Ints, Ints]  # rows to calibrate on, rows to run on


class Pool(Protocol):
    """The source of a task's streams."""

    @property
    def shifts(self) -> Sequence[Episode]:
        """The shifts that a stream can have; severity 0 is a natural drift."""

    def split(self, split: Split, seed: int) -> SplitRows:
        """Return two disjoint sets of rows."""

    def calibration(self, rows: Ints, steps: int, seed: int) -> Stream:
        """Return a stream to calibrate on; recordings have the length they have."""

    def in_distribution(self, rows: Ints, steps: int, seed: int) -> Stream:
        """Return an in-distribution stream."""

    def shifted(self, shift: Episode, rows: Ints, seed: int) -> Stream:
        """Return SPAN shifted steps of test samples; fewer where recordings are short."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Outputs on test samples under every shift, SPAN steps each, one after the other."""

    shifts: tuple[Episode, ...]
    outputs: dict[str, Array]

    def stream(self, shift: Episode) -> Stream:
        """Return the span of one shift."""
        begin = SPAN * self.shifts.index(shift)
        at = slice(begin, begin + SPAN)
        return Stream(self.outputs["logits"][at], self.outputs["features"][at], kind="logits")


@dataclass(frozen=True, eq=False)
class SamplePool:
    """Samples in coherent streams. `part` is 0 for calibration's and 1 for test's."""

    samples: Samples  # without inputs
    part: Ints
    positions: int  # of the camera, in each direction
    outputs: dict[str, Array]  # one row for every sample at every camera position
    spans: Spans

    @property
    def shifts(self) -> Sequence[Episode]:
        """The shifts of the spans."""
        return self.spans.shifts

    def split(self, split: Split, seed: int) -> SplitRows:
        """Return the two parts, or a random split of the same sizes."""
        part = self.part
        if split == "mixed":
            part = np.random.default_rng([seed, 7]).permutation(part)
        return np.flatnonzero(part == 0), np.flatnonzero(part == 1)

    def calibration(self, rows: Ints, steps: int, seed: int) -> Stream:
        """Return an in-distribution stream."""
        return self.in_distribution(rows, steps, seed)

    def in_distribution(self, rows: Ints, steps: int, seed: int) -> Stream:
        """Return a coherent stream of these samples."""
        plan = make_plan(self.samples.take(rows), steps, "coherent", seed)
        down, right = (plan.move.astype(np.int64) + self.positions // 2).T
        at = (rows[plan.index] * self.positions + down) * self.positions + right
        return Stream(self.outputs["logits"][at], self.outputs["features"][at], kind="logits")

    def shifted(self, shift: Episode, rows: Ints, seed: int) -> Stream:  # noqa: ARG002 - the same for all splits
        """Return the span of this shift."""
        return self.spans.stream(shift)


def sample_pool(network: Network, calibration: Samples, test: Samples, spans: Spans) -> SamplePool:
    """Return a pool of the two parts."""
    tables = [outputs_by_position(network, part) for part in (calibration, test)]
    parts = [np.full(len(part), number) for number, part in enumerate((calibration, test))]
    return SamplePool(
        _without_inputs(calibration, test),
        np.concatenate(parts),
        2 * camera_reach(calibration) + 1,
        {name: np.concatenate([one[name] for one in tables]) for name in COLUMNS},
        spans,
    )


def outputs_by_position(network: Network, samples: Samples) -> dict[str, Array]:
    """Return the network's outputs on every sample at every camera position."""
    reach = camera_reach(samples)
    positions = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 2, indexing="ij"), -1)
    moves = positions.reshape(-1, 2).astype(np.int8)
    plan = replace(
        new_plan(samples, np.repeat(np.arange(len(samples)), len(moves)), 0, {}),
        move=np.tile(moves, (len(samples), 1)),
        settings={"kind": "table", "reach": reach},
    )
    return run_plan(network, samples, plan, {})


def outputs_of_samples(network: Network, samples: Samples) -> dict[str, Array]:
    """Return the network's outputs on each sample."""
    return run_plan(network, samples, in_order(samples), {})


def corrupted_spans(
    network: Network, samples: Samples, suite: Suite, shifts: Sequence[Episode], seed: int
) -> Spans:
    """Return a span of every corruption."""
    plan = make_plan(samples, SPAN * len(shifts), "coherent", seed)
    starts = (SPAN * np.arange(len(shifts))).tolist()
    plan = with_segments(plan, [(shift, SPAN) for shift in shifts], starts)
    return Spans(tuple(shifts), run_plan(network, samples, plan, suite))


def run_plan(network: Network, samples: Samples, plan: Plan, suite: Suite) -> dict[str, Array]:
    """Return the network's outputs on a plan, from the cache if they are there."""
    name = key(samples.sha256, network.sha256, plan.settings | {"columns": list(COLUMNS)})

    def run(begin: int, end: int) -> dict[str, Array]:
        inputs = network.prepared(render(plan, samples, suite, begin, end))
        outputs = network.run_prepared(inputs)
        return {column: outputs[column] for column in COLUMNS}

    return cached(name, len(plan), run, part_steps=PART_STEPS)


def camera_reach(samples: Samples) -> int:
    """Return the largest camera offset in pixels; 0 for anything but images."""
    return JITTER if samples.x.dtype == np.uint8 else 0


def _without_inputs(first: Samples, then: Samples) -> Samples:
    """Return labels of both; the empty inputs only say by their type whether they are images."""
    y, group = (np.concatenate([getattr(s, n) for s in (first, then)]) for n in ("y", "group"))
    x = np.zeros((len(y), 1), first.x.dtype)
    return Samples(x, y, group, np.arange(len(y)), first.classes)
