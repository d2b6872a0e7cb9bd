# SPDX-License-Identifier: Apache-2.0
from functools import cache
from typing import Any

import numpy as np
import pytest
from river.drift import KSWIN

from benchmark.data.samples import Samples
from benchmark.detectors import cases
from benchmark.detectors.contenders import OTHERS, OURS, Contender
from benchmark.detectors.detector import Watched, least, quiet, watched
from benchmark.detectors.ours import calibrated
from benchmark.detectors.peers import QuickKswin
from benchmark.detectors.pools import DEALINGS, SPAN, Dealing, Spans, sampled
from benchmark.detectors.recorded import Recorded
from tcuq import Stream

CLASSES, WIDTH = 4, 6
FAST = [contender for contender in OTHERS if not contender.slow]


def made_up(steps: int, seed: int, spread: float = 0.5) -> Stream:
    """Features around the centre of a class that stays for twenty steps."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, CLASSES, -(-steps // 20)), 20)[:steps]
    features = 4 * np.eye(CLASSES, WIDTH)[labels] + spread * rng.normal(size=(steps, WIDTH))
    return Stream(features[:, :CLASSES], features, kind="logits")


@cache
def calibration() -> Watched:
    """A calm stream, watched by its own profile."""
    stream = made_up(6_000, 0)
    return watched(calibrated(stream), stream)


def ids(contender: Contender) -> str:
    """What pytest calls a case."""
    return f"{contender.name}-{contender.signal}"


@pytest.mark.parametrize("contender", [OURS, *FAST], ids=ids)
def test_every_detector_tuned_to_be_quiet_sees_a_gross_shift(contender: Contender) -> None:
    """At the lowest limit without an alarm on calibration it alarms when the stream changes."""
    detector = contender.make()
    detector.fit(calibration())
    limit = least(detector.limits, quiet([(detector, calibration())]))
    both = cases.followed(made_up(1_000, 1), made_up(1_000, 2, spread=4))
    assert detector.alarms(watched(calibration().profile, both), limit)[1_000:].any()


@pytest.mark.parametrize("contender", FAST, ids=ids)
def test_the_tuned_limit_is_the_lowest_that_is_quiet(contender: Contender) -> None:
    """It gives no alarm on calibration, and the one below it some."""
    detector = contender.make()
    detector.fit(calibration())
    limit = least(detector.limits, quiet([(detector, calibration())]))
    assert not detector.alarms(calibration(), limit).any()
    place = list(detector.limits).index(limit)
    if place:
        assert detector.alarms(calibration(), detector.limits[place - 1]).any()


def test_a_slow_detector_is_given_the_last_steps_only() -> None:
    """KSWIN sees a gross shift in a stream cut to its last steps."""
    (slow,) = [contender for contender in OTHERS if contender.slow]
    both = cases.followed(made_up(1_000, 1), made_up(300, 2, spread=4))
    seen = cases.last(watched(calibration().profile, both), 500)
    flags = slow.make().alarms(seen, slow.make().usual)
    assert len(flags) == 500
    assert flags[200:].any()


def test_quick_kswin_is_rivers() -> None:
    """On values with ties and a change, it has the same p-value and alarms at the same steps."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(250), rng.random(250) ** 3]).round(2).tolist()
    ours = QuickKswin(alpha=0.005, seed=0)
    theirs: Any = KSWIN(alpha=0.005, seed=0)
    alarms = 0
    for value in values:
        ours.update(value)
        theirs.update(value)
        assert ours.drift_detected == theirs.drift_detected
        assert ours.p_value == pytest.approx(theirs.p_value)
        alarms += ours.drift_detected
    assert alarms


def test_least_is_infinite_if_nothing_is_enough() -> None:
    """A detector that no limit can silence gets an infinite one."""
    assert least([1, 2, 3], lambda limit: limit >= 2) == 2
    assert least([1, 2, 3], lambda _: False) == float("inf")


class Echo:
    """A network whose features are the first pixels and which counts what it is shown."""

    sha256 = "echo"

    def __init__(self) -> None:
        self.shown = 0

    def prepared(self, x: np.ndarray) -> np.ndarray:
        """There is no front end."""
        return x

    def run_prepared(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The sum of each quarter, and the pixels themselves."""
        self.shown += len(x)
        flat = x.reshape(len(x), -1).astype(np.float32)
        return {"logits": flat[:, :CLASSES] / 255, "features": flat[:, :WIDTH]}


@pytest.fixture
def images() -> tuple[Samples, Samples]:
    """Two parts of small images, none of which is in both."""
    rng = np.random.default_rng(0)
    made = []
    for part in range(2):
        x = rng.integers(0, 256, (40, 6, 6), np.uint8)
        y = np.arange(40) % CLASSES
        made.append(Samples(x, y, np.full(40, part), np.arange(40), tuple("abcd")))
    return made[0], made[1]


@pytest.mark.usefixtures("nowhere")
def test_a_looked_up_stream_is_what_the_network_would_have_said(
    images: tuple[Samples, Samples],
) -> None:
    """Every step's outputs are those of some test image at one of 25 places, seen only once."""
    network = Echo()
    held = sampled(network, *images, Spans((), {}))
    assert network.shown == 80 * 25
    stream = held.calm(held.deal("parts", 0)[1], 500, 0)
    known = {row.tobytes() for row in held.outputs["features"][40 * 25 :]}
    assert stream.features is not None
    assert {row.tobytes() for row in stream.features} <= known
    assert network.shown == 80 * 25


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("dealing", DEALINGS)
def test_dealt_sides_share_no_sample(dealing: Dealing, images: tuple[Samples, Samples]) -> None:
    """Together they are all samples, and mixed sides differ from turn to turn."""
    held = sampled(Echo(), *images, Spans((), {}))
    first, then = held.deal(dealing, 1)
    assert sorted([*first, *then]) == list(range(80))
    again, _ = held.deal(dealing, 2)
    assert (again.tolist() == first.tolist()) == (dealing == "parts")


def test_recordings_are_dealt_by_person_or_within_each() -> None:
    """Parts never share a person; mixed, every person is on both sides."""
    person = np.repeat(np.arange(6), 2)
    clean = [{"logits": np.ones((30, 2)), "features": np.ones((30, 3))} for _ in person]
    held = Recorded(person, (person > 3).astype(np.int64), clean, {("noise", 2): clean})
    for seed in range(4):
        first, then = held.deal("parts", seed)
        assert not set(person[first]) & set(person[then])
        assert len(set(person[then])) == 2
    first, then = held.deal("mixed", 1)
    assert set(person[first]) == set(person[then]) == set(range(6))
    assert len(held.calm(then, 1_000, 0)) == 1_000
    assert len(held.shifted(("noise", 2), then, 0)) == min(SPAN, 30 * len(then))


def test_delay_counts_from_one() -> None:
    """An alarm at the first shifted step is a delay of one step; none is infinite."""
    assert cases.delay(np.array([True, False])) == 1
    assert cases.delay(np.array([False, True])) == 2
    assert cases.delay(np.zeros(3, np.bool_)) == float("inf")
