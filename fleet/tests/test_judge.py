# SPDX-License-Identifier: Apache-2.0
"""A judgement: which devices it judges, what it writes, its atomicity, and retention."""

import threading

import psycopg
import pytest

from fleet.tests.fixtures.stored_fleet import StoredFleet
from tcuq_fleet.judge import alarms, groups
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.retention import Retention
from tcuq_fleet.store.places import JUDGING


def test_a_fleet_is_judged_by_reporting_devices(fleet: StoredFleet) -> None:
    """Devices that are silent or have no evidence of their firmware are counted, not judged."""
    fleet.add(960)
    strong = fleet.add(10, bits=20)
    fleet.add(15, bits=60, mixed=True)
    fleet.silence(fleet.add(15, bits=60))
    judgement = fleet.judge()
    assert (judgement.devices, judgement.silent, judgement.judgeable) == (1000, 15, 970)
    assert (judgement.discovered, judgement.cutoff_q8) == (10, 20 * 256)
    listed = fleet.rows("SELECT device FROM suspects ORDER BY device")
    assert [device for (device,) in listed] == list(strong)


def test_an_empty_fleet_is_judged(fleet: StoredFleet) -> None:
    """A judgement before the first device reports finds nothing."""
    assert fleet.judge().devices == 0
    assert fleet.alarms() == []


def test_suspects_include_discoveries_at_looser_levels(fleet: StoredFleet) -> None:
    """Suspects reach down to level 0.5 and to a group's own cut-off; a judgement replaces them."""
    fleet.add(10_000, site=1)
    fleet.add(4, bits=13.5, site=1)
    fleet.add(99, site=2)
    fleet.add(1, bits=11, site=2)
    for _ in range(2):
        judgement = fleet.judge()
        assert judgement.discovered == 0
        listed = fleet.rows("SELECT site, evidence_q8, count(*) FROM suspects GROUP BY 1, 2")
        assert sorted(listed) == [(1, 13 * 256 + 128, 4), (2, 11 * 256, 1)]


def test_groups_are_written_with_their_counts(fleet: StoredFleet) -> None:
    """Each kind of group has its row, and a broken firmware is named."""
    for firmware in (7, 8):
        for site in (1, 2):
            fleet.add(50, bits=30 if firmware == 8 else 0, firmware=firmware, site=site)
    judgement = fleet.judge()
    rows = fleet.rows(
        "SELECT profile, firmware, site, devices, judgeable, discovered, drifted, named FROM groups"
    )
    assert len(rows) == 1 + 2 + 2 + 4
    assert (None, 8, None, 100, 100, 100, True, True) in rows
    assert (None, None, 1, 100, 100, 50, True, False) in rows
    assert (1, 7, 2, 50, 50, 0, False, False) in rows
    assert judgement.groups == 1


