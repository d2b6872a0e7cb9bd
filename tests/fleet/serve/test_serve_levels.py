# SPDX-License-Identifier: Apache-2.0
"""Figures at any level are those that counting the devices themselves gives."""

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from tcuq.fleet.judge.ebh import discover
from tcuq.fleet.serve import levels, queries
from tcuq.fleet.serve.database import Reader, Session
from tcuq.fleet.serve.identity import EVERYBODY, Group

JUDGED = "closed_epoch >= 0 AND seen >= now() - interval '1 day'"


@pytest.fixture(scope="module")
def session(seeded: str) -> Iterator[Session]:
    """A snapshot of the fleet."""
    reader = Reader(seeded, lambda *_: None)
    reader.open()
    with reader.session() as opened:
        yield opened
    reader.close()


@pytest.fixture
def judgement(session: Session) -> queries.Judgement:
    """The last one."""
    found = queries.newest(session)
    assert found is not None
    return found


def counted(seeded: str, cutoff_q8: int, group: Group) -> int:
    """Judged devices of a group with so much evidence, by looking at every device."""
    with psycopg.connect(seeded) as connection:
        row = connection.execute(
            f"SELECT count(*) FROM devices JOIN sites USING (site) WHERE {JUDGED}"  # noqa: S608
            " AND closed_evidence_q8 >= %(cutoff)s"
            " AND (%(profile)s::integer IS NULL OR profile = %(profile)s)"
            " AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)"
            " AND (%(site)s::text IS NULL OR name = %(site)s)",
            {"cutoff": cutoff_q8, **group.numbers},
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("level", [*levels.LEVELS, 0.3, 0.0314])
def test_discoveries_at_a_level_are_those_of_all_devices(
    session: Session, judgement: queries.Judgement, seeded: str, level: float
) -> None:
    """e-BH over the kept counts is e-BH over the fleet."""
    with psycopg.connect(seeded) as connection:
        rows = connection.execute(f"SELECT closed_evidence_q8 FROM devices WHERE {JUDGED}")  # noqa: S608
        values = np.array(rows.fetchall(), np.int64).reshape(-1)
    truth = discover(values, np.ones(len(values), int), len(values), level)
    found = levels.finding(session, judgement, level)
    assert (found.discovered, found.cutoff_q8) == (truth.count, truth.cutoff_q8)


@pytest.mark.parametrize("level", [0.5, 0.05, 0.001])
@pytest.mark.parametrize(
    "group",
    [
        Group(firmware="1.8.0"),
        Group(profile="b81e22d4"),
        Group(site="tromso"),
        Group(firmware="1.7.1", site="tromso"),
        Group("0c55e9aa", "1.8.0", "lyon"),
    ],
    ids=str,
)
def test_a_groups_discoveries_are_its_devices(
    session: Session, judgement: queries.Judgement, seeded: str, level: float, group: Group
) -> None:
    """By one name, two or three, at the judge's level and others."""
    found = levels.finding(session, judgement, level)
    own = queries.tally(session, judgement.judgement, group)
    assert own is not None
    assert found.cutoff_q8 is not None
    (row,) = levels.counted(session, judgement, found, [own])
    assert row.discovered == counted(seeded, found.cutoff_q8, group)


def test_what_drifts_as_a_whole_comes_first(session: Session, judgement: queries.Judgement) -> None:
    """One broken firmware is one line, and its cohorts are known to be explained by it."""
    rows = levels.drifting(session, judgement, levels.finding(session, judgement, None))
    assert str(rows[0].tally.group) == "Firmware 1.8.0"
    assert [row.tally.named for row in rows].count(True) == 1
    inside = [row for row in rows[1:] if row.tally.group.firmware == "1.8.0"]
    assert inside
    assert all(row.explained for row in inside)


def test_suspects_are_listed_whole_and_in_order(
    session: Session, judgement: queries.Judgement
) -> None:
    """Page after page every discovered device once, those with the most evidence first."""
    found = levels.finding(session, judgement, 0.01)
    assert found.cutoff_q8 is not None
    listed: list[queries.Suspect] = []
    for page in range(1, 100):
        rows = queries.suspects(session, judgement.judgement, found.cutoff_q8, EVERYBODY, page=page)
        listed += rows
        if len(rows) < queries.PAGE:
            break
    assert len({row.device for row in listed}) == len(listed) == found.discovered
    evidence = [row.evidence_q8 for row in listed]
    assert evidence == sorted(evidence, reverse=True)


def test_nothing_can_be_written(session: Session) -> None:
    """The session itself refuses, whatever a query says."""
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        session.rows(queries.Judgement, "bad", "DELETE FROM alarms RETURNING 1", {})
