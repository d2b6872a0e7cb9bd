# SPDX-License-Identifier: Apache-2.0
from typing import Any

import numpy as np
import pytest
from exact_store import HEAD, ExactStore

from tcuq.errors import InputError
from tcuq.fleet.simulate.devices import HOUR_S, NEVER, Devices, Plan, acks_of
from tcuq.fleet.simulate.run import simulate_records
from tcuq.fleet.wire import ACK, firmware_code
from tcuq.telemetry import COUNTERS


def test_the_same_seed_gives_the_same_records() -> None:
    """Every byte; another seed gives others."""
    plan = Plan(devices=50, hours=3, drift=0.1, reboot=0.2, seed=4)
    first, again = (list(simulate_records(Devices(plan))) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = next(simulate_records(Devices(Plan(devices=50, hours=3, seed=5))))
    assert not np.array_equal(first[0], other)


def test_records_say_what_the_plan_says() -> None:
    """Device, profile, firmware, epoch and steps of each record are those of its device."""
    devices = Devices(Plan(devices=40, hours=5, records_per_epoch=2, steps=100))
    for hour, records in enumerate(simulate_records(devices)):
        said = [HEAD.unpack_from(record.tobytes()) for record in records]
        np.testing.assert_array_equal([row[2] for row in said], devices.device)
        np.testing.assert_array_equal([row[3] for row in said], devices.profile)
        np.testing.assert_array_equal([row[4] for row in said], devices.firmware)
        assert {row[8] for row in said} == {hour // 2}
        assert {row[10] for row in said} == {100 * (hour + 1)}
        assert {row[6] for row in said} == {hour}


@pytest.mark.parametrize("seed", range(4))
def test_a_store_by_the_rules_ends_with_the_truth(seed: int) -> None:
    """Loss, duplication, reordering, restarts: every device's sums, last boot and last sequence."""
    rng = np.random.default_rng(seed)
    devices = Devices(Plan(devices=60, hours=30, reboot=0.2, seed=seed, steps=20, resend_s=200))
    store, wire, acks = ExactStore(), list[bytes](), list[bytes]()
    now_s = 0
    while now_s < 30 * HOUR_S or devices.truth().waiting.any():
        now_s += int(rng.integers(1, 2000))
        _, records = devices.advance(now_s)
        wire += [row.tobytes() for row in records for _ in range(rng.integers(0, 3))]
        rng.shuffle(wire)
        late = len(wire) // 3 if now_s < 40 * HOUR_S else 0
        acks += [store.put(record) for record in wire[late:]]
        wire = wire[:late]
        rng.shuffle(acks)
        heard = [ack for ack in acks if rng.random() < 0.7]
        acks = []
        assert devices.stored(now_s, np.frombuffer(b"".join(heard), ACK)) == 0
    truth = devices.truth()
    rows = [store.rows[int(device)] for device in devices.device]
    np.testing.assert_array_equal([row.sums for row in rows], truth.counters)
    np.testing.assert_array_equal([row.boot for row in rows], truth.boot)
    np.testing.assert_array_equal([row.sequence for row in rows], truth.sequence)
    assert truth.boot.max() > 3


def test_the_room_for_records_is_kept_to() -> None:
    """What finds no room is sent by the next call, nothing is lost."""
    devices = Devices(Plan(devices=100, hours=1))
    seen: list[int] = []
    while len(seen) < 100:
        whose, records = devices.advance(HOUR_S - 1, most=7)
        assert 0 < len(whose) == len(records) <= 7
        devices.stored(HOUR_S - 1, acks_of(records))
        seen += whose.tolist()
    assert sorted(seen) == list(range(100))
    assert len(devices.advance(HOUR_S - 1, most=7)[0]) == 0


def test_calm_devices_bet_as_they_may_and_drifting_ones_gain() -> None:
    """The mean e-value of calm devices is at most 1; most that drift show it within a day."""
    plan = Plan(devices=20_000, hours=1, drift=0.05, records_per_epoch=1, steps=40, block=10)
    devices = Devices(plan)
    (records,) = simulate_records(devices)
    evidence = records[:, 30:32].copy().view("<i2").ravel() / 256
    calm = devices.drifts_from == NEVER
    assert (~calm).sum() == 1000
    mean = np.exp2(evidence[calm]).mean()
    error = np.exp2(evidence[calm]).std() / np.sqrt(calm.sum() / plan.sites)
    assert mean <= 1 + 4 * error
    assert np.median(evidence[~calm]) > np.quantile(evidence[calm], 0.9)


def test_cohorts_share_shocks() -> None:
    """Devices of a cohort are alike in evidence, more than by chance; without sharing not."""
    spread = []
    for sharing in (0.0, 0.5):
        plan = Plan(devices=6000, hours=1, steps=80, block=20, sharing=sharing, sites=30, seed=1)
        devices = Devices(plan)
        (records,) = simulate_records(devices)
        evidence = records[:, 30:32].copy().view("<i2").ravel() / 256
        cohort = devices.site * 100 + devices.firmware % 97 * 2 + devices.profile % 2
        means = [evidence[cohort == name].mean() for name in np.unique(cohort)]
        spread.append(np.std(means) / evidence.std())
    assert spread[1] > 2 * spread[0]


def test_a_firmware_drifts_whole() -> None:
    """Every device of it, from its hour on, and no other."""
    devices = Devices(Plan(devices=500, hours=2, drift_firmware="1.8", drift_from=1))
    drifting = devices.drifts_from == 1
    np.testing.assert_array_equal(drifting, devices.firmware == firmware_code("1.8"))
    first, second = (records[:, 36:40].copy().view("<u4").ravel() + 0.0
                     for records in simulate_records(devices))  # fmt: skip
    asked = np.array([first, second - first])
    assert abs(asked[0, drifting].mean() - asked[0, ~drifting].mean()) < 3
    assert asked[1, drifting].mean() > 1.3 * asked[1, ~drifting].mean()


def test_an_acknowledgement_of_what_was_never_sent_starts_a_new_boot() -> None:
    """Who simulates again into an old store: counters go out under the next boot, and are whole."""
    devices = Devices(Plan(devices=1, hours=1, steps=10))
    devices.advance(HOUR_S - 1)
    ack = np.array([(devices.device[0], 7, 5)], ACK)
    assert devices.stored(HOUR_S - 1, ack) == 1
    _, records = devices.advance(HOUR_S - 1)
    said = HEAD.unpack_from(records[0].tobytes())
    assert (said[5], said[6], said[10]) == (8, 0, 10)
    stranger = np.array([(devices.device[0] + np.uint64(1), 0, 0)], ACK)
    assert devices.stored(HOUR_S - 1, stranger) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"devices": 0},
        {"hours": 0},
        {"drift": 1.5},
        {"reboot": -0.1},
        {"slots": 1},
        {"resend_s": 10, "longest_s": 5},
        {"drift_firmware": "2.0"},
    ],
)
def test_a_wrong_plan_is_refused(wrong: dict[str, Any]) -> None:
    """By the name of what is wrong."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        Plan(**{"devices": 1, **wrong})


def test_counters_have_names() -> None:
    """As many as a row of the truth has columns."""
    assert len(COUNTERS) == Devices(Plan(devices=1)).truth().counters.shape[1]
