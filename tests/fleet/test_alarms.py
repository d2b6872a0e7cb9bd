# SPDX-License-Identifier: Apache-2.0
"""Alarms open, escalate and close with hysteresis; one thing that went wrong is one alarm."""

import pytest
from field import Field

from tcuq.fleet.judge import alarms
from tcuq.fleet.judge.verdict import Rules
from tcuq.fleet.store.tables import Store

NONE = (None, None, None)


@pytest.fixture
def field(store: Store) -> Field:
    """A site of 300 devices at rest."""
    made = Field(store)
    made.add(300)
    return made


def test_a_device_escalates_in_its_third_epoch(field: Field) -> None:
    """Said in three epochs in a row."""
    (device,) = bad = field.add(1, bits=20)
    states = []
    for _ in range(4):
        field.judge()
        states += [state for _, state, *_ in field.alarms()]
        field.close(bad, bits=20)
    assert states == ["open", "open", "escalated", "escalated"]
    assert field.alarms() == [("device", "escalated", device, *NONE)]


def test_the_same_epoch_is_counted_once(field: Field) -> None:
    """Judged ten times on the evidence of one day, it is still one day's."""
    bad = field.add(1, bits=20)
    for _ in range(10):
        field.judge()
    assert field.rows("SELECT state::text, seen, quiet FROM alarms") == [("open", 1, 0)]
    field.close(bad, bits=0)
    for _ in range(10):
        field.judge()
    assert field.rows("SELECT state::text, seen, quiet FROM alarms") == [("open", 0, 1)]


def test_two_quiet_epochs_close_and_one_does_not(field: Field) -> None:
    """A day of rest in a bad week is no end of it; after the end there is a new alarm."""
    bad = field.add(1, bits=20)
    states = []
    for bits in (20, 0, 20, 0, 0, 20):
        field.close(bad, bits=bits)
        field.judge()
        states.append([state for _, state, *_ in field.alarms()])
    assert states[:5] == [["open"], ["open"], ["open"], ["open"], ["closed"]]
    assert states[5] == ["closed", "open"]


def test_evidence_far_beyond_escalates_at_once(field: Field) -> None:
    """A gross fault need not last three days."""
    field.add(1, bits=13 + alarms.FAR_BITS)
    field.add(1, bits=13)
    field.judge()
    assert sorted(state for _, state, *_ in field.alarms()) == ["escalated", "open"]


def test_a_silent_devices_drift_stands(field: Field) -> None:
    """It cannot be quiet about drift by being off; being off is an alarm of its own."""
    (device,) = bad = field.add(1, bits=20)
    field.judge()
    field.hush(bad)
    for _ in range(3):
        field.judge()
    assert field.alarms() == [
        ("device", "open", device, *NONE),
        ("silent", "escalated", device, *NONE),
    ]
    field.hush(bad, hours=0)
    field.judge()
    assert field.alarms()[1][1] == "escalated"
    field.judge()
    assert field.alarms()[1][1] == "closed"


def test_a_forgotten_devices_alarms_close(field: Field) -> None:
    """Who is deleted from the store neither drifts nor is silent."""
    bad = field.add(2, bits=20)
    field.judge()
    field.hush(bad[:1])
    field.judge()
    field.connection.execute("DELETE FROM devices WHERE device = ANY(%s)", [list(bad)])
    field.judge()
    field.judge()
    assert [state for _, state, *_ in field.alarms()] == ["closed"] * 3


def test_a_named_group_speaks_for_its_devices(field: Field) -> None:
    """One alarm, not forty; a device elsewhere has its own; when all is well, it closes."""
    group = field.add(40, bits=20, firmware=8)
    (device,) = field.add(1, bits=20)
    field.judge()
    standing = [("device", "open", device, *NONE), ("group", "open", None, None, 8, None)]
    assert field.alarms() == standing
    field.close(group, bits=0)
    field.judge()
    assert field.alarms() == standing
    field.judge()
    assert field.alarms()[1][:2] == ("group", "closed")


def test_a_groups_evidence_counts_once_an_epoch(field: Field) -> None:
    """By the clock, since a group's devices close their epochs at different times."""
    field.rules = Rules(epoch_s=1e9)
    field.add(40, bits=20, firmware=8)
    for _ in range(5):
        field.judge()
    assert field.alarms() == [("group", "open", None, None, 8, None)]


def test_a_group_that_is_gone_closes_and_one_that_is_silent_stands(field: Field) -> None:
    """A firmware that was rolled back has nobody left to drift."""
    gone, quiet = field.add(40, bits=20, firmware=8), field.add(40, bits=20, firmware=9)
    field.judge()
    field.connection.execute(
        "UPDATE devices SET firmware = 1, closed_evidence_q8 = 0 WHERE device = ANY(%s)",
        [list(gone)],
    )
    field.hush(quiet)
    field.judge()
    field.judge()
    assert field.alarms() == [
        ("group", "closed", None, None, 8, None),
        ("group", "open", None, None, 9, None),
        ("silent", "open", None, None, 9, None),
    ]


def test_a_silent_site_is_one_alarm(field: Field) -> None:
    """And a device that is silent elsewhere has its own."""
    field.hush(field.add(200, site=2, firmware=1))
    field.hush(field.add(200, site=2, firmware=2))
    (device,) = lone = field.add(1)
    field.hush(lone)
    field.judge()
    assert field.alarms() == [
        ("silent", "open", None, None, None, 2),
        ("silent", "open", device, *NONE),
    ]


def test_a_mass_outage_is_one_alarm_and_ends(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent devices here and there, more than a list is good for."""
    monkeypatch.setattr(alarms, "MOST_SILENT", 50)
    some = field.add(60)
    field.hush(some)
    field.judge()
    assert field.alarms() == [("silent", "open", None, *NONE)]
    field.hush(some[:40], hours=0)
    field.judge()
    field.judge()
    assert field.alarms()[0] == ("silent", "closed", None, *NONE)
    assert [device for _, _, device, *_ in field.alarms()[1:]] == list(some[40:])


def test_device_alarms_have_a_limit(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    """The strongest are opened; those that stand go on standing."""
    monkeypatch.setattr(alarms, "MOST_DEVICES", 3)
    first = field.add(2, bits=20)
    field.judge()
    field.add(5, bits=30)
    (strongest,) = field.add(1, bits=31)
    field.judge()
    assert [device for _, _, device, *_ in field.alarms()] == [*first, strongest]


def test_all_of_a_fleet_may_drift(field: Field) -> None:
    """Then one group is named, and no device beside it."""
    field.close(range(1, 301), bits=30)
    field.judge()
    assert field.alarms() == [("group", "open", None, 1, None, None)]
