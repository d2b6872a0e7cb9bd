# SPDX-License-Identifier: Apache-2.0
"""Changes against a device's own past: pasts, distances among peers, and ranks."""

import numpy as np
import pytest

from tcuq_fleet.judge import change
from tcuq_fleet.judge.change import NAMES, Peers, change_bits_q8, fold, rank_bits_q8
from tcuq_fleet.judge.change_state import CLOSED, folded


def test_the_past_is_the_mean_of_all_past_epochs() -> None:
    """Folding epoch after epoch gives their mean, and later a mean that forgets."""
    rng = np.random.default_rng(1)
    epochs = rng.normal(size=(change.MEMORY, 4, len(NAMES)))
    past, count = np.zeros((4, len(NAMES))), np.zeros(4, np.int64)
    for one in epochs:
        past, count = fold(one, past, count)
    assert np.allclose(past, epochs.mean(axis=0))
    assert (count == change.MEMORY).all()
    forgotten, _ = fold(epochs[0] + 1, past, count)
    assert np.allclose(forgotten - past, (epochs[0] + 1 - past) / change.MEMORY)


@pytest.mark.parametrize(("odd", "off"), [(20, 0.15), (100, 0.7)])
def test_odd_peers_hardly_move_the_fit(odd: int, off: float) -> None:
    """Changes of faulty peers barely widen the covariance, and stay the farthest of all."""
    rng = np.random.default_rng(2)
    changes = rng.normal(size=(1000, 5)) @ rng.normal(size=(5, 5)).T
    calm = Peers.fit(changes).distances(changes[odd:])
    changes[:odd] += 50
    robust = Peers.fit(changes).distances(changes)
    assert np.abs(robust[odd:] / calm - 1).max() < off
    assert robust[:odd].min() > 2 * robust[odd:].max()


def test_what_happens_to_all_peers_cancels() -> None:
    """A change that all peers share leaves every distance as it is."""
    changes = np.random.default_rng(3).normal(size=(500, 5))
    season = np.array([5.0, -3.0, 2.0, 8.0, 1.0])
    before, after = Peers.fit(changes), Peers.fit(changes + season)
    assert np.allclose(before.distances(changes), after.distances(changes + season))


def test_a_channel_that_never_varies_is_allowed() -> None:
    """A mean that is the same in every device does not make the covariance singular."""
    changes = np.random.default_rng(4).normal(size=(200, 5))
    changes[:, 2] = 0
    assert np.isfinite(Peers.fit(changes).distances(changes)).all()


def test_a_healthy_devices_p_value_is_not_too_small() -> None:
    """Among exchangeable peers p-values at or below any limit are no more frequent than that."""
    rng = np.random.default_rng(5)
    small = dict.fromkeys((0.5, 0.1, 0.01), 0.0)
    for _ in range(200):
        buckets = rng.geometric(0.02, size=(2, 2000))
        rises = rng.geometric(0.7, size=(2, 2000)) - 1
        references = tuple(np.bincount(of[0], minlength=1024) for of in (buckets, rises))
        bits = change_bits_q8(buckets[1].clip(max=1023), rises[1], (references[0], references[1]))
        for limit in small:
            small[limit] += float((bits >= -256 * np.log2(limit)).mean()) / 200
    for limit, share in small.items():
        assert share <= limit * 1.05


def test_ties_count_as_at_least_as_far() -> None:
    """A score that all peers have says nothing."""
    assert rank_bits_q8(np.array([0, 1000, 0])).tolist() == [0, 0, 2551]


def test_devices_alike_do_not_pass_calm_ones_together_by_the_fit_alone() -> None:
    """What two fits of the same peers leave open is no evidence; beyond it a distance is."""
    references = np.bincount(np.full(1000, 300), minlength=1024), np.bincount([0] * 1000)
    distance = np.array([300 + change.FIT_BUCKETS, 301 + change.FIT_BUCKETS])
    bits = change_bits_q8(distance, np.zeros(2, np.int64), references)
    assert bits.tolist() == [0, 2551 - 256]


@pytest.mark.parametrize(("alarm", "past"), [(0, 15.0), (1, 10.0)])
def test_a_device_with_an_alarm_keeps_its_past(alarm: int, past: float) -> None:
    """An epoch becomes past when the next one closes, unless its device is held."""
    closed = np.zeros(1, CLOSED)
    closed["known"], closed["held"], closed["past_epochs"] = 1, alarm, 1
    closed["past"], closed["last"], closed["new"] = 10, 20, 30
    (state,) = folded(closed)
    assert (state["past"] == past).all()
    assert state["past_epochs"] == 2 - alarm
    assert (state["last"] == 30).all()
