# SPDX-License-Identifier: Apache-2.0
"""A pool of continuous recordings: people are dealt, or each person's recordings.

There are not enough of them for a long stream, so it plays them again and again in random order,
with noise of half an int8 step on the features and 0.05 on the logits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmark.corruptions.inertial import SUITE
from benchmark.data.samples import Array, Ints, Recording
from benchmark.detectors.pools import SPAN, Dealing, Sides, as_recorded
from benchmark.outputs import joined_rows
from benchmark.recordings import faulted, windows
from benchmark.seen import Network
from benchmark.streams import Episode
from tcuq import Stream

LOGIT_NOISE = 0.05
FEATURE_NOISE = 0.5 / 127  # of the largest feature

Outputs = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Recorded:
    """Recordings by number; `part` is 0 for calibration's people and 1 for test's."""

    person: Ints
    part: Ints
    clean: Sequence[Outputs]
    faulty: Mapping[Episode, Sequence[Outputs]]

    @property
    def shifts(self) -> Sequence[Episode]:
        """Sensor faults."""
        return tuple(self.faulty)

    def deal(self, dealing: Dealing, seed: int) -> Sides:
        """People at random, as many as the parts have (seed 0: the parts), or their recordings."""
        rng = np.random.default_rng([seed, 8])
        side = self.part.copy()
        if dealing == "mixed":
            for one in np.unique(self.person):
                at = rng.permutation(np.flatnonzero(self.person == one))
                side[at] = np.arange(len(at)) % 2
        elif seed:
            people = np.unique(self.person)
            tested = len(np.unique(self.person[self.part == 1]))
            side = np.isin(self.person, rng.permutation(people)[:tested]).astype(np.int64)
        return np.flatnonzero(side == 0), np.flatnonzero(side == 1)

    def calibration(self, side: Ints, steps: int, seed: int) -> Stream:  # noqa: ARG002 - as recorded
        """All recordings of the side once, as they are."""
        return _stream([self.clean[i] for i in side])

    def calm(self, side: Ints, steps: int, seed: int) -> Stream:
        """The side's recordings again and again, the last cut short."""
        rng = np.random.default_rng([seed, 9])
        largest = max(float(np.abs(self.clean[i]["features"]).max()) for i in side)
        parts: list[Outputs] = []
        while steps > 0:
            for number in rng.permutation(side):
                noisy = _noisy(self.clean[number], FEATURE_NOISE * largest, rng)
                parts.append({name: values[:steps] for name, values in noisy.items()})
                steps -= len(parts[-1]["logits"])
                if steps <= 0:
                    break
        return _stream(parts)

    def shifted(self, shift: Episode, side: Ints, seed: int) -> Stream:
        """Faulty recordings of the side in random order, up to SPAN steps."""
        parts, left = [], SPAN
        for number in np.random.default_rng([seed, 10]).permutation(side):
            if left > 0:
                parts.append({n: v[:left] for n, v in self.faulty[shift][number].items()})
                left -= len(parts[-1]["logits"])
        return _stream(parts)


def recorded(
    network: Network,
    calibration: Sequence[Recording],
    test: Sequence[Recording],
    classes: tuple[str, ...],
    severities: Sequence[int],
) -> Recorded:
    """A pool of the two parts, and every fault of the suite on every recording."""
    everything = [*calibration, *test]
    faulty = {
        (name, severity): _said(network, _with_fault(everything, (name, severity)), classes)
        for name in SUITE
        for severity in severities
    }
    return Recorded(
        np.array([recording.person for recording in everything]),
        np.repeat([0, 1], [len(calibration), len(test)]),
        _said(network, everything, classes),
        faulty,
    )


def _with_fault(recordings: Sequence[Recording], shift: Episode) -> list[Recording]:
    """Each recording by a faulty sensor of its own."""
    made = []
    for number, one in enumerate(recordings):
        length = len(one.label)
        made += faulted([one], [shift], SUITE, number, clean=0, corrupted=length)[0]
    return made


def _said(
    network: Network, recordings: Sequence[Recording], classes: tuple[str, ...]
) -> list[Outputs]:
    """What the network says, recording by recording."""
    cut = windows(recordings, classes)
    said = as_recorded(network, cut.samples)
    bounds = [*cut.starts.tolist(), len(cut.samples)]
    return [
        {name: values[begin:end] for name, values in said.items()}
        for begin, end in pairwise(bounds)
    ]


def _noisy(said: Outputs, feature_noise: float, rng: np.random.Generator) -> Outputs:
    scale = {"logits": LOGIT_NOISE, "features": feature_noise}
    return {
        name: values + scale[name] * rng.normal(size=values.shape) for name, values in said.items()
    }


def _stream(parts: Sequence[Outputs]) -> Stream:
    joined = joined_rows(parts)
    starts = np.cumsum([0, *[len(part["logits"]) for part in parts[:-1]]])
    return Stream(joined["logits"], joined["features"], kind="logits", starts=starts)
