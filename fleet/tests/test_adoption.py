# SPDX-License-Identifier: Apache-2.0
"""A new profile in the fleet: its adoption is counted, and nothing is judged across the change."""

from fleet.tests.fixtures.stored_fleet import StoredFleet

OLD, NEW = 1, 2


def test_devices_are_counted_by_profile(fleet: StoredFleet) -> None:
    """Every judgement counts the devices of each profile, however few they are."""
    fleet.add(30, profile=OLD)
    fleet.silence(fleet.add(3, profile=NEW))
    fleet.add(1, profile=NEW, site=2)
    counts = "SELECT profile, owner, devices, silent FROM profile_counts ORDER BY profile"
    for _ in range(2):
        fleet.judge()
        assert fleet.rows(counts) == [(OLD, 0, 30, 0), (NEW, 0, 4, 3)]


def test_cohorts_are_keyed_by_profile(fleet: StoredFleet) -> None:
    """A drifting old profile is named alone: the new one of the same firmware and site is not."""
    fleet.add(40, bits=30, profile=OLD)
    fleet.add(40, profile=NEW)
    fleet.judge()
    named = fleet.rows("SELECT profile FROM groups WHERE drifted AND profile IS NOT NULL")
    assert set(named) == {(OLD,)}