def test_one_owners_devices_change_no_verdict_of_another(
    fleet: StoredFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20,000 invented devices, calm or odd, leave the other owner's devices, groups and alarms."""
    monkeypatch.setattr(alarms, "MAX_DEVICE_ALARMS", 100)
    fleet.connection.execute("INSERT INTO owners (name) VALUES ('a'), ('b')")
    fleet.connection.execute(
        "INSERT INTO sites (name, owner) VALUES ('s', 1), ('t', 1), ('u', 1), ('v', 2)"
    )
    for bits in (0, 0, 0, 10, 11, 12, 13):
        fleet.add(60 if bits == 0 else 5, bits=bits, site=1)
    fleet.add(60, site=2)
    fleet.add(40, bits=12, site=2, firmware=8)
    fleet.silence(fleet.add(30, site=3))

    def verdicts() -> list[list[tuple[object, ...]]]:
        number = fleet.judge().judgement
        of_a = f"judgement = {number} AND owner = 1"
        return [
            fleet.rows(f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {columns}")  # noqa: S608
            for columns, table, where in (
                ("device, evidence_q8", "suspects", of_a),
                ("judgeable, discovered, cutoff_q8", "owner_counts", of_a),
                ("profile, firmware, site, devices, discovered, drifted, named", "groups", of_a),
                (
                    "kind::text, device, profile, firmware, site",
                    "alarms",
                    f"state <> 'closed' AND (owner = 1 OR device <= {own})",
                ),
            )
        ]

    own = fleet.rows("SELECT max(device) FROM devices")[0][0]
    alone = verdicts()
    assert all(alone)
    invented = fleet.add(10_000, site=4)
    assert verdicts() == alone
    fleet.add(10_000, bits=30, site=4, firmware=8)
    assert verdicts() == alone
    fleet.silence(invented)
    assert verdicts() == alone


def test_of_many_sites_only_notable_groups_are_written(
    fleet: StoredFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest, the drifting and the silent groups are written; every site is counted."""
    monkeypatch.setattr(groups, "MAX_WRITTEN", 3)
    for site in range(1, 31):
        fleet.add(20 + site, site=site)
    fleet.add(30, bits=30, site=40)
    fleet.silence(fleet.add(25, site=41))
    fleet.judge()
    written = [site for (site,) in fleet.rows("SELECT site FROM groups WHERE profile IS NULL AND"
        " site IS NOT NULL ORDER BY site")]  # fmt: skip
    assert written == [28, 29, 30, 40, 41]
    assert fleet.rows("SELECT all_groups FROM judgements") == [(False,)]
    counted = fleet.rows(
        "SELECT count(*), sum(devices), sum(silent), sum(discovered) FROM site_counts"
    )
    assert counted == [(32, 30 * 20 + 465 + 55, 25, 30)]
    assert fleet.rows("SELECT owner, devices, silent, judgeable, discovered FROM owner_counts") == [
        (0, 30 * 20 + 465 + 55, 25, 30 * 20 + 465 + 30, 30)
    ]


def test_pruning_does_not_change_which_groups_drift(
    fleet: StoredFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The family holds every group of twenty devices, written or not."""
    for site in range(1, 61):
        fleet.add(20, bits=9 if site == 60 else 0, site=site)
    drifted = "SELECT profile, firmware, site, evidence FROM groups WHERE judgement = {} AND named"
    first = fleet.judge().judgement
    monkeypatch.setattr(groups, "MAX_WRITTEN", 1)
    second = fleet.judge().judgement
    assert fleet.rows(drifted.format(first)) == fleet.rows(drifted.format(second))


def test_two_judges_take_turns(fleet: StoredFleet, database: str) -> None:
    """A second judge does nothing while the first judges, nor shortly afterwards."""
    fleet.add(100)
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [JUDGING])
        assert judge(fleet.connection, fleet.rules) is None
        other.execute("SELECT pg_advisory_unlock(%s)", [JUDGING])
        assert judge(fleet.connection, fleet.rules) is not None
        assert judge(other, fleet.rules, unless_within_s=60) is None
        assert judge(other, fleet.rules) is not None


def test_a_judgement_that_fails_leaves_nothing(fleet: StoredFleet) -> None:
    """A failed judgement writes no row and releases the lock."""
    fleet.add(100, bits=30)
    fleet.connection.execute("ALTER TABLE alarms ADD CONSTRAINT none CHECK (evidence < 0)")
    with pytest.raises(psycopg.errors.CheckViolation):
        fleet.judge()
    assert fleet.rows("SELECT * FROM judgements") == []
    fleet.connection.execute("ALTER TABLE alarms DROP CONSTRAINT none")
    assert fleet.judge().alarms.opened == 1


def test_a_judgement_sees_one_snapshot_while_records_are_stored(
    fleet: StoredFleet, database: str
) -> None:
    """Counts of one judgement agree although devices change all the while."""
    devices = fleet.add(2000, bits=10)
    stop = threading.Event()

    def change() -> None:
        with psycopg.connect(database, autocommit=True) as writer:
            bits = 0
            while not stop.is_set():
                bits = (bits + 1) % 40
                writer.execute("UPDATE devices SET closed_evidence = %s", [2 * bits])

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for _ in range(10):
            judgement = fleet.judge()
            listed = fleet.rows("SELECT count(*) FROM suspects")
            number = judgement.judgement
            counted = fleet.rows(
                f"SELECT coalesce(sum(devices), 0) FROM evidence WHERE judgement = {number}"  # noqa: S608
            )
            assert judgement.discovered in (0, len(devices))
            assert judgement.discovered <= listed[0][0] <= counted[0][0]
    finally:
        stop.set()
        writer.join()


def test_old_rows_are_deleted(fleet: StoredFleet) -> None:
    """Each kind of row is deleted by its own age; active alarms stay."""
    fleet.add(50, bits=30)
    fleet.judge()
    fleet.judge()
    fleet.connection.execute(
        "UPDATE judgements SET judged = judged - interval '31 days' WHERE judgement = 1"
    )
    fleet.connection.execute("UPDATE alarms SET changed = changed - interval '2 years'")
    fleet.connection.execute(
        "INSERT INTO dead_letters VALUES ('a', 1, '', '', now() - interval '31 days'),"
        " ('b', 1, '', '', now() - interval '29 days')"
    )
    fleet.connection.execute(
        "INSERT INTO cohorts VALUES (1, 1, 1, now() - interval '366 days', 1, 1, 1, 1, 1, 1),"
        " (1, 1, 1, now() - interval '364 days', 1, 1, 1, 1, 1, 1)"
    )
    fleet.connection.execute(
        "INSERT INTO epochs VALUES (1, 1, 1, 1, 1, 1, now() - interval '366 days', 1, 1, 1, 1, ''),"
        " (1, 1, 1, 1, 1, 1, now() - interval '364 days', 1, 2, 1, 1, '')"
    )
    assert Retention().apply(fleet.connection) == 4
    assert fleet.rows("SELECT judgement FROM judgements") == [(2,)]
    assert fleet.rows("SELECT DISTINCT judgement FROM groups") == [(2,)]
    assert len(fleet.alarms()) == 1
    fleet.connection.execute("UPDATE alarms SET state = 'closed'")
    assert Retention().apply(fleet.connection) == 1


def test_devices_are_counted_by_profile(fleet: StoredFleet) -> None:
    """Every judgement counts the devices of each profile, however few they are."""
    fleet.add(30, profile=1)
    fleet.silence(fleet.add(3, profile=2))
    fleet.add(1, profile=2, site=2)
    counts = "SELECT profile, owner, devices, silent FROM profile_counts ORDER BY profile"
    for _ in range(2):
        fleet.judge()
        assert fleet.rows(counts) == [(1, 0, 30, 0), (2, 0, 4, 3)]


def test_cohorts_are_keyed_by_profile(fleet: StoredFleet) -> None:
    """A drifting old profile is named alone: the new one of the same firmware and site is not."""
    fleet.add(40, bits=30, profile=1)
    fleet.add(40, profile=2)
    fleet.judge()
    named = fleet.rows("SELECT profile FROM groups WHERE drifted AND profile IS NOT NULL")
    assert set(named) == {(1,)}
