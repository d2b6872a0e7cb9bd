# SPDX-License-Identifier: Apache-2.0
"""A new profile in the fleet: its adoption is counted, and nothing is judged across the change."""

from fleet.tests.fixtures.stored_fleet import StoredFleet
from fleet.tests.fixtures.stored_records import put, record
from tcuq_fleet.store.store import Store

OLD, NEW = 1, 2


def test_devices_are_counted_by_profile(store: Store) -> None:
    """Every judgement counts the devices of each profile, however few they are."""
    fleet = StoredFleet(store)
    fleet.add(30, profile=OLD)
    fleet.silence(fleet.add(3, profile=NEW))
    fleet.add(1, profile=NEW, site=2)
    counts = "SELECT profile, owner, devices, silent FROM profile_counts ORDER BY profile"
    for _ in range(2):
        fleet.judge()
        assert fleet.rows(counts) == [(OLD, 0, 30, 0), (NEW, 0, 4, 3)]


def test_a_device_is_not_judged_across_a_change_of_profile(store: Store) -> None:
    """Strong evidence under the old profile says nothing of the device under the new one."""
    fleet = StoredFleet(store)
    fleet.add(30, profile=OLD)
    device = 1000
    put(store, record(device, 1, 5, 500, epoch=12, evidence=60, closed=60, profile=OLD))
    assert fleet.judge().discovered == 1
    put(store, record(device, 2, 0, 10, epoch=0, evidence=0, closed=60, profile=NEW))
    assert fleet.judge().discovered == 0
    assert fleet.rows("SELECT count(*) FROM suspects") == [(0,)]
    closed = "SELECT profile, closed_epoch, closed_evidence FROM devices WHERE device = 1000"
    assert fleet.rows(closed) == [(NEW, None, None)]
    assert fleet.rows("SELECT devices FROM profile_counts WHERE profile = 2") == [(1,)]


def test_cohorts_are_keyed_by_profile(store: Store) -> None:
    """A drifting old profile is named alone: the new one of the same firmware and site is not."""
    fleet = StoredFleet(store)
    fleet.add(40, bits=30, profile=OLD)
    fleet.add(40, profile=NEW)
    fleet.judge()
    named = fleet.rows("SELECT profile FROM groups WHERE drifted AND profile IS NOT NULL")
    assert set(named) == {(OLD,)}
