# SPDX-License-Identifier: Apache-2.0
"""Judge: discover drifting devices and groups from each device's last two epochs.

A device's evidence is the mean of two e-values, of the epoch it closed last and of the running one
(`judged_q8` in the table `devices`). At a time that does not depend on the evidence each has a mean
of at most 1 in a device without drift, and so has their mean under any dependence: a judgement by
the clock may use it at any hour, and finds drift before the epoch ends. An epoch that was never
closed has the e-value 1, as no bet was placed.

One judgement is one transaction. Of an owner's devices that it discovers, at most `level` are
expected to be false discoveries, under any dependence between devices; separately, the same holds
for an owner's groups. No owner's devices change a verdict of another's.

Of several databases each counts its own devices. The counts add up, so that a judgement is over all
of them; it is written to each, with the suspects and the alarms of that database's devices alone.
The first database's transaction is committed last: where that fails, the next judgement repeats it.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection

from tcuq_fleet.judge import alarms, changed, persistence
from tcuq_fleet.judge.databases import in_each
from tcuq_fleet.judge.evidence_counts import SILENT, YOUNG, EvidenceCounts, distinct
from tcuq_fleet.judge.groups import judge_groups, notable
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.store.places import JUDGING, Place, check_place

# Grouping by columns alone is faster than by a CASE. The rows are concatenated, in parts below
# PostgreSQL's limit of 1 GB, because reading them one by one is slow.
_COUNT: LiteralString = """
SELECT string_agg(int4send(profile) || int4send(firmware) || int4send(site)
    || int4send(CASE WHEN judged_q8 IS NULL THEN %(young)s ELSE greatest(judged_q8, 0) END::integer)
    || int4send((devices - silent)::integer) || int4send((silent - gone)::integer)
    || int4send(gone::integer), ''::bytea)
FROM (
    SELECT profile, firmware, site, judged_q8, count(*) AS devices,
        count(*) FILTER (WHERE last_seen < %(since)s) AS silent,
        count(*) FILTER (WHERE last_seen < %(gone_since)s) AS gone
    FROM <devices> GROUP BY profile, firmware, site, judged_q8
) AS counted
GROUP BY site & 15
"""
COUNT: LiteralString = _COUNT.replace("<devices>", "devices")
# To be subtracted: a look-up in the registry for each device would take a quarter more.
COUNT_RETIRED: LiteralString = _COUNT.replace(
    "<devices>",
    "(SELECT device FROM registry WHERE state = 'retired') AS retired JOIN devices USING (device)",
)
COLUMNS = 7  # profile, firmware, site, evidence; devices that report, that are silent, and gone
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of one judgement."""

    judgement: int
    judged: datetime
    devices: int
    silent: int
    gone: int
    judgeable: int
    discovered: int
    cutoff_q8: int | None
    groups: int  # named
    alarms: alarms.AlarmChanges
    compared: int  # devices whose change could be judged
    changed: int


def judge(
    databases: Connection[Any] | Sequence[Connection[Any]],
    rules: Rules,
    unless_within_s: float = 0,
) -> Judgement | None:
    """Judge the fleet; None if another judge is running, or has judged within so many seconds.

    `databases` is the connection to the database, or those to all of several in their order. The
    connections must be in autocommit mode.
    """
    connections = [databases] if isinstance(databases, Connection) else databases
    first = connections[0]
    if not _value(first, "SELECT pg_try_advisory_lock(%s)", JUDGING):
        return None
    try:
        recently: LiteralString = (
            "SELECT coalesce(max(judged) > now() - %s * interval '1 s', false) FROM judgements"
        )
        if _value(first, recently, unless_within_s):
            return None
        with ExitStack() as stack:
            for at, connection in enumerate(connections):
                stack.enter_context(connection.transaction())
                _prepare(connection, Place(at, len(connections)))
            return _judge_snapshot(connections, rules)
    finally:
        first.execute("SELECT pg_advisory_unlock(%s)", [JUDGING])


def _prepare(connection: Connection[Any], place: Place) -> None:
    # All statements see one snapshot of the database, while workers go on storing records.
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    connection.execute("SET LOCAL jit = off")  # compiling takes longer than it saves
    connection.execute("SET LOCAL work_mem = '256MB'")  # else many cohorts spill to disk
    # One database waits while others are asked.
    connection.execute("SET LOCAL idle_in_transaction_session_timeout = '30min'")
    check_place(connection, place, emptied=True)


