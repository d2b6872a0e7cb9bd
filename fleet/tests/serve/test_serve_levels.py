# SPDX-License-Identifier: Apache-2.0
"""Discoveries at any level agree with a count of the devices themselves."""

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from tcuq_fleet.judge.ebh import discover
from tcuq_fleet.serve import group_queries, levels, queries
from tcuq_fleet.serve.database import Reader, Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES, Group

JUDGED = "judged_q8 IS NOT NULL AND last_seen >= now() - interval '1 day'"


@pytest.fixture(scope="module")
def session(seeded: str) -> Iterator[Session]:
    """Open a session on one snapshot of the fleet."""
    reader = Reader(seeded, lambda *_: None)
    reader.open()
    with reader.session() as snapshot:
        yield snapshot
    reader.close()


@pytest.fixture
def judgement(session: Session) -> queries.JudgementRow:
    """Return the last judgement."""
    newest = queries.newest(session)
    assert newest is not None
    return newest


def count_devices(seeded: str, cutoff_q8: int, group: Group) -> int:
    """Count judged devices of a group with at least this evidence, over all devices."""
    with psycopg.connect(seeded) as connection:
        row = connection.execute(
            f"SELECT count(*) FROM devices JOIN sites USING (site) WHERE {JUDGED}"  # noqa: S608
            " AND judged_q8 >= %(cutoff)s"
            " AND (%(profile)s::integer IS NULL OR profile = %(profile)s)"
            " AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)"
            " AND (%(site)s::text IS NULL OR name = %(site)s)",
            {"cutoff": cutoff_q8, **group.numbers},
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize("level", [*levels.LEVELS, 0.3, 0.0314])
def test_discoveries_at_a_level_are_those_of_all_devices(
    session: Session, judgement: queries.JudgementRow, seeded: str, level: float
) -> None:
    """e-BH over the stored counts equals e-BH over the fleet."""
    with psycopg.connect(seeded) as connection:
        rows = connection.execute(f"SELECT judged_q8 FROM devices WHERE {JUDGED}")  # noqa: S608
        values = np.array(rows.fetchall(), np.int64).reshape(-1)
    truth = discover(values, np.ones(len(values), int), len(values), level)
    finding = levels.finding_at(session, judgement, level)
    assert (finding.discovered, finding.least_q8) == (truth.count, truth.cutoff_q8)


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
    session: Session, judgement: queries.JudgementRow, seeded: str, level: float, group: Group
) -> None:
    """A group of one, two or three identifiers has its devices' discoveries at any level."""
    finding = levels.finding_at(session, judgement, level)
    row = group_queries.judged_group(session, judgement, group)
    assert row is not None
    assert finding.least_q8 is not None
    (ranked,) = levels.count_discoveries(session, judgement, finding, [row])
    assert ranked.discovered == count_devices(seeded, finding.least_q8, group)


def test_named_groups_come_first(session: Session, judgement: queries.JudgementRow) -> None:
    """The broken firmware is named and first, and its cohorts are explained by it."""
    groups = levels.drifting(session, judgement, levels.finding_at(session, judgement, None))
    assert str(groups[0].group) == "Firmware 1.8.0"
    assert [row.named for row in groups].count(True) == 1
    within = [row for row in groups[1:] if row.firmware == "1.8.0"]
    assert within
    assert all(row.explained for row in within)


def test_suspects_are_listed_completely_and_in_order(
    session: Session, judgement: queries.JudgementRow
) -> None:
    """The pages list every discovered device once, by decreasing evidence."""
    finding = levels.finding_at(session, judgement, 0.01)
    listed: list[group_queries.Suspect] = []
    for page in range(1, 100):
        rows = group_queries.suspects(
            session, judgement.judgement, finding.cutoffs_q8, ALL_DEVICES, page=page
        )
        listed += rows
        if len(rows) < queries.PAGE:
            break
    assert len({row.device for row in listed}) == len(listed) == finding.discovered
    evidence = [row.evidence_bits for row in listed]
    assert evidence == sorted(evidence, reverse=True)


def test_nothing_can_be_written(session: Session) -> None:
    """The session refuses to write."""
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        session.rows(queries.JudgementRow, "bad", "DELETE FROM alarms RETURNING 1", {})
