# SPDX-License-Identifier: Apache-2.0
"""What a scene is, and the lengths that all tasks share.

calibration: in distribution. development: labelled, every corruption once, clean between.
identity: in distribution, test samples. drop: for each corruption clean steps, then corrupted ones
of rising severity, as many. rehearsal: the same with development samples, to choose by.
ood: clean test samples, then samples of another set.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from benchmark.corruptions.suite import Suite
from benchmark.data.samples import Array, Ints, Samples
from benchmark.streams import Plan, coherent, iid, rendered

Kind = Literal["iid", "coherent"]
Name = Literal["calibration", "development", "identity", "drop", "rehearsal", "ood"]
KINDS: tuple[Kind, ...] = ("iid", "coherent")

CALIBRATION, IDENTITY, OOD = 20_000, 5_000, 1_000  # steps
DROP = 1_000  # steps before a corruption, and corrupted ones
DEVELOPMENT = 200
UNBALANCED = 2
STAY, JITTER = 8.0, 2  # a camera looks at an image for so many steps, and wanders so many pixels


@dataclass(frozen=True, eq=False)
class Scene:
    """A stream that can be rendered; `scenario` numbers the runs of steps that are judged alone."""

    name: Name
    kind: Kind
    samples: Samples
    plan: Plan
    suite: Suite
    scenario: Ints
    scenarios: tuple[str, ...]

    @cached_property
    def inputs(self) -> Array:
        """What the network is given, step by step."""
        return rendered(self.plan, self.samples, self.suite, 0, len(self.plan))

    @property
    def labels(self) -> Ints:
        """The true class, -1 where it is unknown or not one of the network's."""
        return self.samples.y[self.plan.index]


def streamed(samples: Samples, steps: int, kind: Kind, seed: int) -> Plan:
    """Samples in a stream of a kind; images are looked at by a wandering camera."""
    if kind == "iid":
        return iid(samples, steps, seed)
    if samples.x.dtype == np.uint8:
        return coherent(samples, steps, seed, stay=STAY, jitter=JITTER)
    # Only gas is unbalanced.
    counts = np.unique(samples.y, return_counts=True)[1]
    return coherent(
        samples, steps, seed, as_frequent=bool(counts.max() > UNBALANCED * counts.min())
    )


def alone(name: Name, kind: Kind, samples: Samples, plan: Plan) -> Scene:
    """A clean scene that is one scenario."""
    return Scene(name, kind, samples, plan, {}, np.zeros(len(plan), np.int64), (name,))
