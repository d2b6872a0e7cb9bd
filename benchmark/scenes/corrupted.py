# SPDX-License-Identifier: Apache-2.0
"""Scenes of a set that has a suite of corruptions and a set of other things beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.corruptions.suite import SEVERITIES, Suite
from benchmark.data.samples import Part, Samples, joined
from benchmark.scenes.scene import (
    CALIBRATION,
    DEVELOPMENT,
    DROP,
    IDENTITY,
    OOD,
    Kind,
    Name,
    Scene,
    alone,
    streamed,
)
from benchmark.streams import CLEAN, Segment, followed, laid

Ramp = Sequence[int]  # severities, an equal share of the corrupted steps each
FAKE_LABELS = 10


@dataclass(frozen=True, eq=False)
class Corrupted:
    """Scenes of a set; `published` are the severities of corruptions that have only one."""

    load: Callable[[], Mapping[Part, Samples]]
    load_other: Callable[[], Samples]
    suite: Suite
    published: Mapping[str, int]

    def __call__(self, name: Name, kind: Kind, seed: int) -> Scene:
        """One scene."""
        parts = self.load()
        if name == "development":
            return self._ramps(name, kind, seed, parts["development"], self._varied(seed))
        if name in ("drop", "rehearsal"):
            samples = parts["test" if name == "drop" else "development"]
            return self._ramps(name, kind, seed, samples, self._rising())
        if name == "ood":
            return _followed_by(kind, seed, parts["test"], self.load_other())
        if name == "identity":
            return alone(name, kind, parts["test"], streamed(parts["test"], IDENTITY, kind, seed))
        samples = parts["calibration"]
        return alone(name, kind, samples, streamed(samples, CALIBRATION, kind, seed))

    def _rising(self) -> dict[str, Ramp]:
        return {
            corruption: [self.published[corruption]] if corruption in self.published else SEVERITIES
            for corruption in self.suite
        }

    def _varied(self, seed: int) -> dict[str, Ramp]:
        """Two severities of each, drawn at random, or the published one."""
        rng = np.random.default_rng([seed, 5])
        drawn = {c: rng.choice(SEVERITIES, 2, replace=False).tolist() for c in self.suite}
        return drawn | {c: [level] for c, level in self.published.items()}

    def _ramps(
        self, name: Name, kind: Kind, seed: int, samples: Samples, ramps: Mapping[str, Ramp]
    ) -> Scene:
        """Each corruption's clean steps and ramp, one after the other, on one long stream."""
        steps = DEVELOPMENT if name == "development" else DROP
        segments: list[Segment] = []
        for corruption, ramp in ramps.items():
            segments.append((CLEAN, steps))
            segments += [((corruption, severity), steps // len(ramp)) for severity in ramp]
        begins = (np.arange(len(ramps)) * 2 * steps).tolist()
        plan = laid(streamed(samples, 2 * steps * len(ramps), kind, seed), segments, begins)
        scenario = np.repeat(np.arange(len(ramps)), 2 * steps)
        return Scene(name, kind, samples, plan, self.suite, scenario, tuple(ramps))


def _followed_by(kind: Kind, seed: int, samples: Samples, other: Samples) -> Scene:
    """Clean samples, then others, whose labels are none of the network's."""
    # While the stream is laid out they have labels to dwell on.
    dwelling = replace(other, y=other.y % FAKE_LABELS)
    first, then = (streamed(s, OOD, kind, seed) for s in (samples, dwelling))
    both = joined(samples, replace(other, y=np.full(len(other), -1)))
    return alone("ood", kind, both, followed(first, then, len(samples)))
