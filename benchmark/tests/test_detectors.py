# SPDX-License-Identifier: Apache-2.0
from functools import cache

import numpy as np
import pytest

from tcuq import Stream
from tcuq_benchmark.data.samples import Samples
from tcuq_benchmark.detectors import cases
from tcuq_benchmark.detectors.detector import (
    DetectorInput,
    at_most_alarms,
    detector_input,
    lowest_limit,
)
from tcuq_benchmark.detectors.pools import SPAN, SPLITS, Spans, Split, sample_pool
from tcuq_benchmark.detectors.recording_pool import RecordingPool
from tcuq_benchmark.detectors.table import BASELINES, OURS, DetectorEntry
from tcuq_benchmark.detectors.tcuq_alarm import TcuqAlarm
from tcuq_benchmark.scores.monitors import quiet_fit

CLASSES, WIDTH = 4, 6
FAST = [entry for entry in BASELINES if not entry.slow]


def synthetic(steps: int, seed: int, spread: float = 0.5) -> Stream:
    """Return features around the centre of a class that stays for twenty steps."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, CLASSES, -(-steps // 20)), 20)[:steps]
    features = 4 * np.eye(CLASSES, WIDTH)[labels] + spread * rng.normal(size=(steps, WIDTH))
    return Stream(features[:, :CLASSES], features, kind="logits")


@cache
def calibration() -> DetectorInput:
    """Return an in-distribution stream with its own profile."""
    stream = synthetic(6_000, 0)
    return detector_input(quiet_fit(stream), stream)


def ids(entry: DetectorEntry) -> str:
    """Return the name of a test case."""
    return f"{entry.name}-{entry.signal}"


@pytest.mark.parametrize("entry", [OURS, *FAST], ids=ids)
def test_every_detector_without_false_alarms_on_calibration_detects_a_gross_shift(
    entry: DetectorEntry,
) -> None:
    """At the lowest limit without an alarm on calibration it alarms after a shift."""
    detector = entry.make()
    detector.fit(calibration())
    limit = lowest_limit(detector.limits, at_most_alarms([(detector, calibration())]))
    both = cases.concatenate(synthetic(1_000, 1), synthetic(1_000, 2, spread=4))
    assert detector.alarms(detector_input(calibration().profile, both), limit)[1_000:].any()


@pytest.mark.parametrize("entry", FAST, ids=ids)
def test_the_tuned_limit_is_the_lowest_without_an_alarm(entry: DetectorEntry) -> None:
    """It gives no alarm on calibration, and the next lower limit gives some."""
    detector = entry.make()
    detector.fit(calibration())
    limit = lowest_limit(detector.limits, at_most_alarms([(detector, calibration())]))
    assert not detector.alarms(calibration(), limit).any()
    position = list(detector.limits).index(limit)
    if position:
        assert detector.alarms(calibration(), detector.limits[position - 1]).any()


def test_a_slow_detector_reads_the_last_steps_only() -> None:
    """KSWIN detects a gross shift in a stream cut to its last steps."""
    (slow,) = [entry for entry in BASELINES if entry.slow]
    both = cases.concatenate(synthetic(1_000, 1), synthetic(300, 2, spread=4))
    stream = cases.last_steps(detector_input(calibration().profile, both), 500)
    alarms = slow.make().alarms(stream, slow.make().default_limit)
    assert len(alarms) == 500
    assert alarms[200:].any()


def test_every_limit_of_the_alarm_is_one_that_a_profile_allows() -> None:
    """The search for a limit may try the largest: the monitor accepts it."""
    alarm = TcuqAlarm()
    assert not alarm.alarms(calibration(), alarm.limits[-1]).all()


def test_lowest_limit_is_infinite_if_none_is_accepted() -> None:
    """If every limit alarms, the limit is infinite."""
    assert lowest_limit([1, 2, 3], lambda limit: limit >= 2) == 2
    assert lowest_limit([1, 2, 3], lambda _: False) == float("inf")


class Echo:
    """A network whose outputs are the first pixels; it counts the samples it runs."""

    sha256 = "echo"

    def __init__(self) -> None:
        self.samples_run = 0

    def prepared(self, x: np.ndarray) -> np.ndarray:
        """Return the samples: there is no front end."""
        return x

    def run_prepared(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the first pixels as logits and as features."""
        self.samples_run += len(x)
        flat = x.reshape(len(x), -1).astype(np.float32)
        return {"logits": flat[:, :CLASSES] / 255, "features": flat[:, :WIDTH]}


@pytest.fixture
def images() -> tuple[Samples, Samples]:
    """Return two disjoint parts of small images."""
    rng = np.random.default_rng(0)
    parts = []
    for part in range(2):
        x = rng.integers(0, 256, (40, 6, 6), np.uint8)
        y = np.arange(40) % CLASSES
        parts.append(Samples(x, y, np.full(40, part), np.arange(40), tuple("abcd")))
    return parts[0], parts[1]


@pytest.mark.usefixtures("empty_folders")
def test_an_assembled_stream_has_the_networks_own_outputs(images: tuple[Samples, Samples]) -> None:
    """Every step has the outputs of a test image at one of 25 positions, each run once."""
    network = Echo()
    pool = sample_pool(network, *images, Spans((), {}))
    assert network.samples_run == 80 * 25
    stream = pool.in_distribution(pool.split("parts", 0)[1], 500, 0)
    known = {row.tobytes() for row in pool.outputs["features"][40 * 25 :]}
    assert stream.features is not None
    assert {row.tobytes() for row in stream.features} <= known
    assert network.samples_run == 80 * 25


@pytest.mark.usefixtures("empty_folders")
@pytest.mark.parametrize("split", SPLITS)
def test_splits_share_no_sample(split: Split, images: tuple[Samples, Samples]) -> None:
    """The two sides are all samples together, and mixed splits differ by seed."""
    pool = sample_pool(Echo(), *images, Spans((), {}))
    first, then = pool.split(split, 1)
    assert sorted([*first, *then]) == list(range(80))
    again, _ = pool.split(split, 2)
    assert (again.tolist() == first.tolist()) == (split == "parts")


def test_recordings_are_split_by_person_or_within_each() -> None:
    """Parts never share a person; mixed, every person is on both sides."""
    person = np.repeat(np.arange(6), 2)
    clean = [{"logits": np.ones((30, 2)), "features": np.ones((30, 3))} for _ in person]
    pool = RecordingPool(person, (person > 3).astype(np.int64), clean, {("noise", 2): clean})
    for seed in range(4):
        first, then = pool.split("parts", seed)
        assert not set(person[first]) & set(person[then])
        assert len(set(person[then])) == 2
    first, then = pool.split("mixed", 1)
    assert set(person[first]) == set(person[then]) == set(range(6))
    assert len(pool.in_distribution(then, 1_000, 0)) == 1_000
    assert len(pool.shifted(("noise", 2), then, 0)) == min(SPAN, 30 * len(then))


def test_delay_counts_from_one() -> None:
    """An alarm at the first shifted step is a delay of one step; none is infinite."""
    assert cases.delay(np.array([True, False])) == 1
    assert cases.delay(np.array([False, True])) == 2
    assert cases.delay(np.zeros(3, np.bool_)) == float("inf")
