# SPDX-License-Identifier: Apache-2.0
"""Scenarios: streams with a purpose, and the lengths that all tasks share.

calibration: in distribution. development: labelled, every corruption once, clean between.
in_distribution: clean test samples. drop: for each corruption 1,000 clean steps, then 1,000 of
rising severity. ood: clean test samples, then samples of another set.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tcuq_benchmark.corruptions.suite import Suite
from tcuq_benchmark.data.samples import Array, Ints, Samples
from tcuq_benchmark.streams import DWELL, Plan, coherent, iid, render

Kind = Literal["iid", "coherent"]
Name = Literal["calibration", "development", "in_distribution", "drop", "ood"]
KINDS: tuple[Kind, ...] = ("iid", "coherent")

CALIBRATION, IN_DISTRIBUTION, OOD = 20_000, 5_000, 1_000  # steps
DROP = 1_000  # steps before a corruption, and corrupted ones
DEVELOPMENT = 200
UNBALANCED = 2
STAY, JITTER = 8.0, 2  # mean steps per image; largest camera offset in pixels


@dataclass(frozen=True, eq=False)
class Scenario:
    """A stream that can be rendered; `condition` numbers the runs of steps evaluated separately.

    A condition is one corruption or one later batch, with the clean steps before it.
    """

    name: Name
    kind: Kind
    samples: Samples
    plan: Plan
    suite: Suite
    condition: Ints
    conditions: tuple[str, ...]

    @cached_property
    def inputs(self) -> Array:
        """The network's inputs, step by step."""
        return render(self.plan, self.samples, self.suite, 0, len(self.plan))

    @property
    def labels(self) -> Ints:
        """The true class, -1 where it is unknown or not one of the network's."""
        return self.samples.y[self.plan.index]


def make_plan(samples: Samples, steps: int, kind: Kind, seed: int, *, dwell: float = DWELL) -> Plan:
    """Return a plan of a kind; in coherent streams of images the camera does a random walk."""
    if kind == "iid":
        return iid(samples, steps, seed)
    if samples.x.dtype == np.uint8:
        return coherent(samples, steps, seed, dwell=dwell, stay=STAY, jitter=JITTER)
    # Only gas is unbalanced.
    counts = np.unique(samples.y, return_counts=True)[1]
    unbalanced = bool(counts.max() > UNBALANCED * counts.min())
    return coherent(samples, steps, seed, dwell=dwell, as_frequent=unbalanced)


def single_condition(name: Name, kind: Kind, samples: Samples, plan: Plan) -> Scenario:
    """Return an uncorrupted scenario that is evaluated as a whole."""
    return Scenario(name, kind, samples, plan, {}, np.zeros(len(plan), np.int64), (name,))
