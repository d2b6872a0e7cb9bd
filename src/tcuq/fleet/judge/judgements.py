# SPDX-License-Identifier: Apache-2.0
"""What a judgement leaves in the store, and how long it and the fleet's past are kept."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, LiteralString

import numpy as np

from tcuq.fleet.judge.groups import NEVER, Groups, or_never
from tcuq.fleet.judge.tally import Tally

if TYPE_CHECKING:
    from psycopg import Connection

LOOSEST = 0.5  # lists of devices go down to this level
MOST_SUSPECTS = 100_000

SUSPECTS: LiteralString = """
INSERT INTO suspects (judgement, device, profile, firmware, site, evidence_q8)
SELECT %(judgement)s, device, profile, firmware, site, closed_evidence_q8
FROM devices JOIN unnest(%(profiles)s::integer[], %(firmwares)s::integer[], %(sites)s::integer[],
    %(cutoffs)s::integer[]) AS lowest (profile, firmware, site, cutoff_q8)
    USING (profile, firmware, site)
WHERE closed_evidence_q8 >= %(least)s AND closed_evidence_q8 >= cutoff_q8
    AND closed_epoch >= 0 AND seen >= %(since)s
ORDER BY closed_evidence_q8 DESC LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Retention:
    """Days for which things are kept: judgements, closed alarms, epochs, cohorts, dead letters."""

    judgements: int = 30
    alarms: int = 365
    epochs: int = 365
    cohorts: int = 365
    letters: int = 30

    def apply(self, connection: "Connection[Any]") -> int:
        """Remove what is older; returns the number of rows."""
        old: tuple[tuple[LiteralString, int], ...] = (
            ("DELETE FROM judgements WHERE judged < now() - %s", self.judgements),
            ("DELETE FROM alarms WHERE state = 'closed' AND changed < now() - %s", self.alarms),
            ("DELETE FROM epochs WHERE stored < now() - %s", self.epochs),
            ("DELETE FROM cohorts WHERE hour < now() - %s", self.cohorts),
            ("DELETE FROM dead_letters WHERE stored < now() - %s", self.letters),
        )
        return sum(
            connection.execute(statement, [timedelta(days=days)]).rowcount
            for statement, days in old
        )


def write_evidence(connection: "Connection[Any]", judgement: int, tally: Tally) -> None:
    """How many devices have how much."""
    above = tally.evidence_q8 > 0
    values, where = np.unique(tally.evidence_q8[above], return_inverse=True)
    devices = np.bincount(where, tally.devices[above], len(values)).astype(int)
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY evidence (judgement, evidence_q8, devices) FROM STDIN") as copy,
    ):
        for value, alike in zip(values.tolist(), devices.tolist(), strict=True):
            copy.write_row((judgement, value, alike))


def write_groups(connection: "Connection[Any]", judgement: int, groups: Groups) -> None:
    """A row a group."""
    columns = (groups.devices, groups.silent, groups.judgeable, groups.discovered)
    counts = np.stack(columns, axis=1).tolist()
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY groups (judgement, profile, firmware, site, devices, silent, judgeable,"
            " discovered, own_discovered, own_cutoff_q8, evidence, drifted, named) FROM STDIN"
        ) as copy,
    ):
        for i, name in enumerate(groups.names):
            own = groups.own[i]
            said = (float(groups.bits[i]), bool(groups.drifted[i]), bool(groups.named[i]))
            copy.write_row((judgement, *name, *counts[i], own.count, own.cutoff_q8, *said))


def write_suspects(
    connection: "Connection[Any]", judgement: int, tally: Tally, groups: Groups, since: datetime
) -> None:
    """Devices discovered at the loosest level, or in a group of theirs alone; the old list goes."""
    connection.execute("DELETE FROM suspects")
    own = np.array([or_never(discovery.cutoff_q8) for discovery in groups.own], np.int64)
    loosest = or_never(tally.discovery(LOOSEST).cutoff_q8)
    cutoffs = np.minimum(own[tally.inside].min(axis=0), loosest)
    if cutoffs.min(initial=NEVER) == NEVER:
        return
    connection.execute(
        SUSPECTS,
        {
            "judgement": judgement,
            "since": since,
            "most": MOST_SUSPECTS,
            "least": int(cutoffs.min()),
            "profiles": tally.cohorts[:, 0].tolist(),
            "firmwares": tally.cohorts[:, 1].tolist(),
            "sites": tally.cohorts[:, 2].tolist(),
            "cutoffs": cutoffs.tolist(),
        },
    )
