# SPDX-License-Identifier: Apache-2.0
"""Alarms open, escalate and close with hysteresis; one fault is one alarm."""

import pytest

from fleet.tests.fixtures.stored_fleet import StoredFleet
from tcuq_fleet.judge import alarms
from tcuq_fleet.judge.rules import Rules

NONE = (None, None, None)


@pytest.fixture
def fleet(fleet: StoredFleet) -> StoredFleet:
    """Store a site of 300 devices without drift."""
    fleet.add(300)
    return fleet


def test_a_device_escalates_in_its_third_epoch(fleet: StoredFleet) -> None:
    """An alarm escalates when three consecutive epochs raise it."""
    (device,) = bad = fleet.add(1, bits=20)
    states = []
    for _ in range(4):
        fleet.judge()
        states += [state for _, state, *_ in fleet.alarms()]
        fleet.close_epoch(bad, bits=20)
    assert states == ["open", "open", "escalated", "escalated"]
    assert fleet.alarms() == [("device", "escalated", device, *NONE)]


def test_the_same_epoch_is_counted_once(fleet: StoredFleet) -> None:
    """Ten judgements of one epoch count as one epoch, raised or quiet."""
    bad = fleet.add(1, bits=20)
    for _ in range(10):
        fleet.judge()
    assert fleet.rows("SELECT state::text, raised_epochs, quiet_epochs FROM alarms") == [
        ("open", 1, 0)
    ]
    fleet.close_epoch(bad, bits=0)
    for _ in range(10):
        fleet.judge()
    assert fleet.rows("SELECT state::text, raised_epochs, quiet_epochs FROM alarms") == [
        ("open", 0, 1)
    ]


def test_two_quiet_epochs_close_and_one_does_not(fleet: StoredFleet) -> None:
    """One quiet epoch leaves the alarm open, two close it, and drift then opens a new one."""
    bad = fleet.add(1, bits=20)
    states = []
    for bits in (20, 0, 20, 0, 0, 20):
        fleet.close_epoch(bad, bits=bits)
        fleet.judge()
        states.append([state for _, state, *_ in fleet.alarms()])
    assert states[:5] == [["open"], ["open"], ["open"], ["open"], ["closed"]]
    assert states[5] == ["closed", "open"]


def test_evidence_far_above_the_cutoff_escalates_at_once(fleet: StoredFleet) -> None:
    """A gross fault escalates without waiting for three epochs."""
    fleet.add(1, bits=13 + alarms.FAR_BITS)
    fleet.add(1, bits=13)
    fleet.judge()
    assert sorted(state for _, state, *_ in fleet.alarms()) == ["escalated", "open"]


def test_a_silent_devices_drift_alarm_stays_active(fleet: StoredFleet) -> None:
    """A device that goes silent keeps its drift alarm and gets a silence alarm."""
    (device,) = bad = fleet.add(1, bits=20)
    fleet.judge()
    fleet.silence(bad)
    for _ in range(3):
        fleet.judge()
    assert fleet.alarms() == [
        ("device", "open", device, *NONE),
        ("silent", "escalated", device, *NONE),
    ]
    fleet.silence(bad, hours=0)
    fleet.judge()
    assert fleet.alarms()[1][1] == "escalated"
    fleet.judge()
    assert fleet.alarms()[1][1] == "closed"


def test_a_deleted_devices_alarms_close(fleet: StoredFleet) -> None:
    """Alarms of a device that was deleted from the store close."""
    bad = fleet.add(2, bits=20)
    fleet.judge()
    fleet.silence(bad[:1])
    fleet.judge()
    fleet.connection.execute("DELETE FROM devices WHERE device = ANY(%s)", [list(bad)])
    fleet.judge()
    fleet.judge()
    assert [state for _, state, *_ in fleet.alarms()] == ["closed"] * 3


