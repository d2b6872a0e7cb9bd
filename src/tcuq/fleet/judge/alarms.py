# SPDX-License-Identifier: Apache-2.0
"""Alarms: opened when a judgement says so, escalated if it goes on, closed after two quiet epochs.

What counts is epochs, not judgements: a device that is judged hourly and closes its epoch daily has
one piece of evidence a day. Devices of a named group have no alarms of their own, and devices of a
silent group neither: one thing that went wrong is one alarm.
"""

from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple

from tcuq.fleet.judge.groups import SMALLEST, Groups
from tcuq.fleet.judge.tally import Group

if TYPE_CHECKING:
    from datetime import datetime

    from psycopg import Connection

ESCALATED_AFTER = 3  # epochs in a row that said so
CLOSED_AFTER = 2  # epochs in a row that did not
FAR_BITS = 32  # beyond the cut-off: a gross fault, escalated at once
MOST_DEVICES = 10_000  # standing alarms of devices; the strongest are opened first
MOST_SILENT = 1_000  # silent devices outside silent groups, before they are one alarm

# What this judgement says of each standing alarm. Of a device that is silent or has not closed an
# epoch, and of a group of which too few report, it says nothing: their alarms stand as they are.
# A device that was forgotten is quiet.
HEARD: LiteralString = """
WITH heard AS (
    SELECT alarm, coalesce(closed_evidence_q8 >= %(cutoff_q8)s, false) AS said,
        coalesce(closed_evidence_q8 >= %(far_q8)s, false) AS far,
        closed_evidence_q8 / 256.0 AS evidence, coalesce(closed_epoch, %(judgement)s) AS epoch
    FROM alarms LEFT JOIN devices USING (device)
    WHERE kind = 'device' AND state <> 'closed'
        AND coalesce(closed_epoch >= 0 AND devices.seen >= %(since)s, true)
    UNION ALL
    SELECT alarm, coalesce(drifted, false), coalesce(g.evidence >= %(group_far)s, false),
        coalesce(g.evidence, 0), %(period)s
    FROM alarms AS a LEFT JOIN groups AS g ON judgement = %(judgement)s
        AND (g.profile, g.firmware, g.site) IS NOT DISTINCT FROM (a.profile, a.firmware, a.site)
    WHERE kind = 'group' AND state <> 'closed'
        AND NOT coalesce(judgeable < %(smallest)s AND devices >= %(smallest)s, false)
    UNION ALL
    SELECT alarm, coalesce(devices.seen < %(since)s, false), false,
        extract(epoch FROM now() - devices.seen) / 3600, %(judgement)s
    FROM alarms LEFT JOIN devices USING (device)
    WHERE kind = 'silent' AND device IS NOT NULL AND state <> 'closed'
    UNION ALL
    SELECT alarm, CASE WHEN coalesce(a.profile, a.firmware, a.site) IS NULL THEN %(too_many)s
            ELSE coalesce(2 * g.silent >= g.devices, false) END,
        false, coalesce(g.silent, %(left)s), %(judgement)s
    FROM alarms AS a LEFT JOIN groups AS g ON judgement = %(judgement)s
        AND (g.profile, g.firmware, g.site) IS NOT DISTINCT FROM (a.profile, a.firmware, a.site)
    WHERE kind = 'silent' AND device IS NULL AND state <> 'closed'
), counted AS (
    SELECT alarm, said, far, heard.evidence, heard.epoch, state AS was,
        CASE WHEN heard.epoch = a.epoch THEN seen WHEN said THEN seen + 1 ELSE 0 END AS seen,
        CASE WHEN heard.epoch = a.epoch THEN quiet WHEN said THEN 0 ELSE quiet + 1 END AS quiet
    FROM heard JOIN alarms AS a USING (alarm)
), moved AS (
    SELECT *, CASE WHEN quiet >= %(closed_after)s THEN 'closed'
        WHEN said AND (far OR seen >= %(escalated_after)s) THEN 'escalated'
        ELSE was END AS state
    FROM counted
)
UPDATE alarms SET seen = moved.seen, quiet = moved.quiet, epoch = moved.epoch, state = moved.state,
    evidence = CASE WHEN said THEN moved.evidence ELSE alarms.evidence END,
    changed = CASE WHEN moved.state <> was THEN now() ELSE changed END
FROM moved WHERE alarms.alarm = moved.alarm
RETURNING moved.state::text, moved.state <> was
"""

OPEN_GROUPS: LiteralString = """
INSERT INTO alarms (kind, state, profile, firmware, site, evidence, epoch)
SELECT 'group', CASE WHEN evidence >= %(group_far)s THEN 'escalated' ELSE 'open' END::alarm_state,
    profile, firmware, site, evidence, %(period)s
FROM groups WHERE judgement = %(judgement)s AND named
ON CONFLICT DO NOTHING
"""

