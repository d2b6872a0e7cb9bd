# SPDX-License-Identifier: Apache-2.0
"""Persistence: write a judgement to the store, and delete rows past their retention."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, LiteralString

import numpy as np

from tcuq.fleet.judge.evidence_counts import EvidenceCounts
from tcuq.fleet.judge.groups import UNREACHABLE_Q8, GroupJudgements, cutoff_or_unreachable

if TYPE_CHECKING:
    from psycopg import Connection

LOOSEST_LEVEL = 0.5  # of the lists of devices
MAX_SUSPECTS = 100_000

SUSPECTS: LiteralString = """
INSERT INTO suspects (judgement, device, profile, firmware, site, evidence_q8)
SELECT %(judgement)s, device, profile, firmware, site, judged_q8
FROM devices JOIN unnest(%(profiles)s::integer[], %(firmwares)s::integer[], %(sites)s::integer[],
    %(cutoffs)s::integer[]) AS lowest (profile, firmware, site, cutoff_q8)
    USING (profile, firmware, site)
WHERE judged_q8 >= %(least)s AND judged_q8 >= cutoff_q8 AND last_seen >= %(since)s
ORDER BY judged_q8 DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class Retention:
    """Days after which judgements, closed alarms, epochs, cohorts and dead letters are deleted."""

    judgements: int = 30
    alarms: int = 365
    epochs: int = 365
    cohorts: int = 365
    dead_letters: int = 30

    def apply(self, connection: "Connection[Any]") -> int:
        """Delete older rows; return their number."""
        statements: tuple[tuple[LiteralString, int], ...] = (
            ("DELETE FROM judgements WHERE judged < now() - %s", self.judgements),
            ("DELETE FROM alarms WHERE state = 'closed' AND changed < now() - %s", self.alarms),
            ("DELETE FROM dead_letters WHERE stored < now() - %s", self.dead_letters),
        )
        deleted = sum(
            connection.execute(statement, [timedelta(days=days)]).rowcount
            for statement, days in statements
        )
        ((dropped,),) = connection.execute(
            "SELECT maintain_partitions(%s, %s)",
            [timedelta(days=self.epochs), timedelta(days=self.cohorts)],
        ).fetchall()
        return deleted + int(dropped)


def write_evidence(connection: "Connection[Any]", judgement: int, counts: EvidenceCounts) -> None:
    """Write the number of devices per evidence."""
    above = counts.evidence_q8 > 0
    values, where = np.unique(counts.evidence_q8[above], return_inverse=True)
    devices = np.bincount(where, counts.devices[above], len(values)).astype(int)
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY evidence (judgement, evidence_q8, devices) FROM STDIN") as copy,
    ):
        for value, count in zip(values.tolist(), devices.tolist(), strict=True):
            copy.write_row((judgement, value, count))


def write_groups(connection: "Connection[Any]", judgement: int, groups: GroupJudgements) -> None:
    """Write one row per group."""
    columns = (groups.devices, groups.silent, groups.judgeable, groups.discovered)
    device_counts = np.stack(columns, axis=1).tolist()
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY groups (judgement, profile, firmware, site, devices, silent, judgeable,"
            " discovered, own_discovered, own_cutoff_q8, evidence, drifted, named) FROM STDIN"
        ) as copy,
    ):
        for i, key in enumerate(groups.keys):
            own = groups.own[i]
            drift = (float(groups.bits[i]), bool(groups.drifted[i]), bool(groups.named[i]))
            copy.write_row((judgement, *key, *device_counts[i], own.count, own.cutoff_q8, *drift))


def write_suspects(
    connection: "Connection[Any]",
    judgement: int,
    counts: EvidenceCounts,
    groups: GroupJudgements,
    since: datetime,
) -> None:
    """Replace the suspects: devices discovered at the loosest level or within a group of theirs."""
    connection.execute("DELETE FROM suspects")
    own = np.array(
        [cutoff_or_unreachable(discovery.cutoff_q8) for discovery in groups.own], np.int64
    )
    loosest = cutoff_or_unreachable(counts.discovery(LOOSEST_LEVEL).cutoff_q8)
    cutoffs = np.minimum(own[counts.inside].min(axis=0), loosest)
    if cutoffs.min(initial=UNREACHABLE_Q8) == UNREACHABLE_Q8:
        return
    connection.execute(
        SUSPECTS,
        {
            "judgement": judgement,
            "since": since,
            "limit": MAX_SUSPECTS,
            "least": int(cutoffs.min()),
            "profiles": counts.cohorts[:, 0].tolist(),
            "firmwares": counts.cohorts[:, 1].tolist(),
            "sites": counts.cohorts[:, 2].tolist(),
            "cutoffs": cutoffs.tolist(),
        },
    )
