# SPDX-License-Identifier: Apache-2.0
"""A pool of continuous recordings, split by person or within each person.

They are too short for a long stream, so it repeats them in random order, with noise of half an
int8 step on the features and 0.05 on the logits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tcuq import Stream
from tcuq_benchmark.corruptions.inertial import SUITE
from tcuq_benchmark.data.samples import Array, Ints, Recording
from tcuq_benchmark.detectors.pools import SPAN, Split, SplitRows, outputs_of_samples
from tcuq_benchmark.outputs import join_rows
from tcuq_benchmark.recordings import windows, with_faults
from tcuq_benchmark.scenario_run import Network
from tcuq_benchmark.streams import Episode

LOGIT_NOISE = 0.05
FEATURE_NOISE = 0.5 / 127  # of the largest feature

Outputs = dict[str, Array]


@dataclass(frozen=True, eq=False)
class RecordingPool:
    """Recordings by number; `part` is 0 for calibration's people and 1 for test's."""

    person: Ints
    part: Ints
    clean: Sequence[Outputs]
    faulty: Mapping[Episode, Sequence[Outputs]]

    @property
    def shifts(self) -> Sequence[Episode]:
        """Sensor faults."""
        return tuple(self.faulty)

    def split(self, split: Split, seed: int) -> SplitRows:
        """Split people at random, as many as the parts have (seed 0: the parts), or recordings.

        "mixed" splits the recordings of each person.
        """
        rng = np.random.default_rng([seed, 8])
        side = self.part.copy()
        if split == "mixed":
            for person in np.unique(self.person):
                at = rng.permutation(np.flatnonzero(self.person == person))
                side[at] = np.arange(len(at)) % 2
        elif seed:
            people = np.unique(self.person)
            tested = len(np.unique(self.person[self.part == 1]))
            side = np.isin(self.person, rng.permutation(people)[:tested]).astype(np.int64)
        return np.flatnonzero(side == 0), np.flatnonzero(side == 1)

    def calibration(self, rows: Ints, steps: int, seed: int) -> Stream:  # noqa: ARG002 - as recorded
        """Return these recordings once, unchanged."""
        return _stream([self.clean[i] for i in rows])

    def in_distribution(self, rows: Ints, steps: int, seed: int) -> Stream:
        """Return these recordings repeated in random order, the last one truncated."""
        rng = np.random.default_rng([seed, 9])
        largest = max(float(np.abs(self.clean[i]["features"]).max()) for i in rows)
        parts: list[Outputs] = []
        while steps > 0:
            for number in rng.permutation(rows):
                noisy = _add_noise(self.clean[number], FEATURE_NOISE * largest, rng)
                parts.append({name: values[:steps] for name, values in noisy.items()})
                steps -= len(parts[-1]["logits"])
                if steps <= 0:
                    break
        return _stream(parts)

    def shifted(self, shift: Episode, rows: Ints, seed: int) -> Stream:
        """Return faulty versions of these recordings in random order, up to SPAN steps."""
        parts, left = [], SPAN
        for number in np.random.default_rng([seed, 10]).permutation(rows):
            if left > 0:
                parts.append({n: v[:left] for n, v in self.faulty[shift][number].items()})
                left -= len(parts[-1]["logits"])
        return _stream(parts)


def recording_pool(
    network: Network,
    calibration: Sequence[Recording],
    test: Sequence[Recording],
    classes: tuple[str, ...],
    severities: Sequence[int],
) -> RecordingPool:
    """Return a pool of the two parts, and every fault of the suite on every recording."""
    recordings = [*calibration, *test]
    faulty = {
        (name, severity): _outputs(network, _with_fault(recordings, (name, severity)), classes)
        for name in SUITE
        for severity in severities
    }
    return RecordingPool(
        np.array([recording.person for recording in recordings]),
        np.repeat([0, 1], [len(calibration), len(test)]),
        _outputs(network, recordings, classes),
        faulty,
    )


def _with_fault(recordings: Sequence[Recording], shift: Episode) -> list[Recording]:
    """Return each recording with its own random instance of the fault."""
    faulty = []
    for number, one in enumerate(recordings):
        length = len(one.label)
        faulty += with_faults([one], [shift], SUITE, number, clean=0, corrupted=length)[0]
    return faulty


def _outputs(
    network: Network, recordings: Sequence[Recording], classes: tuple[str, ...]
) -> list[Outputs]:
    """Return the network's outputs, one entry per recording."""
    cut = windows(recordings, classes)
    outputs = outputs_of_samples(network, cut.samples)
    bounds = [*cut.starts.tolist(), len(cut.samples)]
    return [
        {name: values[begin:end] for name, values in outputs.items()}
        for begin, end in pairwise(bounds)
    ]


def _add_noise(outputs: Outputs, feature_noise: float, rng: np.random.Generator) -> Outputs:
    scale = {"logits": LOGIT_NOISE, "features": feature_noise}
    return {
        name: values + scale[name] * rng.normal(size=values.shape)
        for name, values in outputs.items()
    }


def _stream(parts: Sequence[Outputs]) -> Stream:
    outputs = join_rows(parts)
    starts = np.cumsum([0, *[len(part["logits"]) for part in parts[:-1]]])
    return Stream(outputs["logits"], outputs["features"], kind="logits", starts=starts)
