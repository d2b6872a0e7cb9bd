# SPDX-License-Identifier: Apache-2.0
"""Pools: all that a network says of a task's unseen samples, dealt anew for every calibration.

A stream of any length is then a matter of looking up: the network sees each sample once at each
place of the camera, not once a step.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from benchmark.corruptions.suite import Suite
from benchmark.data.samples import Array, Ints, Samples
from benchmark.outputs import cached, key
from benchmark.scenes.scene import JITTER, streamed
from benchmark.seen import Network
from benchmark.streams import Episode, Plan, in_order, laid, rendered
from tcuq import Stream

# parts: calibration's part and test's, other people where there are people.
# mixed: both parts' samples dealt anew, so that both sides have the same people.
Dealing = Literal["parts", "mixed"]
DEALINGS: tuple[Dealing, ...] = ("parts", "mixed")
KEPT = ("logits", "features")
PART_STEPS = 16_384
SPAN = 1_000  # steps of a shift
Sides = tuple[Ints, Ints]  # what to calibrate on, what to run on


class Pool(Protocol):
    """Where a task's streams come from."""

    @property
    def shifts(self) -> Sequence[Episode]:
        """What can happen to a stream; severity 0 is a natural drift."""

    def deal(self, dealing: Dealing, seed: int) -> Sides:
        """Two sides that share nothing."""

    def calibration(self, side: Ints, steps: int, seed: int) -> Stream:
        """A stream to calibrate on; recordings are as long as they are."""

    def calm(self, side: Ints, steps: int, seed: int) -> Stream:
        """A stream of the same kind, in distribution."""

    def shifted(self, shift: Episode, side: Ints, seed: int) -> Stream:
        """SPAN steps, all of them shifted, of test samples; fewer where recordings are short."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Test samples under every shift, SPAN steps each, one after the other."""

    shifts: tuple[Episode, ...]
    outputs: dict[str, Array]

    def stream(self, shift: Episode) -> Stream:
        """One of them."""
        begin = SPAN * self.shifts.index(shift)
        at = slice(begin, begin + SPAN)
        return Stream(self.outputs["logits"][at], self.outputs["features"][at], kind="logits")


@dataclass(frozen=True, eq=False)
class Sampled:
    """Samples in coherent streams. `part` is 0 for calibration's and 1 for test's."""

    samples: Samples  # without inputs
    part: Ints
    places: int  # of the camera, in each direction
    outputs: dict[str, Array]  # a row for every sample at every place
    spans: Spans

    @property
    def shifts(self) -> Sequence[Episode]:
        """Those of the spans."""
        return self.spans.shifts

    def deal(self, dealing: Dealing, seed: int) -> Sides:
        """The parts, or as many samples of both, at random."""
        part = self.part
        if dealing == "mixed":
            part = np.random.default_rng([seed, 7]).permutation(part)
        return np.flatnonzero(part == 0), np.flatnonzero(part == 1)

    def calibration(self, side: Ints, steps: int, seed: int) -> Stream:
        """As the calm ones."""
        return self.calm(side, steps, seed)

    def calm(self, side: Ints, steps: int, seed: int) -> Stream:
        """Looked up."""
        plan = streamed(self.samples.take(side), steps, "coherent", seed)
        down, right = (plan.move.astype(np.int64) + self.places // 2).T
        rows = (side[plan.index] * self.places + down) * self.places + right
        found = {name: values[rows] for name, values in self.outputs.items()}
        return Stream(found["logits"], found["features"], kind="logits")

    def shifted(self, shift: Episode, side: Ints, seed: int) -> Stream:  # noqa: ARG002 - the same for all sides
        """The span of this shift."""
        return self.spans.stream(shift)


def sampled(network: Network, calibration: Samples, test: Samples, spans: Spans) -> Sampled:
    """A pool of the two parts."""
    tables = [table(network, part) for part in (calibration, test)]
    parts = [np.full(len(part), side) for side, part in enumerate((calibration, test))]
    return Sampled(
        _without_inputs(calibration, test),
        np.concatenate(parts),
        2 * reach(calibration) + 1,
        {name: np.concatenate([one[name] for one in tables]) for name in KEPT},
        spans,
    )


def table(network: Network, samples: Samples) -> dict[str, Array]:
    """What the network says of every sample with the camera at every place."""
    far = reach(samples)
    places = np.stack(np.meshgrid(*[np.arange(-far, far + 1)] * 2, indexing="ij"), -1)
    moves = places.reshape(-1, 2).astype(np.int8)
    count = len(samples) * len(moves)
    plan = Plan(
        index=np.repeat(np.arange(len(samples)), len(moves)),
        move=np.tile(moves, (len(samples), 1)),
        corruption=np.full(count, -1, np.int64),
        severity=np.zeros(count, np.int64),
        shifted=np.zeros(count, np.bool_),
        starts=np.zeros(1, np.int64),
        corruptions=(),
        seed=0,
        settings={"kind": "table", "reach": far},
    )
    return run(network, samples, plan, {})


def corrupted(
    network: Network, samples: Samples, suite: Suite, shifts: Sequence[Episode], seed: int
) -> Spans:
    """A span of every corruption."""
    plan = streamed(samples, SPAN * len(shifts), "coherent", seed)
    begins = (SPAN * np.arange(len(shifts))).tolist()
    plan = laid(plan, [(shift, SPAN) for shift in shifts], begins)
    return Spans(tuple(shifts), run(network, samples, plan, suite))


def run(network: Network, samples: Samples, plan: Plan, suite: Suite) -> dict[str, Array]:
    """The network's outputs on a plan, from the cache where they are there."""
    name = key(samples.sha256, network.sha256, plan.settings | {"kept": list(KEPT)})

    def outputs(begin: int, end: int) -> dict[str, Array]:
        shown = network.prepared(rendered(plan, samples, suite, begin, end))
        said = network.run_prepared(shown)
        return {column: said[column] for column in KEPT}

    return cached(name, len(plan), outputs, part_steps=PART_STEPS)


def reach(samples: Samples) -> int:
    """How far the camera wanders: images only have one."""
    return JITTER if samples.x.dtype == np.uint8 else 0


def as_recorded(network: Network, samples: Samples) -> dict[str, Array]:
    """What the network says of each sample."""
    return run(network, samples, in_order(samples), {})


def _without_inputs(first: Samples, then: Samples) -> Samples:
    """Labels of both; the inputs only tell whether they are images."""
    y, group = (np.concatenate([getattr(s, n) for s in (first, then)]) for n in ("y", "group"))
    x = np.zeros((len(y), 1), first.x.dtype)
    return Samples(x, y, group, np.arange(len(y)), first.classes)
