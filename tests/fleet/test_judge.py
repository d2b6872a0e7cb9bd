# SPDX-License-Identifier: Apache-2.0
"""A judgement: who is judged, what is written, that it is one, and what is kept."""

import threading

import numpy as np
import psycopg
import pytest
from field import Field

from tcuq.errors import InputError
from tcuq.fleet.judge.ebh import discover
from tcuq.fleet.judge.groups import or_never
from tcuq.fleet.judge.judgements import Retention
from tcuq.fleet.judge.verdict import LOCK, Rules, judge
from tcuq.fleet.store.tables import Store


@pytest.fixture
def field(store: Store) -> Field:
    """An empty field."""
    return Field(store)


def test_a_fleet_is_judged_by_closed_epochs(field: Field) -> None:
    """Young and silent devices are counted and not judged, whatever their evidence."""
    field.add(960)
    strong = field.add(10, bits=20)
    field.add(15, bits=60, closed_epoch=-1)
    field.hush(field.add(15, bits=60))
    said = field.judge()
    assert (said.devices, said.silent, said.judgeable) == (1000, 15, 970)
    assert (said.discovered, said.cutoff_q8) == (10, 20 * 256)
    listed = field.rows("SELECT device FROM suspects ORDER BY device")
    assert [device for (device,) in listed] == list(strong)


def test_an_empty_fleet_is_judged(field: Field) -> None:
    """Before the first device reports, and nothing breaks."""
    assert field.judge().devices == 0
    assert field.alarms() == []


def test_the_evidence_kept_is_enough_for_any_level(field: Field) -> None:
    """The dashboard's e-BH on the kept counts is the judge's."""
    rng = np.random.default_rng(3)
    for bits in rng.uniform(-5, 25, 60).round(2):
        field.add(int(rng.integers(1, 30)), bits=float(bits))
    said = field.judge()
    counts = np.array(field.rows("SELECT evidence_q8, devices FROM evidence"))
    for level in (0.01, 0.1, 0.5):
        found = discover(counts[:, 0], counts[:, 1], said.judgeable, level)
        assert found.count == sum(
            closed >= or_never(found.cutoff_q8)
            for (closed,) in field.rows("SELECT closed_evidence_q8 FROM devices")
        )
        if level == field.rules.level:
            assert (found.count, found.cutoff_q8) == (said.discovered, said.cutoff_q8)


def test_lists_hold_what_looser_levels_discover(field: Field) -> None:
    """Suspects go down to level 0.5, and to what a group discovers alone; one list at a time."""
    field.add(10_000, site=1)
    field.add(4, bits=13.5, site=1)
    field.add(99, site=2)
    field.add(1, bits=11, site=2)
    for _ in range(2):
        said = field.judge()
        assert said.discovered == 0
        listed = field.rows("SELECT site, evidence_q8, count(*) FROM suspects GROUP BY 1, 2")
        assert sorted(listed) == [(1, 13 * 256 + 128, 4), (2, 11 * 256, 1)]


def test_groups_are_written_with_their_counts(field: Field) -> None:
    """Each kind of group has its row; a broken firmware is named."""
    for firmware in (7, 8):
        for site in (1, 2):
            field.add(50, bits=30 if firmware == 8 else 0, firmware=firmware, site=site)
    said = field.judge()
    rows = field.rows(
        "SELECT profile, firmware, site, devices, judgeable, discovered, drifted, named FROM groups"
    )
    assert len(rows) == 1 + 2 + 2 + 4
    assert (None, 8, None, 100, 100, 100, True, True) in rows
    assert (None, None, 1, 100, 100, 50, True, False) in rows
    assert (1, 7, 2, 50, 50, 0, False, False) in rows
    assert said.groups == 1


def test_two_judges_take_turns(field: Field, database: str) -> None:
    """While one is at it the other does nothing; nor does it just afterwards."""
    field.add(100)
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        assert judge(field.connection, field.rules) is None
        other.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        assert judge(field.connection, field.rules) is not None
        assert judge(other, field.rules, unless_within_s=60) is None
        assert judge(other, field.rules) is not None


def test_a_judgement_that_fails_leaves_nothing(field: Field) -> None:
    """And lets the next judge in."""
    field.add(100, bits=30)
    field.connection.execute("ALTER TABLE alarms ADD CONSTRAINT none CHECK (evidence < 0)")
    with pytest.raises(psycopg.errors.CheckViolation):
        field.judge()
    assert field.rows("SELECT * FROM judgements") == []
    field.connection.execute("ALTER TABLE alarms DROP CONSTRAINT none")
    assert field.judge().alarms.opened == 1


def test_records_go_on_being_stored_while_a_judge_judges(field: Field, database: str) -> None:
    """What is written about one moment agrees, though devices change all the while."""
    devices = field.add(2000, bits=10)
    stop = threading.Event()

    def change() -> None:
        with psycopg.connect(database, autocommit=True) as writer:
            bits = 0
            while not stop.is_set():
                bits = (bits + 1) % 40
                writer.execute("UPDATE devices SET closed_evidence_q8 = %s", [256 * bits])

    writer = threading.Thread(target=change)
    writer.start()
    try:
        for _ in range(10):
            said = field.judge()
            listed = field.rows("SELECT count(*) FROM suspects")
            counted = field.rows(
                f"SELECT coalesce(sum(devices), 0) FROM evidence WHERE judgement = {said.judgement}"  # noqa: S608
            )
            assert said.discovered in (0, len(devices))
            assert said.discovered <= listed[0][0] <= counted[0][0]
    finally:
        stop.set()
        writer.join()


def test_old_things_go(field: Field) -> None:
    """By their age, each kind by its own; what stands stays."""
    field.add(50, bits=30)
    field.judge()
    field.judge()
    field.connection.execute(
        "UPDATE judgements SET judged = judged - interval '31 days' WHERE judgement = 1"
    )
    field.connection.execute("UPDATE alarms SET changed = changed - interval '2 years'")
    field.connection.execute(
        "INSERT INTO dead_letters VALUES ('a', 1, '', '', now() - interval '31 days'),"
        " ('b', 1, '', '', now() - interval '29 days')"
    )
    field.connection.execute(
        "INSERT INTO cohorts VALUES (1, 1, 1, now() - interval '366 days', 1, 1, 1, 1, 1, 1),"
        " (1, 1, 1, now() - interval '364 days', 1, 1, 1, 1, 1, 1)"
    )
    field.connection.execute(
        "INSERT INTO epochs VALUES (1, 1, 1, 1, 1, 1, now() - interval '366 days', 1, 1, 1, 1, ''),"
        " (1, 1, 1, 1, 1, 1, now() - interval '364 days', 1, 1, 1, 1, '')"
    )
    assert Retention().apply(field.connection) == 4
    assert field.rows("SELECT judgement FROM judgements") == [(2,)]
    assert field.rows("SELECT DISTINCT judgement FROM groups") == [(2,)]
    assert len(field.alarms()) == 1
    field.connection.execute("UPDATE alarms SET state = 'closed'")
    assert Retention().apply(field.connection) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 0.6}, "level must lie in"),
        ({"share": -0.1}, "share must lie in"),
        ({"silent_after_s": 0}, "silent_after_s must be above 0"),
        ({"epoch_s": 0}, "epoch_s must be above 0"),
    ],
)
def test_rules_have_bounds(options: dict[str, float], said: str) -> None:
    """Each is refused by name."""
    with pytest.raises(InputError, match=said):
        Rules(**options)
