# SPDX-License-Identifier: Apache-2.0
"""Scenarios of sets that have a suite of corruptions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tcuq_benchmark.corruptions.suite import SEVERITIES, Suite
from tcuq_benchmark.data.samples import Part, Samples, joined
from tcuq_benchmark.scenarios.scenario import (
    CALIBRATION,
    DEVELOPMENT,
    DROP,
    IN_DISTRIBUTION,
    OOD,
    Kind,
    Name,
    Scenario,
    make_plan,
    single_condition,
)
from tcuq_benchmark.streams import CLEAN, DWELL, Plan, Segment, followed_by, with_segments

Ramp = Sequence[int]  # severities, each for an equal share of the corrupted steps
PLACEHOLDER_LABELS = 10


@dataclass(frozen=True, eq=False)
class CorruptionScenarios:
    """Scenarios of a set; `published` holds the severity of corruptions that have only one.

    `load_ood` is None for a set without an out-of-distribution set; `dwell` is that of coherent
    streams.
    """

    load: Callable[[], Mapping[Part, Samples]]
    load_ood: Callable[[], Samples] | None
    suite: Suite
    published: Mapping[str, int]
    calibration: int = CALIBRATION
    in_distribution: int = IN_DISTRIBUTION
    dwell: float = DWELL

    def __call__(self, name: Name, kind: Kind, seed: int) -> Scenario:
        """Return one scenario."""
        parts = self.load()
        if name == "development":
            return self._ramps(name, kind, seed, parts["development"], self._random_ramps(seed))
        if name == "drop":
            return self._ramps(name, kind, seed, parts["test"], self._rising_ramps())
        if name == "ood":
            return self._followed_by_ood(kind, seed, parts["test"])
        samples, steps = (
            (parts["test"], self.in_distribution)
            if name == "in_distribution"
            else (parts["calibration"], self.calibration)
        )
        return single_condition(name, kind, samples, self._plan(samples, steps, kind, seed))

    def _plan(self, samples: Samples, steps: int, kind: Kind, seed: int) -> Plan:
        return make_plan(samples, steps, kind, seed, dwell=self.dwell)

    def _rising_ramps(self) -> dict[str, Ramp]:
        return {
            corruption: [self.published[corruption]] if corruption in self.published else SEVERITIES
            for corruption in self.suite
        }

    def _random_ramps(self, seed: int) -> dict[str, Ramp]:
        """Return two random severities of each corruption, or the published one."""
        rng = np.random.default_rng([seed, 5])
        ramps = {c: rng.choice(SEVERITIES, 2, replace=False).tolist() for c in self.suite}
        return ramps | {c: [level] for c, level in self.published.items()}

    def _ramps(
        self, name: Name, kind: Kind, seed: int, samples: Samples, ramps: Mapping[str, Ramp]
    ) -> Scenario:
        """Return the clean steps and the ramp of each corruption, on one long stream."""
        steps = DEVELOPMENT if name == "development" else DROP
        segments: list[Segment] = []
        for corruption, ramp in ramps.items():
            segments.append((CLEAN, steps))
            segments += [((corruption, severity), steps // len(ramp)) for severity in ramp]
        starts = (np.arange(len(ramps)) * 2 * steps).tolist()
        clean = self._plan(samples, 2 * steps * len(ramps), kind, seed)
        condition = np.repeat(np.arange(len(ramps)), 2 * steps)
        plan = with_segments(clean, segments, starts)
        return Scenario(name, kind, samples, plan, self.suite, condition, tuple(ramps))

    def _followed_by_ood(self, kind: Kind, seed: int, samples: Samples) -> Scenario:
        """Return clean samples, then samples of another set, labelled -1."""
        if self.load_ood is None:
            raise ValueError("this task has no out-of-distribution set")
        other = self.load_ood()
        # A plan needs labels to dwell on; these are replaced by -1 below.
        placeholder = replace(other, y=other.y % PLACEHOLDER_LABELS)
        first, then = (self._plan(s, OOD, kind, seed) for s in (samples, placeholder))
        both = joined(samples, replace(other, y=np.full(len(other), -1)))
        return single_condition("ood", kind, both, followed_by(first, then, len(samples)))
