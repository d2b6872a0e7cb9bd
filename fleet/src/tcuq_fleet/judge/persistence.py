# SPDX-License-Identifier: Apache-2.0
"""Persistence: write a judgement to the store."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, LiteralString, NamedTuple

import numpy as np
from psycopg import Connection

from tcuq_fleet.judge.ebh import UNREACHABLE_Q8, Discovery, cutoff_or_unreachable
from tcuq_fleet.judge.evidence_counts import SILENT, EvidenceCounts, Flags, distinct
from tcuq_fleet.judge.groups import GroupJudgements
from tcuq_fleet.judge.rules import LOOSEST_LEVEL

MAX_SUSPECTS = 100_000  # of an owner
MAX_LEAST_ACCURATE = 10_000

# Devices of the cohorts that have any, down to each cohort's cut-off.
SUSPECTS: LiteralString = """
INSERT INTO suspects (judgement, device, profile, firmware, site, evidence_q8, owner)
SELECT %(judgement)s, device, profile, firmware, site, judged_q8, owner
FROM (
    SELECT device, profile, firmware, site, judged_q8, owner,
        row_number() OVER (PARTITION BY owner ORDER BY judged_q8 DESC) AS place
    FROM devices JOIN unnest(%(profiles)s::integer[], %(firmwares)s::integer[],
        %(sites)s::integer[], %(owners)s::integer[], %(cutoffs)s::integer[])
        AS lowest (profile, firmware, site, owner, cutoff_q8) USING (profile, firmware, site)
    WHERE judged_q8 >= %(least)s AND judged_q8 >= cutoff_q8 AND last_seen >= %(since)s
        AND NOT EXISTS (
            SELECT FROM registry WHERE registry.device = devices.device AND state = 'retired')
) AS ranked
WHERE place <= %(limit)s
"""

# Reporting devices that have an estimate.
_ESTIMATED: LiteralString = """
FROM devices LEFT JOIN sites USING (site) WHERE expected_error IS NOT NULL
    AND last_seen >= %(since)s AND NOT EXISTS (
        SELECT FROM registry WHERE registry.device = devices.device AND state = 'retired')
"""
LEAST_ACCURATE: LiteralString = (
    "INSERT INTO least_accurate (device, profile, firmware, site, expected_error)"
    " SELECT device, profile, firmware, site, expected_error"
    + _ESTIMATED
    + "ORDER BY expected_error DESC, device LIMIT %(limit)s"
)
FIRMWARE_ACCURACY: LiteralString = (
    "SELECT firmware, coalesce(owner, 0), count(*), sum(expected_error)::bigint"
    + _ESTIMATED
    + "GROUP BY firmware, coalesce(owner, 0)"
)
ACCURACY_HOUR: LiteralString = """
INSERT INTO accuracy_hours (hour, firmware, owner, devices, expected_error)
SELECT date_trunc('hour', now()), firmware, owner, devices, expected_error FROM firmware_accuracy
ON CONFLICT (hour, firmware, owner)
    DO UPDATE SET devices = excluded.devices, expected_error = excluded.expected_error
"""

JUDGEMENT: LiteralString = """
INSERT INTO judgements (level, devices, silent, gone, judgeable, discovered, cutoff_q8, all_groups)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING judgement, judged
"""
COPY_OF_JUDGEMENT: LiteralString = """
INSERT INTO judgements (judgement, judged, level, devices, silent, gone, judgeable, discovered,
    cutoff_q8, all_groups)
OVERRIDING SYSTEM VALUE VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
OWNERS: LiteralString = """
INSERT INTO owner_counts (judgement, owner, devices, silent, judgeable, discovered, cutoff_q8)
SELECT %(judgement)s, counted.*, cutoff_q8 FROM (
    SELECT coalesce(owner, 0) AS owner, sum(devices), sum(silent), sum(judgeable), sum(discovered)
    FROM site_counts LEFT JOIN sites USING (site) GROUP BY 1
) AS counted LEFT JOIN unnest(%(owners)s::integer[], %(cutoffs)s::integer[])
    AS least (owner, cutoff_q8) USING (owner)
"""


class JudgementRow(NamedTuple):
    """A row of `judgements`."""

    level: float
    devices: int
    silent: int
    gone: int
    judgeable: int
    discovered: int
    cutoff_q8: int | None
    all_groups: bool


def write_judgement(
    connections: Sequence[Connection[Any]], row: JudgementRow
) -> tuple[int, datetime]:
    """Write a judgement to each database; return the number and time that the first one gives."""
    first, *others = connections
    ((judgement, judged),) = first.execute(JUDGEMENT, row).fetchall()
    for other in others:  # what an interrupted judgement left goes
        other.execute("DELETE FROM judgements WHERE judgement >= %s", [judgement])
        other.execute(COPY_OF_JUDGEMENT, [judgement, judged, *row])
    return judgement, judged


def write_evidence(connection: Connection[Any], judgement: int, counts: EvidenceCounts) -> None:
    """Replace the number of devices of each owner per evidence."""
    above = counts.evidence_q8 > 0
    owner = counts.owners[counts.cohort_owner[counts.cohort[above]]]
    keys, where = distinct(np.column_stack([owner, counts.evidence_q8[above]]))
    devices = np.bincount(where, counts.devices[above], len(keys)).astype(int)
    connection.execute("DELETE FROM evidence")
    rows = np.column_stack([keys, devices]).tolist()
    target = "evidence (judgement, owner, evidence_q8, devices)"
    _copy(connection, target, ((judgement, *row) for row in rows))