OPEN_DEVICES: LiteralString = """
INSERT INTO alarms (kind, state, device, evidence, epoch)
SELECT 'device',
    CASE WHEN s.evidence_q8 >= %(far_q8)s THEN 'escalated' ELSE 'open' END::alarm_state,
    device, s.evidence_q8 / 256.0, closed_epoch
FROM suspects AS s JOIN devices USING (device)
WHERE s.judgement = %(judgement)s AND s.evidence_q8 >= %(cutoff_q8)s
    AND NOT EXISTS (SELECT FROM groups AS g WHERE g.judgement = %(judgement)s AND named
        AND coalesce(g.profile, s.profile) = s.profile
        AND coalesce(g.firmware, s.firmware) = s.firmware AND coalesce(g.site, s.site) = s.site)
    AND NOT EXISTS (SELECT FROM alarms AS a
        WHERE kind = 'device' AND a.device = s.device AND state <> 'closed')
ORDER BY s.evidence_q8 DESC, device
LIMIT greatest(0, %(most)s -
    (SELECT count(*) FROM alarms WHERE kind = 'device' AND state <> 'closed'))
"""

OPEN_OUTAGES: LiteralString = """
INSERT INTO alarms (kind, profile, firmware, site, evidence, epoch)
SELECT 'silent', o.profile, o.firmware, o.site, g.silent, %(judgement)s
FROM unnest(%(profiles)s::integer[], %(firmwares)s::integer[], %(sites)s::integer[])
    AS o (profile, firmware, site)
    JOIN groups AS g ON judgement = %(judgement)s
    AND (g.profile, g.firmware, g.site) IS NOT DISTINCT FROM (o.profile, o.firmware, o.site)
ON CONFLICT DO NOTHING
"""

OPEN_SILENT: LiteralString = """
INSERT INTO alarms (kind, device, evidence, epoch)
SELECT 'silent', device, extract(epoch FROM now() - seen) / 3600, %(judgement)s
FROM devices AS d
WHERE seen < %(since)s
    AND NOT EXISTS (
        SELECT FROM unnest(%(profiles)s::integer[], %(firmwares)s::integer[], %(sites)s::integer[])
            AS o (profile, firmware, site)
        WHERE coalesce(o.profile, d.profile) = d.profile
            AND coalesce(o.firmware, d.firmware) = d.firmware
            AND coalesce(o.site, d.site) = d.site)
ON CONFLICT DO NOTHING
"""

OPEN_MANY: LiteralString = """
INSERT INTO alarms (kind, evidence, epoch) VALUES ('silent', %(left)s, %(judgement)s)
ON CONFLICT DO NOTHING
"""


class Said(NamedTuple):
    """A judgement, as alarms need it."""

    judgement: int
    since: "datetime"  # who was not seen since is silent
    cutoff_q8: int
    groups: Groups
    period: int  # number of the epoch by the clock, for what has none of its own


class Changes(NamedTuple):
    """How many alarms a judgement moved."""

    opened: int
    escalated: int
    closed: int


def standing(connection: "Connection[Any]", kind: str) -> frozenset[Group]:
    """Groups with an alarm of this kind."""
    rows = connection.execute(
        "SELECT profile, firmware, site FROM alarms"
        " WHERE kind = %s AND device IS NULL AND state <> 'closed'",
        [kind],
    )
    return frozenset(rows)


def update(connection: "Connection[Any]", said: Said) -> Changes:
    """Move the standing alarms on, then open new ones."""
    groups = said.groups
    outages = [name for name, flag in zip(groups.names, groups.outages, strict=True) if flag]
    left = groups.silent_left
    values = {
        "judgement": said.judgement,
        "since": said.since,
        "cutoff_q8": said.cutoff_q8,
        "far_q8": said.cutoff_q8 + 256 * FAR_BITS,
        "group_far": groups.cutoff_q8 / 256 + FAR_BITS,
        "period": said.period,
        "smallest": SMALLEST,
        "left": left,
        "too_many": left > MOST_SILENT,
        "closed_after": CLOSED_AFTER,
        "escalated_after": ESCALATED_AFTER,
        "most": MOST_DEVICES,
        "profiles": [name[0] for name in outages],
        "firmwares": [name[1] for name in outages],
        "sites": [name[2] for name in outages],
    }
    moved = connection.execute(HEARD, values).fetchall()
    silence = OPEN_MANY if left > MOST_SILENT else OPEN_SILENT
    opening = [OPEN_GROUPS, OPEN_DEVICES, *([OPEN_OUTAGES] if outages else ())]
    opened = sum(
        connection.execute(statement, values).rowcount
        for statement in (*opening, *([silence] if left else ()))
    )
    return Changes(
        opened,
        sum(changed and state == "escalated" for state, changed in moved),
        sum(changed and state == "closed" for state, changed in moved),
    )