def _judge_snapshot(connections: Sequence[Connection[Any]], rules: Rules) -> Judgement:
    first = connections[0]
    since = _value(first, "SELECT now() - %s * interval '1 s'", rules.silent_after)
    gone_since = _value(first, "SELECT now() - %s * interval '1 s'", rules.gone_after)
    counts, gone = count_evidence(connections, since, gone_since)
    discoveries, discovery = counts.discoveries(rules.level), counts.discovery(rules.level)
    active = alarms.active_groups(first, "group")
    active_silent = alarms.active_groups(first, "silent")
    groups = judge_groups(
        counts, rules.level, rules.share, active=active, active_silent=active_silent
    )
    written = notable(groups, counts.kinds, active | active_silent)
    devices = int(counts.devices.sum())
    silent = int(counts.devices[counts.evidence_q8 == SILENT].sum())
    figures = (devices, silent, gone, counts.judgeable, discovery.count, discovery.cutoff_q8)
    row = persistence.JudgementRow(rules.level, *figures, bool(written.all()))
    judgement, judged = persistence.write_judgement(connections, row)

    def write(connection: Connection[Any]) -> None:
        persistence.write_evidence(connection, judgement, counts)
        persistence.write_groups(connection, judgement, groups, written)
        persistence.write_sites(connection, judgement, counts, discoveries)
        persistence.write_profiles(connection, counts)
        persistence.write_suspects(connection, judgement, counts, groups, since)

    in_each(connections, write)
    persistence.write_accuracy(connections, since)
    changes = changed.judge_changes(
        connections, rules.level, since, owners_of_sites(first),
        alarms.active_groups(first, "changed"),
    )  # fmt: skip
    interval = int(judged.timestamp() // rules.group_interval)
    values = alarms.JudgementInput(judgement, since, gone_since, groups, interval, changes.groups)

    def update_alarms(connection: Connection[Any]) -> alarms.AlarmChanges:
        changed.write(connection, judgement, changes)
        return alarms.update(connection, values, of_groups=connection is first)

    updates = in_each(connections, update_alarms)
    update = alarms.AlarmChanges(*map(sum, zip(*updates, strict=True)))
    named = int(groups.named.sum())
    compared = int(changes.tested.sum())
    return Judgement(judgement, judged, *figures, named, update, compared, changes.changed)


def count_evidence(
    databases: Connection[Any] | Sequence[Connection[Any]], since: datetime, gone_since: datetime
) -> tuple[EvidenceCounts, int]:
    """Count the devices by evidence, and how many of the fleet are gone.

    A device that was last seen before `since` is silent, before `gone_since` gone. Several
    databases count at the same time.
    """
    connections = [databases] if isinstance(databases, Connection) else databases
    values = {"since": since, "gone_since": gone_since, "young": YOUNG}
    counted = in_each(connections, lambda connection: _count(connection, values))
    rows = np.concatenate([pair[0] for pair in counted])
    if any(retired.size for _, retired in counted):
        rows = _less(rows, np.concatenate([pair[1] for pair in counted]))
    keys, (reporting, silent, gone) = rows[:, :4], rows[:, 4:].T
    of_silent = np.column_stack([keys[:, :3], np.full(len(rows), SILENT), silent])
    present = np.concatenate(
        [np.column_stack([keys, reporting])[reporting > 0], of_silent[silent > 0]]
    )
    return EvidenceCounts(present, owners_of_sites(connections[0])), int(gone.sum())


def _count(connection: Connection[Any], values: Mapping[str, object]) -> list[Counts]:
    """Return the counts of all devices and of the retired ones."""
    with connection.cursor(binary=True) as cursor:
        return [
            np.frombuffer(b"".join(part for (part,) in cursor.execute(query, values)), ">i4")
            .reshape(-1, COLUMNS)
            .astype(np.int64)
            for query in (COUNT, COUNT_RETIRED)
        ]


def _less(rows: Counts, retired: Counts) -> Counts:
    """Return counts less those of retired devices."""
    keys, where = distinct(np.concatenate([rows[:, :4], retired[:, :4]]))
    numbers = np.zeros((len(keys), COLUMNS - 4), np.int64)
    np.add.at(numbers, where, np.concatenate([rows[:, 4:], -retired[:, 4:]]))
    return np.column_stack([keys, numbers])


def owners_of_sites(connection: Connection[Any]) -> dict[int, int]:
    """Return the owner of each site that has one."""
    rows = connection.execute("SELECT site, owner FROM sites WHERE owner IS NOT NULL")
    return dict(rows.fetchall())


def _value(connection: Connection[Any], statement: LiteralString, value: object) -> Any:  # noqa: ANN401 - a column's
    ((result,),) = connection.execute(statement, [value]).fetchall()
    return result
