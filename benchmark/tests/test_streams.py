# SPDX-License-Identifier: Apache-2.0
import json
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tcuq_benchmark import streams
from tcuq_benchmark.corruptions import mnist_c
from tcuq_benchmark.data.samples import Samples, joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

Load = Callable[[str], Any]
CLASSES = tuple("0123456789")


@pytest.fixture(scope="module")
def digits() -> Samples:
    """Return a hundred bright squares, ten per class, seven per person."""
    rng = np.random.default_rng(0)
    x = np.zeros((100, 28, 28), np.uint8)
    x[:, 8:20, 8:20] = rng.integers(1, 255, (100, 12, 12))
    rows = np.arange(100)
    return Samples(x, rows % 10, rows // 7, rows, CLASSES)


def runs(labels: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return the lengths of the stretches of equal labels."""
    edges = np.flatnonzero(np.diff(labels)) + 1
    return np.diff([0, *edges, len(labels)])


def test_iid_uses_all_samples_before_any_again(digits: Samples) -> None:
    """Each hundred steps are a permutation, and labels do not dwell."""
    plan = streams.iid(digits, 1_000, seed=0)
    for chunk in plan.index.reshape(10, 100):
        assert sorted(chunk) == list(range(100))
    assert runs(digits.y[plan.index]).mean() < 1.3
    assert not plan.shifted.any()


@pytest.mark.parametrize("dwell", [1.0, 10.0, 30.0])
def test_labels_dwell_as_long_as_configured(digits: Samples, dwell: float) -> None:
    """The mean dwell is as configured within 10 %, and dwells are geometric."""
    plan = streams.coherent(digits, 60_000, seed=1, dwell=dwell)
    lengths = runs(digits.y[plan.index])
    assert lengths.mean() == pytest.approx(dwell, rel=0.1)
    if dwell > 1:
        assert lengths.std() == pytest.approx(np.sqrt(dwell * (dwell - 1)), rel=0.15)
    counts = np.bincount(digits.y[plan.index])
    assert counts.min() > 0.5 * counts.max()


def test_images_stay_and_the_camera_wanders(digits: Samples) -> None:
    """An image stays as long as configured; the camera moves at most a pixel, within ± jitter."""
    plan = streams.coherent(digits, 30_000, seed=2, dwell=1_000, stay=8, jitter=2)
    assert runs(plan.index).mean() == pytest.approx(8, rel=0.15)
    moves = plan.move.astype(int)
    assert np.abs(np.diff(moves, axis=0)).max() == 1
    assert set(np.unique(moves)) == {-2, -1, 0, 1, 2}


@pytest.mark.parametrize("wrong", [{"dwell": 0.5}, {"stay": 0.0}, {"jitter": -1}])
def test_impossible_coherence_is_refused(digits: Samples, wrong: dict[str, Any]) -> None:
    """A dwell or stay below one step, or a negative jitter, is an error."""
    with pytest.raises(ValueError, match="must be at least 1"):
        streams.coherent(digits, 10, seed=0, **wrong)


def test_same_seed_same_plan(digits: Samples) -> None:
    """A plan is fixed by its settings, and another seed is another plan."""
    one, same, other = (streams.coherent(digits, 500, seed, jitter=1) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.index, same.index)
    np.testing.assert_array_equal(one.move, same.move)
    assert one.settings == same.settings != other.settings
    assert (one.index != other.index).any()
    json.dumps(one.settings)


def episodes(digits: Samples) -> streams.Plan:
    """Return two episodes of 300 steps between clean ones of 200."""
    plan = streams.coherent(digits, 1_200, seed=5, stay=5, jitter=2)
    clean = (streams.CLEAN, 200)
    return streams.with_segments(
        plan, [clean, (("fog", 5), 300), clean, (("shot_noise", 2), 300), clean]
    )


def test_episodes_are_marked(digits: Samples) -> None:
    """Clean, corrupted, clean, corrupted, clean; severities as configured."""
    plan = episodes(digits)
    assert len(plan) == 1_200
    edges = (np.flatnonzero(np.diff(plan.shifted.astype(int))) + 1).tolist()
    assert edges == [200, 500, 700, 1_000]
    assert set(plan.severity[200:500]) == {5}
    assert plan.corruptions[plan.corruption[700]] == "shot_noise"


def test_plan_of_another_length_is_refused(digits: Samples) -> None:
    """Segments must fill the plan."""
    with pytest.raises(ValueError, match="must have 500 steps for these segments, got 400"):
        streams.with_segments(
            streams.iid(digits, 400, 0), [(streams.CLEAN, 400), (("fog", 1), 100)]
        )


def test_inputs_do_not_depend_on_how_they_are_cut(digits: Samples) -> None:
    """Rendering in pieces gives the bytes of rendering at once; clean steps are only moved."""
    plan = episodes(digits)
    whole = streams.render(plan, digits, mnist_c.SUITE, 0, len(plan))
    cuts = [0, 77, 700, len(plan)]
    pieces = [streams.render(plan, digits, mnist_c.SUITE, a, b) for a, b in pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    assert whole.dtype == np.uint8
    step = int(np.flatnonzero(plan.move[:200].any(axis=1))[0])
    down, right = plan.move[step]
    expected = np.roll(digits.x[plan.index[step]], (int(down), int(right)), axis=(0, 1))
    np.testing.assert_array_equal(whole[step], expected)
    assert whole[200:500].mean() > 2 * whole[:200].mean()  # fog


def test_speakers_follow_each_other(digits: Samples) -> None:
    """Every clip once; a speaker's clips together, and in them each word."""
    plan = streams.by_speaker(digits, seed=0)
    assert sorted(plan.index) == list(range(100))
    assert len(runs(digits.group[plan.index])) == len(np.unique(digits.group))
    words = digits.group[plan.index] * 10 + digits.y[plan.index]
    assert len(runs(words)) == len(np.unique(words))


def test_recorded_order_keeps_its_starts(digits: Samples) -> None:
    """As recorded, with history cut where recordings begin."""
    plan = streams.in_order(digits, starts=[40, 70])
    np.testing.assert_array_equal(plan.index, np.arange(100))
    assert plan.starts.tolist() == [0, 40, 70]


def test_natural_shift_follows(digits: Samples) -> None:
    """Samples of another set follow, all marked, without a restart of history."""
    other = Samples(255 - digits.x, digits.y, digits.group, digits.row, CLASSES)
    both = joined(digits, other)
    first, then = streams.iid(digits, 150, 0), streams.in_order(other, starts=[60])
    plan = streams.followed_by(first, then, len(digits))
    assert plan.shifted.tolist() == [False] * 150 + [True] * 100
    assert plan.starts.tolist() == [0, 210]
    x = streams.render(plan, both, mnist_c.SUITE, 140, 160)
    np.testing.assert_array_equal(x[10:], other.x[:10])
    assert len(np.unique(both.row)) == len(both) == 200
    with pytest.raises(ValueError, match="must be clean"):
        streams.followed_by(first, episodes(digits), len(digits))


@pytest.mark.parametrize("name", ["speech_commands", "audiomnist"])
def test_real_speakers_follow_each_other(name: str, load: Load) -> None:
    """The same on real speech: as many turns as speakers."""
    samples: Samples = load(name)["test"]
    plan = streams.by_speaker(samples, seed=0)
    assert len(runs(samples.group[plan.index])) == len(np.unique(samples.group))


def test_real_gas_dwells_by_itself(load: Load) -> None:
    """Recorded order is coherent: the same gas for many rows."""
    samples: Samples = load("gas_drift")["test"]
    plan = streams.in_order(samples)
    assert runs(samples.y[plan.index]).mean() > 5