def write_groups(
    connection: Connection[Any], judgement: int, groups: GroupJudgements, written: Flags
) -> None:
    """Write one row per group of `written`."""
    columns = (groups.devices, groups.silent, groups.judgeable, groups.discovered)

    def row(i: int) -> tuple[Any, ...]:
        own = groups.own[i]
        figures = (int(column[i]) for column in columns)
        cutoff = int(groups.cutoffs_q8[i])
        drift = (
            None if cutoff == UNREACHABLE_Q8 else cutoff,
            float(groups.bits[i]),
            bool(groups.drifted[i]),
            bool(groups.named[i]),
        )
        return (judgement, *groups.keys[i], *figures, own.count, own.cutoff_q8, *drift)

    target = (
        "groups (judgement, profile, firmware, site, owner, devices, silent, judgeable,"
        " discovered, own_discovered, own_cutoff_q8, cutoff_q8, evidence, drifted, named)"
    )
    _copy(connection, target, (row(i) for i in np.flatnonzero(written).tolist()))


def write_sites(
    connection: Connection[Any],
    judgement: int,
    counts: EvidenceCounts,
    discoveries: Sequence[Discovery],
) -> None:
    """Replace every site's counts, and write the sums over each owner's sites."""
    codes = counts.evidence_q8
    cutoffs = counts.cutoffs_q8(discoveries)[counts.cohort]
    sites, where = np.unique(counts.cohorts[:, 2], return_inverse=True)
    columns = [
        np.bincount(where, counts.by_cohort(rows), len(sites)).astype(np.int64)
        for rows in (codes >= SILENT, codes == SILENT, codes >= 0, codes >= cutoffs)
    ]
    connection.execute("DELETE FROM site_counts")
    _copy(connection, "site_counts", np.stack([sites, *columns], axis=1).tolist())
    values = {
        "judgement": judgement,
        "owners": counts.owners.tolist(),
        "cutoffs": [each.cutoff_q8 for each in discoveries],
    }
    connection.execute(OWNERS, values)


def write_profiles(connection: Connection[Any], counts: EvidenceCounts) -> None:
    """Replace the number of devices by profile and by owner of their sites."""
    owners = counts.owners[counts.cohort_owner].tolist()
    sums: dict[tuple[int, int], list[int]] = {}
    codes = counts.evidence_q8
    columns = (counts.by_cohort(codes >= SILENT), counts.by_cohort(codes == SILENT))
    for i, profile in enumerate(counts.cohorts[:, 0].tolist()):
        row = sums.setdefault((profile, owners[i]), [0, 0])
        for at, column in enumerate(columns):
            row[at] += int(column[i])
    connection.execute("DELETE FROM profile_counts")
    _copy(connection, "profile_counts", ((*key, *row) for key, row in sums.items()))


def write_accuracy(connections: Sequence[Connection[Any]], since: datetime) -> None:
    """Replace the rankings by estimated accuracy of devices and of firmware; add to the trend."""
    values = {"since": since, "limit": MAX_LEAST_ACCURATE}
    sums: dict[tuple[int, int], list[int]] = {}
    for connection in connections:
        connection.execute("DELETE FROM least_accurate")
        connection.execute(LEAST_ACCURATE, values)
        for firmware, owner, *figures in connection.execute(FIRMWARE_ACCURACY, values):
            before = sums.get((firmware, owner), [0, 0])
            sums[firmware, owner] = [a + b for a, b in zip(before, figures, strict=True)]
    rows = [(*key, *figures) for key, figures in sums.items()]
    for connection in connections:
        connection.execute("DELETE FROM firmware_accuracy")
        _copy(connection, "firmware_accuracy (firmware, owner, devices, expected_error)", rows)
        connection.execute(ACCURACY_HOUR)


def write_suspects(
    connection: Connection[Any],
    judgement: int,
    counts: EvidenceCounts,
    groups: GroupJudgements,
    since: datetime,
) -> None:
    """Replace the suspects: devices discovered at the loosest level or within a group of theirs."""
    connection.execute("DELETE FROM suspects")
    own = np.array([cutoff_or_unreachable(each.cutoff_q8) for each in groups.own], np.int64)
    loosest = counts.cutoffs_q8(counts.discoveries(LOOSEST_LEVEL))
    cutoffs = np.minimum(own[counts.inside].min(axis=0), loosest)
    having = np.unique(counts.cohort[counts.evidence_q8 >= cutoffs[counts.cohort]])
    if not having.size:
        return
    connection.execute(
        SUSPECTS,
        {
            "judgement": judgement,
            "since": since,
            "limit": MAX_SUSPECTS,
            "least": int(cutoffs[having].min()),
            "profiles": counts.cohorts[having, 0].tolist(),
            "firmwares": counts.cohorts[having, 1].tolist(),
            "sites": counts.cohorts[having, 2].tolist(),
            "owners": counts.owners[counts.cohort_owner[having]].tolist(),
            "cutoffs": cutoffs[having].tolist(),
        },
    )


def _copy(
    connection: Connection[Any], target: LiteralString, rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows to a table, or to some of its columns."""
    with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
