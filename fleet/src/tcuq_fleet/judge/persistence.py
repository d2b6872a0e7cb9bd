# SPDX-License-Identifier: Apache-2.0
"""Persistence: write a judgement to the store."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, LiteralString

import numpy as np
from psycopg import Connection

from tcuq_fleet.judge.evidence_counts import SILENT, EvidenceCounts, Flags
from tcuq_fleet.judge.groups import UNREACHABLE_Q8, GroupJudgements, cutoff_or_unreachable
from tcuq_fleet.judge.rules import LOOSEST_LEVEL

MAX_SUSPECTS = 100_000
MAX_LEAST_ACCURATE = 10_000

# Devices at the loosest level, and those of cohorts in which a lower cut-off discovers some.
SUSPECTS: LiteralString = """
INSERT INTO suspects (judgement, device, profile, firmware, site, evidence_q8)
SELECT %(judgement)s, device, profile, firmware, site, judged_q8
FROM devices LEFT JOIN unnest(%(profiles)s::integer[], %(firmwares)s::integer[],
    %(sites)s::integer[], %(cutoffs)s::integer[]) AS lowest (profile, firmware, site, cutoff_q8)
    USING (profile, firmware, site)
WHERE judged_q8 >= %(least)s AND judged_q8 >= coalesce(cutoff_q8, %(loosest)s)
    AND last_seen >= %(since)s
    AND NOT EXISTS (
        SELECT FROM registry WHERE registry.device = devices.device AND state = 'retired')
ORDER BY judged_q8 DESC LIMIT %(limit)s
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
    "INSERT INTO firmware_accuracy (firmware, owner, devices, expected_error)"
    " SELECT firmware, coalesce(owner, 0), count(*), sum(expected_error)"
    + _ESTIMATED
    + "GROUP BY firmware, coalesce(owner, 0)"
)

OWNERS: LiteralString = """
INSERT INTO owner_counts (judgement, owner, devices, silent, judgeable, discovered)
SELECT %s, coalesce(owner, 0), sum(devices), sum(silent), sum(judgeable), sum(discovered)
FROM site_counts LEFT JOIN sites USING (site) GROUP BY coalesce(owner, 0)
"""


def write_evidence(connection: Connection[Any], judgement: int, counts: EvidenceCounts) -> None:
    """Write the number of devices per evidence."""
    above = counts.evidence_q8 > 0
    values, where = np.unique(counts.evidence_q8[above], return_inverse=True)
    devices = np.bincount(where, counts.devices[above], len(values)).astype(int)
    rows = zip(values.tolist(), devices.tolist(), strict=True)
    target = "evidence (judgement, evidence_q8, devices)"
    _copy(connection, target, ((judgement, *row) for row in rows))


def write_groups(
    connection: Connection[Any], judgement: int, groups: GroupJudgements, written: Flags
) -> None:
    """Write one row per group of `written`."""
    columns = (groups.devices, groups.silent, groups.judgeable, groups.discovered)

    def row(i: int) -> tuple[Any, ...]:
        own = groups.own[i]
        figures = (int(column[i]) for column in columns)
        drift = (float(groups.bits[i]), bool(groups.drifted[i]), bool(groups.named[i]))
        return (judgement, *groups.keys[i], *figures, own.count, own.cutoff_q8, *drift)

    target = (
        "groups (judgement, profile, firmware, site, devices, silent, judgeable, discovered,"
        " own_discovered, own_cutoff_q8, evidence, drifted, named)"
    )
    _copy(connection, target, (row(i) for i in np.flatnonzero(written).tolist()))


def write_sites(
    connection: Connection[Any], judgement: int, counts: EvidenceCounts, cutoff_q8: int
) -> None:
    """Replace every site's counts, and write the sums over each owner's sites."""
    codes = counts.evidence_q8
    sites, where = np.unique(counts.cohorts[:, 2], return_inverse=True)
    columns = [
        np.bincount(where, counts.by_cohort(rows), len(sites)).astype(np.int64)
        for rows in (codes >= SILENT, codes == SILENT, codes >= 0, codes >= cutoff_q8)
    ]
    connection.execute("DELETE FROM site_counts")
    _copy(connection, "site_counts", np.stack([sites, *columns], axis=1).tolist())
    connection.execute(OWNERS, [judgement])


def write_profiles(connection: Connection[Any], counts: EvidenceCounts) -> None:
    """Replace the number of devices by profile and by owner of their sites."""
    owners = dict(connection.execute("SELECT site, coalesce(owner, 0) FROM sites").fetchall())
    sums: dict[tuple[int, int], list[int]] = {}
    codes = counts.evidence_q8
    columns = (counts.by_cohort(codes >= SILENT), counts.by_cohort(codes == SILENT))
    for i, (profile, _, site) in enumerate(counts.cohorts.tolist()):
        row = sums.setdefault((profile, owners.get(site, 0)), [0, 0])
        for at, column in enumerate(columns):
            row[at] += int(column[i])
    connection.execute("DELETE FROM profile_counts")
    _copy(connection, "profile_counts", ((*key, *row) for key, row in sums.items()))


def write_accuracy(connection: Connection[Any], since: datetime) -> None:
    """Replace the rankings of devices and of firmware versions by estimated accuracy."""
    values = {"since": since, "limit": MAX_LEAST_ACCURATE}
    connection.execute("DELETE FROM least_accurate")
    connection.execute(LEAST_ACCURATE, values)
    connection.execute("DELETE FROM firmware_accuracy")
    connection.execute(FIRMWARE_ACCURACY, values)


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
    loosest = cutoff_or_unreachable(counts.discovery(LOOSEST_LEVEL).cutoff_q8)
    cutoffs = own[counts.inside].min(axis=0)
    codes, cohort = counts.evidence_q8, counts.cohort
    lower = np.unique(cohort[(codes >= cutoffs[cohort]) & (codes < loosest)])
    least = int(cutoffs[lower].min(initial=loosest))
    if least == UNREACHABLE_Q8:
        return
    connection.execute(
        SUSPECTS,
        {
            "judgement": judgement,
            "since": since,
            "limit": MAX_SUSPECTS,
            "least": least,
            "loosest": loosest,
            "profiles": counts.cohorts[lower, 0].tolist(),
            "firmwares": counts.cohorts[lower, 1].tolist(),
            "sites": counts.cohorts[lower, 2].tolist(),
            "cutoffs": cutoffs[lower].tolist(),
        },
    )


def _copy(
    connection: Connection[Any], target: LiteralString, rows: Iterable[Sequence[Any]]
) -> None:
    """Write rows to a table, or to some of its columns."""
    with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
