# SPDX-License-Identifier: Apache-2.0
"""Simulated devices: reproducible records, their truth, and the distribution of evidence."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tcuq.telemetry import decode
from tcuq_fleet.mqtt import BrokerAddress
from tcuq_fleet.simulate.devices import HOUR_S, NEVER, Devices, Plan, acks_of
from tcuq_fleet.simulate.run import simulate_records
from tcuq_fleet.simulate.transport import TransportOptions
from tcuq_fleet.wire import ACK, firmware_code
from tests.fixtures.uplink.reference_store import HEAD, ReferenceStore


def test_the_same_seed_gives_the_same_records() -> None:
    """Two fleets of one seed make the same bytes; another seed makes others."""
    plan = Plan(devices=50, hours=3, drift=0.1, reboot=0.2, seed=4)
    first, again = (list(simulate_records(Devices(plan))) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = next(simulate_records(Devices(Plan(devices=50, hours=3, seed=5))))
    assert not np.array_equal(first[0], other)


def test_records_follow_the_plan() -> None:
    """Device, profile, firmware, epoch and steps of each record are those of its device."""
    devices = Devices(Plan(devices=40, hours=5, epoch_steps=200, steps=100))
    for hour, records in enumerate(simulate_records(devices)):
        rows = [HEAD.unpack_from(record.tobytes()) for record in records]
        np.testing.assert_array_equal([row[2] for row in rows], devices.device)
        np.testing.assert_array_equal([row[3] for row in rows], devices.profile)
        np.testing.assert_array_equal([row[4] for row in rows], devices.firmware)
        assert {row[8] for row in rows} == {(hour + 1) // 2}
        assert {row[11] for row in rows} == {100 * (hour + 1)}
        assert {row[6] for row in rows} == {hour}


def test_epochs_go_on_over_reboots() -> None:
    """Devices on for ten hours a day close their epochs as their steps say, over many boots."""
    plan = Plan(devices=24, hours=24 * 6, on_hours=10, steps=100, epoch_steps=1500, block=50)
    devices = Devices(plan)
    records = [decode(hour.tobytes()).records for hour in simulate_records(devices)]
    assert {len(hour) for hour in records} != {24}
    rows = np.concatenate(records)
    for device in devices.device:
        own = rows[rows["device"] == device]
        assert len(own) == 60
        assert len(np.unique(own["boot"])) >= 6
        np.testing.assert_array_equal(own["epoch"], (np.arange(60) + 1) * 100 // 1500)
        ends = np.flatnonzero(np.diff(own["epoch"])) + 1
        for start, end in zip(ends, [*ends[1:], 60], strict=True):
            assert len(np.unique(own["closed"][start:end])) == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_store_ends_with_the_truth(seed: int) -> None:
    """Sums, last boot and sequence are exact under loss, duplication, reordering and reboots."""
    rng = np.random.default_rng(seed)
    plan = Plan(
        devices=60, hours=30, on_hours=24 if seed < 2 else 13, reboot=0.2, seed=seed, steps=20,
        resend_s=200,
    )  # fmt: skip
    devices = Devices(plan)
    store, network, acks = ReferenceStore(), list[bytes](), list[bytes]()
    now_s = 0
    while now_s < 30 * HOUR_S or devices.truth().waiting.any():
        now_s += int(rng.integers(1, 2000))
        _, records = devices.advance(now_s)
        network += [row.tobytes() for row in records for _ in range(rng.integers(0, 3))]
        rng.shuffle(network)
        late = len(network) // 3 if now_s < 40 * HOUR_S else 0
        acks += [store.put(record) for record in network[late:]]
        network = network[:late]
        rng.shuffle(acks)
        delivered = [ack for ack in acks if rng.random() < 0.7]
        acks = []
        assert devices.acknowledge(now_s, np.frombuffer(b"".join(delivered), ACK)) == 0
    truth = devices.truth()
    rows = [store.rows[int(device)] for device in devices.device]
    np.testing.assert_array_equal([row.sums for row in rows], truth.counters)
    np.testing.assert_array_equal([row.boot for row in rows], truth.boot)
    np.testing.assert_array_equal([row.sequence for row in rows], truth.sequence)
    assert truth.boot.max() > 3


def test_the_limit_of_records_per_call_holds() -> None:
    """Records beyond the limit are returned by the next call, and none is lost."""
    devices = Devices(Plan(devices=100, hours=1))
    sent: list[int] = []
    while len(sent) < 100:
        senders, records = devices.advance(HOUR_S - 1, limit=7)
        assert 0 < len(senders) == len(records) <= 7
        devices.acknowledge(HOUR_S - 1, acks_of(records))
        sent += senders.tolist()
    assert sorted(sent) == list(range(100))
    assert len(devices.advance(HOUR_S - 1, limit=7)[0]) == 0


@pytest.mark.parametrize(("field", "epoch_steps"), [("evidence", 1000), ("closed", 400)])
def test_null_devices_have_e_values_and_drifting_ones_gain_evidence(
    field: str, epoch_steps: int
) -> None:
    """Without drift the mean e-value is at most 1, in the running and in the closed epoch."""
    plan = Plan(
        devices=20_000, hours=1, drift=0.05, epoch_steps=epoch_steps, steps=400, block=10
    )  # fmt: skip
    devices = Devices(plan)
    (records,) = simulate_records(devices)
    decoded = decode(records.tobytes()).records
    assert (decoded["epoch"] == (field == "closed")).all()
    evidence = decoded[field] / 2
    null = devices.drifts_from == NEVER
    assert (~null).sum() == 1000
    mean = np.exp2(evidence[null]).mean()
    error = np.exp2(evidence[null]).std() / np.sqrt(null.sum() / plan.sites)
    assert mean <= 1 + 4 * error
    assert np.median(evidence[~null]) > np.quantile(evidence[null], 0.9)


def test_cohorts_share_draws() -> None:
    """Evidence is correlated within a cohort with sharing, and not without."""
    spread = []
    for sharing in (0.0, 0.5):
        plan = Plan(devices=6000, hours=1, steps=80, block=20, sharing=sharing, sites=30, seed=1)
        devices = Devices(plan)
        (records,) = simulate_records(devices)
        evidence = np.exp2(np.minimum(decode(records.tobytes()).records["evidence"], 2) / 2)
        cohort = devices.site * 100 + devices.firmware % 97 * 2 + devices.profile % 2
        means = [evidence[cohort == name].mean() for name in np.unique(cohort)]
        spread.append(np.std(means) / evidence.std())
    assert spread[1] > 2 * spread[0]


def test_every_device_of_a_drifting_firmware_drifts() -> None:
    """All devices of the firmware drift from the given hour on, and no others."""
    devices = Devices(Plan(devices=500, hours=2, drift_firmware="1.8", drift_from=1))
    drifting = devices.drifts_from == 1
    np.testing.assert_array_equal(drifting, devices.firmware == firmware_code("1.8"))
    first, second = (records[:, 36:40].copy().view("<u4").ravel() + 0.0
                     for records in simulate_records(devices))  # fmt: skip
    abstained = np.array([first, second - first])
    assert abs(abstained[0, drifting].mean() - abstained[0, ~drifting].mean()) < 3
    assert abstained[1, drifting].mean() > 1.3 * abstained[1, ~drifting].mean()


def test_an_acknowledgement_of_what_was_never_sent_starts_a_new_boot() -> None:
    """A device that meets an old store sends all its counters under the next boot id."""
    devices = Devices(Plan(devices=1, hours=1, steps=10))
    devices.advance(HOUR_S - 1)
    ack = np.array([(devices.device[0], 7, 5)], ACK)
    assert devices.acknowledge(HOUR_S - 1, ack) == 1
    _, records = devices.advance(HOUR_S - 1)
    fields = HEAD.unpack_from(records[0].tobytes())
    assert (fields[5], fields[6], fields[11]) == (8, 0, 10)
    unknown = np.array([(devices.device[0] + np.uint64(1), 0, 0)], ACK)
    assert devices.acknowledge(HOUR_S - 1, unknown) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"devices": 0},
        {"hours": 0},
        {"on_hours": 25},
        {"epoch_steps": 0},
        {"drift": 1.5},
        {"reboot": -0.1},
        {"slots": 1},
        {"resend_s": 10, "longest_s": 5},
        {"unknown": 1},
    ],
)
def test_a_wrong_plan_is_refused(wrong: dict[str, Any]) -> None:
    """A value out of bounds is refused by its name."""
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Plan(**{"devices": 1, **wrong})


@pytest.mark.parametrize(
    "wrong", [{"loss": 1.0}, {"hour_s": 0}, {"batch": 1001}, {"connections": 0}]
)
def test_invalid_transport_options_are_refused(wrong: dict[str, Any]) -> None:
    """A value out of bounds is refused by its name."""
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        TransportOptions(broker=BrokerAddress("127.0.0.1", 1883), **wrong)
