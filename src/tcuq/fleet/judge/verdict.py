# SPDX-License-Identifier: Apache-2.0
"""Judge: which devices and groups drift, from each device's last closed epoch, in one transaction.

A judgement promises: of the devices it discovers at most `level` are expected to be false, whatever
the dependence between devices; and the same, apart, of the groups.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, LiteralString

import numpy as np

from tcuq.errors import InputError
from tcuq.fleet.judge import alarms
from tcuq.fleet.judge.groups import judge_groups, or_never
from tcuq.fleet.judge.judgements import LOOSEST, write_evidence, write_groups, write_suspects
from tcuq.fleet.judge.tally import SILENT, YOUNG, Tally

if TYPE_CHECKING:
    from psycopg import Connection

LOCK = 0x6A756467  # of the advisory lock: judges take turns

# One scan of the fleet says all that is judged.
COUNT: LiteralString = """
SELECT profile, firmware, site,
    CASE WHEN seen < %(since)s THEN %(silent)s::integer
        WHEN closed_epoch < 0 THEN %(young)s::integer
        ELSE greatest(closed_evidence_q8, 0) END,
    count(*)
FROM devices GROUP BY 1, 2, 3, 4
"""


@dataclass(frozen=True, slots=True)
class Rules:
    """How to judge.

    Parameters
    ----------
    level
        Of the false-discovery rate, up to 0.5.
    share
        Of a group's devices that must drift before the group does; 0: the plain average.
    silent_after_s
        Seconds without a record after which a device is silent.
    epoch_s
        Length of the devices' epochs: a group's evidence counts once an epoch.
    """

    level: float = 0.1
    share: float = 0.1
    silent_after_s: float = 10_800
    epoch_s: float = 86_400

    def __post_init__(self) -> None:
        if not 0 < self.level <= LOOSEST:
            raise InputError(f"level must lie in (0, {LOOSEST}], got {self.level}")
        if not 0 <= self.share <= 1:
            raise InputError(f"share must lie in [0, 1], got {self.share}")
        for name in ("silent_after_s", "epoch_s"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be above 0, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judgement found."""

    judgement: int
    judged: datetime
    devices: int
    silent: int
    judgeable: int
    discovered: int
    cutoff_q8: int | None
    groups: int  # named
    alarms: alarms.Changes


def judge(
    connection: "Connection[Any]", rules: Rules, unless_within_s: float = 0
) -> Judgement | None:
    """Judge the fleet as it stands; None if another judge is at it or was, some seconds ago.

    The connection is in autocommit mode.
    """
    if not _value(connection, "SELECT pg_try_advisory_lock(%s)", LOCK):
        return None
    try:
        recently: LiteralString = (
            "SELECT coalesce(max(judged) > now() - %s * interval '1 s', false) FROM judgements"
        )
        if _value(connection, recently, unless_within_s):
            return None
        with connection.transaction():
            # Every statement sees the fleet at one moment, while records go on being stored.
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute("SET LOCAL jit = off")  # compiling takes longer than it saves
            return _judged(connection, rules)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def count(connection: "Connection[Any]", since: datetime) -> Tally:
    """The fleet, counted; silent is who was not seen since."""
    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute(COUNT, {"since": since, "silent": SILENT, "young": YOUNG}).fetchall()
    return Tally(np.array(rows, np.int64).reshape(-1, 5))


def _judged(connection: "Connection[Any]", rules: Rules) -> Judgement:
    since = _value(connection, "SELECT now() - %s * interval '1 s'", rules.silent_after_s)
    tally = count(connection, since)
    found = tally.discovery(rules.level)
    groups = judge_groups(
        tally,
        rules.level,
        rules.share,
        standing=alarms.standing(connection, "group"),
        standing_silent=alarms.standing(connection, "silent"),
    )
    devices = int(tally.devices.sum())
    silent = int(tally.devices[tally.evidence_q8 == SILENT].sum())
    said = (devices, silent, tally.judgeable, found.count, found.cutoff_q8)
    ((judgement, judged),) = connection.execute(
        "INSERT INTO judgements (level, devices, silent, judgeable, discovered, cutoff_q8)"
        " VALUES (%s, %s, %s, %s, %s, %s) RETURNING judgement, judged",
        [rules.level, *said],
    ).fetchall()
    write_evidence(connection, judgement, tally)
    write_groups(connection, judgement, groups)
    write_suspects(connection, judgement, tally, groups, since)
    period = int(judged.timestamp() // rules.epoch_s)
    changes = alarms.update(
        connection, alarms.Said(judgement, since, or_never(found.cutoff_q8), groups, period)
    )
    named = int(groups.named.sum())
    return Judgement(judgement, judged, *said, named, changes)


def _value(connection: "Connection[Any]", statement: LiteralString, value: object) -> Any:  # noqa: ANN401 - a column's
    ((found,),) = connection.execute(statement, [value]).fetchall()
    return found
