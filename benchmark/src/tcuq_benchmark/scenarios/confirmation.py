# SPDX-License-Identifier: Apache-2.0
"""Scenarios of the second confirmation: natural shifts, faults and unknown things, by condition.

Coherent streams visit a recording for some steps and go on in its recorded order at the next visit;
a recording is a machine at one load, or a speaker's takes of one digit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tcuq_benchmark.corruptions import audio, vibration
from tcuq_benchmark.corruptions.suite import SEVERITIES, Suite
from tcuq_benchmark.data import bearings, fsdd
from tcuq_benchmark.data.samples import Part, Samples, joined
from tcuq_benchmark.scenarios.scenario import DROP, Kind, Name, Scenario, single_condition
from tcuq_benchmark.streams import (
    CLEAN,
    Plan,
    Segment,
    concatenate,
    iid,
    new_plan,
    with_segments,
)

CALIBRATION, IN_DISTRIBUTION = 5_000, 4_000  # steps: few samples, which come again
AUDIO_FAULTS = ("white_noise", "clipping", "low_pass", "time_mask", "reverb")


@dataclass(frozen=True, eq=False)
class ConfirmationScenarios:
    """Scenarios of one set; `dwell` is the mean number of steps of a visit."""

    load: Callable[[], Mapping[Part, Samples]]
    shifts: Callable[[], Mapping[str, Samples]]
    unknown: Callable[[], Mapping[str, Samples]]
    suite: Suite
    dwell: int

    def __call__(self, name: Name, kind: Kind, seed: int) -> Scenario:
        """Return one scenario; there is no development."""
        parts = self.load()
        if name == "drop":
            return self._conditions(name, kind, seed, self.shifts(), self.suite)
        if name == "ood":
            return self._conditions(name, kind, seed, self.unknown(), {})
        samples, steps = (
            (parts["calibration"], CALIBRATION)
            if name == "calibration"
            else (parts["test"], IN_DISTRIBUTION)
        )
        return single_condition(name, kind, samples, self.plan(samples, steps, kind, seed))

    def plan(self, samples: Samples, steps: int, kind: Kind, seed: int) -> Plan:
        """Return a clean plan of a kind."""
        if kind == "iid":
            return iid(samples, steps, seed)
        return in_turns(samples, steps, seed, self.dwell)

    def _conditions(
        self, name: Name, kind: Kind, seed: int, natural: Mapping[str, Samples], suite: Suite
    ) -> Scenario:
        """Return for each condition clean test steps, then as many shifted or faulty ones."""
        samples = test = self.load()["test"]
        plans: list[Plan] = []
        segments: list[Segment] = []
        for number, other in enumerate(natural.values()):
            first, then = (
                self.plan(one, DROP, kind, 100 * seed + 2 * number + turn)
                for turn, one in enumerate((test, other))
            )
            shifted = np.ones(DROP, np.bool_)
            plans += [first, replace(then, index=then.index + len(samples), shifted=shifted)]
            segments.append((CLEAN, 2 * DROP))
            samples = joined(samples, other)
        for number, fault in enumerate(suite):
            plans.append(self.plan(test, 2 * DROP, kind, 100 * seed + 50 + number))
            segments.append((CLEAN, DROP))
            segments += [((fault, level), DROP // len(SEVERITIES)) for level in SEVERITIES]
        conditions = (*natural, *suite)
        starts = (2 * DROP * np.arange(len(conditions))).tolist()
        settings = {"kind": "conditions", "plans": [plan.settings for plan in plans]}
        plan = concatenate(plans, np.array(starts), settings)
        condition = np.repeat(np.arange(len(conditions)), 2 * DROP)
        plan = replace(with_segments(plan, segments, starts), seed=seed)
        return Scenario(name, kind, samples, plan, suite, condition, conditions)


def in_turns(samples: Samples, steps: int, seed: int, dwell: int) -> Plan:
    """Return passes over all samples: visits to the groups, in random order and of random length.

    A visit is 1 to 2 dwell - 1 consecutive samples of a group; each pass has every sample once.
    """
    rng = np.random.default_rng([seed, 16])
    groups = [np.flatnonzero(samples.group == number) for number in np.unique(samples.group)]
    index: list[int] = []
    while len(index) < steps:
        visits: list[list[int]] = []
        for rows in groups:
            ends = np.cumsum(rng.integers(1, 2 * dwell, len(rows)))
            visits += [visit.tolist() for visit in np.split(rows, ends[ends < len(rows)])]
        for turn in rng.permutation(len(visits)):
            index += visits[turn]
    settings = {"kind": "in turns", "steps": steps, "dwell": dwell}
    return new_plan(samples, np.array(index[:steps]), seed, settings)


SCENARIOS: Mapping[str, ConfirmationScenarios] = {
    "fsdd": ConfirmationScenarios(
        fsdd.load,
        fsdd.shifts,
        fsdd.unknown,
        {name: audio.SUITE[name] for name in AUDIO_FAULTS},
        dwell=10,
    ),
    "bearings": ConfirmationScenarios(
        bearings.load, bearings.shifts, bearings.unknown, vibration.SUITE, dwell=30
    ),
}