def test_a_named_group_replaces_its_devices_alarms(fleet: StoredFleet) -> None:
    """A drifting group gets one alarm, a device outside it its own, and the group's closes."""
    group = fleet.add(40, bits=20, firmware=8)
    (device,) = fleet.add(1, bits=20)
    fleet.judge()
    active = [("device", "open", device, *NONE), ("group", "open", None, None, 8, None)]
    assert fleet.alarms() == active
    fleet.close_epoch(group, bits=0)
    fleet.judge()
    assert fleet.alarms() == active
    fleet.judge()
    assert fleet.alarms()[1][:2] == ("group", "closed")


def test_a_groups_evidence_counts_once_per_epoch(fleet: StoredFleet) -> None:
    """A group's epochs follow the clock, since its devices close theirs at different times."""
    fleet.rules = Rules(group_interval=1e9)
    fleet.add(40, bits=20, firmware=8)
    for _ in range(5):
        fleet.judge()
    assert fleet.alarms() == [("group", "open", None, None, 8, None)]


def test_a_group_without_devices_closes_and_a_silent_one_stays(fleet: StoredFleet) -> None:
    """A rolled-back firmware's alarm closes; a silent firmware's alarm stays active."""
    gone, quiet = fleet.add(40, bits=20, firmware=8), fleet.add(40, bits=20, firmware=9)
    fleet.judge()
    fleet.connection.execute(
        "UPDATE devices SET firmware = 1, evidence = 0, closed_evidence = 0 WHERE device = ANY(%s)",
        [list(gone)],
    )
    fleet.silence(quiet)
    fleet.judge()
    fleet.judge()
    assert fleet.alarms() == [
        ("group", "closed", None, None, 8, None),
        ("group", "open", None, None, 9, None),
        ("silent", "open", None, None, 9, None),
    ]


def test_a_silent_site_is_one_alarm(fleet: StoredFleet) -> None:
    """A silent site gets one alarm, and a silent device elsewhere its own."""
    fleet.silence(fleet.add(200, site=2, firmware=1))
    fleet.silence(fleet.add(200, site=2, firmware=2))
    (device,) = lone = fleet.add(1)
    fleet.silence(lone)
    fleet.judge()
    assert fleet.alarms() == [
        ("silent", "open", None, None, None, 2),
        ("silent", "open", device, *NONE),
    ]


def test_a_mass_outage_is_one_alarm_and_ends(
    fleet: StoredFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many scattered silent devices are one alarm, which closes when few are left."""
    monkeypatch.setattr(alarms, "MAX_SILENT_ALARMS", 50)
    devices = fleet.add(60)
    fleet.silence(devices)
    fleet.judge()
    assert fleet.alarms() == [("silent", "open", None, *NONE)]
    fleet.silence(devices[:40], hours=0)
    fleet.judge()
    fleet.judge()
    assert fleet.alarms()[0] == ("silent", "closed", None, *NONE)
    assert sorted(device for _, _, device, *_ in fleet.alarms()[1:]) == list(devices[40:])


def test_a_device_gone_for_400_days_raises_no_alert_for_ever(fleet: StoredFleet) -> None:
    """Alarms of a device silent for 30 days end, of drift and of silence."""
    fleet.add(100)
    (device,) = lone = fleet.add(1, bits=40)
    fleet.judge()
    fleet.silence(lone)
    fleet.judge()
    assert fleet.alarms() == [
        ("device", "open", device, *NONE),
        ("silent", "open", device, *NONE),
    ]
    fleet.silence(lone, hours=400 * 24)
    judgement = fleet.judge()
    assert (judgement.devices, judgement.silent, judgement.gone) == (device - 1, 0, 1)
    assert judgement.alarms.closed == 2
    fleet.judge()
    assert {state for _, state, *_ in fleet.alarms()} == {"closed"}
    fleet.silence(lone, hours=0)
    assert fleet.judge().alarms.opened == 1


def test_a_site_gone_for_400_days_raises_no_alert_for_ever(fleet: StoredFleet) -> None:
    """A silent site's alarm closes when its devices are gone."""
    fleet.add(100)
    fleet.silence(fleet.add(50, site=2))
    fleet.judge()
    assert [row[:2] for row in fleet.alarms()] == [("silent", "open")]
    fleet.connection.execute(
        "UPDATE devices SET last_seen = now() - interval '400 d' WHERE site = 2"
    )
    fleet.judge()
    fleet.judge()
    assert [row[:2] for row in fleet.alarms()] == [("silent", "closed")]


def test_a_retired_device_is_not_judged_and_its_alarms_close(fleet: StoredFleet) -> None:
    """A retired device is in no count and on no list."""
    fleet.add(100)
    (device,) = fleet.add(1, bits=40)
    fleet.judge()
    assert fleet.alarms() == [("device", "open", device, *NONE)]
    fleet.connection.execute(
        "INSERT INTO registry (device, state) VALUES (%s, 'retired')", [device]
    )
    judgement = fleet.judge()
    assert (judgement.devices, judgement.discovered, judgement.alarms.closed) == (device - 1, 0, 1)
    assert fleet.rows("SELECT * FROM suspects") == []
    assert fleet.alarms() == [("device", "closed", device, *NONE)]


def test_an_acknowledgement_ends_when_the_alarm_escalates(fleet: StoredFleet) -> None:
    """An acknowledged alarm stays so until it becomes critical."""
    fleet.add(100)
    devices = fleet.add(3, bits=20)
    fleet.judge()
    fleet.connection.execute("UPDATE alarms SET acknowledged = now(), acknowledged_by = 'ada'")
    fleet.close_epoch(devices, bits=20)
    fleet.judge()
    acknowledged = "SELECT DISTINCT state::text, acknowledged IS NOT NULL FROM alarms"
    assert fleet.rows(acknowledged) == [("open", True)]
    fleet.close_epoch(devices, bits=20)
    fleet.judge()
    assert fleet.rows(acknowledged) == [("escalated", False)]


def test_device_alarms_have_a_limit(fleet: StoredFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit only the strongest new alarm opens, and active alarms stay."""
    monkeypatch.setattr(alarms, "MAX_DEVICE_ALARMS", 3)
    first = fleet.add(2, bits=20)
    fleet.judge()
    fleet.add(5, bits=30)
    (strongest,) = fleet.add(1, bits=31)
    fleet.judge()
    assert [device for _, _, device, *_ in fleet.alarms()] == [*first, strongest]


def test_an_alarm_carries_the_cause_of_the_devices_own_alarm(fleet: StoredFleet) -> None:
    """The cause follows the device's records while the alarm is raised."""
    bad = fleet.add(1, bits=20, cause=0x25)
    fleet.judge()
    assert fleet.rows("SELECT cause FROM alarms") == [(0x25,)]
    for bits, cause in ((20, 2), (0, 1)):
        fleet.close_epoch(bad, bits=bits)
        fleet.connection.execute("UPDATE devices SET cause = %s", [cause])
        fleet.judge()
        assert fleet.rows("SELECT cause FROM alarms") == [(2,)]


def test_the_running_epoch_raises_an_alarm_before_it_closes(fleet: StoredFleet) -> None:
    """Evidence of the running epoch alone opens an alarm, which counts once in that epoch."""
    bad = fleet.add(1)
    fleet.judge()
    assert fleet.alarms() == []
    fleet.connection.execute("UPDATE devices SET evidence = 50 WHERE device = ANY(%s)", [list(bad)])
    for _ in range(3):
        fleet.judge()
    assert fleet.rows("SELECT state::text, raised_epochs FROM alarms") == [("open", 1)]


def test_all_of_a_fleet_may_drift(fleet: StoredFleet) -> None:
    """If every device drifts, one group is named and no device gets an alarm."""
    fleet.close_epoch(range(1, 301), bits=30)
    fleet.judge()
    assert fleet.alarms() == [("group", "open", None, 1, None, None)]
