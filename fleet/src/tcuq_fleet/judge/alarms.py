# SPDX-License-Identifier: Apache-2.0
"""Alarms: opened by a judgement, escalated if they persist, closed after two quiet epochs.

Epochs are counted, not judgements: a device that is judged hourly is counted once in each running
epoch, by the first judgement in it. One fault is one alarm, so devices of a named group or of a
silent group have no alarms of their own. An alarm is active until it is closed. Alarms of a retired
device, and of one that is gone (silent for `gone_after`), are closed at once.
"""

from collections.abc import Sequence
from datetime import datetime  # noqa: TC003 - NamedTuple reads it
from typing import Any, LiteralString, NamedTuple

from psycopg import Connection

from tcuq_fleet.judge.evidence_counts import GroupKey
from tcuq_fleet.judge.groups import MIN_DEVICES, GroupJudgements

ESCALATED_AFTER = 3  # consecutive epochs that raised the alarm
CLOSED_AFTER = 2  # consecutive epochs that did not
FAR_BITS = 32  # above the cut-off: a gross fault, escalated at once
# Of an owner, active at a time; those with the most evidence are opened first.
MAX_DEVICE_ALARMS = 10_000
MAX_SILENT_ALARMS = 1_000  # with more silent devices outside silent groups, one alarm for all

CLOSE_ENDED: LiteralString = """
UPDATE alarms SET state = 'closed', changed = now()
FROM devices LEFT JOIN registry USING (device)
WHERE alarms.device = devices.device AND alarms.state <> 'closed'
    AND (devices.last_seen < %(gone_since)s OR registry.state = 'retired')
"""

# Update each active alarm by this judgement. Alarms of devices that are silent or not judged yet
# under a new firmware, and of groups with too few reporting devices, stay unchanged. A deleted
# device is quiet.
UPDATE_ACTIVE: LiteralString = """
WITH observation AS (
    SELECT alarm, coalesce(judged_q8 >= of_owner.cutoff_q8, false) AS raised,
        coalesce(judged_q8 >= of_owner.cutoff_q8 + 256 * %(far_bits)s, false) AS far,
        judged_q8 / 256.0 AS evidence, coalesce(devices.epoch, %(judgement)s) AS epoch,
        devices.cause
    FROM alarms LEFT JOIN devices USING (device) LEFT JOIN sites ON sites.site = devices.site
        LEFT JOIN owner_counts AS of_owner ON of_owner.judgement = %(judgement)s
            AND of_owner.owner = coalesce(sites.owner, 0)
    WHERE kind = 'device' AND state <> 'closed'
        AND (devices.device IS NULL OR judged_q8 IS NOT NULL AND last_seen >= %(since)s)
    UNION ALL
    SELECT alarm, coalesce(drifted, false), coalesce(
            g.evidence >= g.cutoff_q8 / 256.0 + %(far_bits)s, false),
        coalesce(g.evidence, 0), %(interval)s, NULL
    FROM alarms AS a LEFT JOIN groups AS g ON judgement = %(judgement)s
        AND (g.profile, g.firmware, g.site, g.owner)
            IS NOT DISTINCT FROM (a.profile, a.firmware, a.site, a.owner)
    WHERE kind = 'group' AND state <> 'closed'
        AND NOT coalesce(judgeable < %(min_devices)s AND devices >= %(min_devices)s, false)
    UNION ALL
    SELECT alarm, coalesce(devices.last_seen < %(since)s, false), false,
        extract(epoch FROM now() - devices.last_seen) / 3600, %(judgement)s, NULL
    FROM alarms LEFT JOIN devices USING (device)
    WHERE kind = 'silent' AND device IS NOT NULL AND state <> 'closed'
    UNION ALL
    SELECT alarm, coalesce(2 * g.silent >= g.devices, crowd.silent IS NOT NULL),
        false, coalesce(g.silent, crowd.silent, 0), %(judgement)s, NULL
    FROM alarms AS a LEFT JOIN groups AS g ON judgement = %(judgement)s
        AND (g.profile, g.firmware, g.site, g.owner)
            IS NOT DISTINCT FROM (a.profile, a.firmware, a.site, a.owner)
        LEFT JOIN unnest(%(crowded)s::integer[], %(silent_left)s::bigint[])
            AS crowd (owner, silent) ON crowd.owner = a.owner
            AND coalesce(a.profile, a.firmware, a.site) IS NULL
    WHERE kind = 'silent' AND device IS NULL AND state <> 'closed'
    UNION ALL
    SELECT alarm, changed.device IS NOT NULL, false, coalesce(changed.evidence_q8, 0) / 256.0,
        coalesce(devices.epoch, %(judgement)s), NULL
    FROM alarms LEFT JOIN devices USING (device) LEFT JOIN changed USING (device)
    WHERE kind = 'changed' AND device IS NOT NULL AND state <> 'closed'
        AND (devices.device IS NULL OR last_seen >= %(since)s)
    UNION ALL
    SELECT alarm, o.owner IS NOT NULL, false, coalesce(o.devices, 0), %(interval)s, NULL
    FROM alarms AS a LEFT JOIN unnest(%(changed_profiles)s::integer[],
            %(changed_firmwares)s::integer[], %(changed_sites)s::integer[],
            %(changed_owners)s::integer[], %(changed_devices)s::bigint[])
            AS o (profile, firmware, site, owner, devices)
        ON (o.profile, o.firmware, o.site, o.owner)
            IS NOT DISTINCT FROM (a.profile, a.firmware, a.site, a.owner)
    WHERE kind = 'changed' AND device IS NULL AND state <> 'closed'
), counted AS (
    SELECT alarm, raised, far, o.evidence, o.epoch, o.cause, state AS old_state,
        CASE WHEN o.epoch = a.epoch THEN raised_epochs WHEN raised THEN raised_epochs + 1
            ELSE 0 END AS raised_epochs,
        CASE WHEN o.epoch = a.epoch THEN quiet_epochs WHEN raised THEN 0
            ELSE quiet_epochs + 1 END AS quiet_epochs
    FROM observation AS o JOIN alarms AS a USING (alarm)
), transition AS (
    SELECT *, CASE WHEN quiet_epochs >= %(closed_after)s THEN 'closed'
        WHEN raised AND (far OR raised_epochs >= %(escalated_after)s) THEN 'escalated'
        ELSE old_state END AS state
    FROM counted
)
UPDATE alarms SET raised_epochs = t.raised_epochs, quiet_epochs = t.quiet_epochs, epoch = t.epoch,
    state = t.state, acknowledged = CASE WHEN t.state = 'escalated' AND old_state = 'open'
        THEN NULL ELSE acknowledged END,
    evidence = CASE WHEN raised THEN t.evidence ELSE alarms.evidence END,
    cause = CASE WHEN raised THEN t.cause ELSE alarms.cause END,
    changed = CASE WHEN t.state <> old_state THEN now() ELSE changed END
FROM transition AS t WHERE alarms.alarm = t.alarm
RETURNING t.state::text, t.state <> old_state
"""

OPEN_GROUPS: LiteralString = """
INSERT INTO alarms (kind, state, profile, firmware, site, owner, evidence, epoch)
SELECT 'group', CASE WHEN evidence >= cutoff_q8 / 256.0 + %(far_bits)s THEN 'escalated'
    ELSE 'open' END::alarm_state, profile, firmware, site, owner, evidence, %(interval)s
FROM groups WHERE judgement = %(judgement)s AND named
ON CONFLICT DO NOTHING
"""

_OPEN_DEVICES: LiteralString = """
WITH g AS MATERIALIZED (
    SELECT profile, firmware, site, owner FROM groups WHERE judgement = %(judgement)s AND named
), ranked AS (
    SELECT s.*, cutoff_q8,
        row_number() OVER (PARTITION BY owner ORDER BY s.evidence_q8 DESC, device) AS place
    FROM suspects AS s JOIN owner_counts AS of_owner USING (judgement, owner)
    WHERE judgement = %(judgement)s AND s.evidence_q8 >= cutoff_q8
        AND NOT EXISTS (SELECT FROM g WHERE g.owner = s.owner
            AND coalesce(g.profile, s.profile) = s.profile
            AND coalesce(g.firmware, s.firmware) = s.firmware AND coalesce(g.site, s.site) = s.site)
        AND NOT EXISTS (SELECT FROM alarms AS a
            WHERE kind = 'device' AND a.device = s.device AND state <> 'closed')
)
INSERT INTO alarms (kind, state, device, evidence, epoch, cause)
SELECT 'device', CASE WHEN evidence_q8 >= cutoff_q8 + 256 * %(far_bits)s THEN 'escalated'
    ELSE 'open' END::alarm_state, device, evidence_q8 / 256.0, devices.epoch, devices.cause
FROM ranked JOIN devices USING (device) LEFT JOIN (<active>) AS active USING (owner)
WHERE place <= %(max_device_alarms)s - coalesce(active.alarms, 0)
ORDER BY evidence_q8 DESC, device
"""

OPEN_SILENT_GROUPS: LiteralString = """
INSERT INTO alarms (kind, profile, firmware, site, owner, evidence, epoch)
SELECT 'silent', o.*, g.silent, %(judgement)s
FROM unnest(%(profiles)s::integer[], %(firmwares)s::integer[], %(sites)s::integer[],
    %(owners)s::integer[]) AS o (profile, firmware, site, owner)
    JOIN groups AS g ON judgement = %(judgement)s AND (g.profile, g.firmware, g.site, g.owner)
        IS NOT DISTINCT FROM (o.profile, o.firmware, o.site, o.owner)
ON CONFLICT DO NOTHING
"""

OPEN_SILENT_DEVICES: LiteralString = """
INSERT INTO alarms (kind, device, evidence, epoch)
SELECT 'silent', device, extract(epoch FROM now() - last_seen) / 3600, %(judgement)s
FROM devices AS d LEFT JOIN sites USING (site)
WHERE last_seen < %(since)s AND last_seen >= %(gone_since)s
    AND NOT coalesce(sites.owner, 0) = ANY(%(crowded)s::integer[])
    AND NOT EXISTS (SELECT FROM registry AS r WHERE r.device = d.device AND state = 'retired')
    AND NOT EXISTS (
        SELECT FROM unnest(%(profiles)s::integer[], %(firmwares)s::integer[],
            %(sites)s::integer[], %(owners)s::integer[]) AS o (profile, firmware, site, owner)
        WHERE o.owner = coalesce(sites.owner, 0) AND coalesce(o.profile, d.profile) = d.profile
            AND coalesce(o.firmware, d.firmware) = d.firmware
            AND coalesce(o.site, d.site) = d.site)
ON CONFLICT DO NOTHING
"""

OPEN_CHANGED_GROUPS: LiteralString = """
INSERT INTO alarms (kind, profile, firmware, site, owner, evidence, epoch)
SELECT 'changed', o.*, %(interval)s
FROM unnest(%(changed_profiles)s::integer[], %(changed_firmwares)s::integer[],
    %(changed_sites)s::integer[], %(changed_owners)s::integer[], %(changed_devices)s::bigint[])
    AS o (profile, firmware, site, owner, devices)
ON CONFLICT DO NOTHING
"""

_OPEN_CHANGED_DEVICES: LiteralString = """
WITH ranked AS (
    SELECT *, row_number() OVER (PARTITION BY owner ORDER BY evidence_q8 DESC, device) AS place
    FROM changed AS c
    WHERE NOT EXISTS (
            SELECT FROM unnest(%(changed_profiles)s::integer[], %(changed_firmwares)s::integer[],
                %(changed_sites)s::integer[], %(changed_owners)s::integer[])
                AS o (profile, firmware, site, owner)
            WHERE o.owner = c.owner AND coalesce(o.profile, c.profile) = c.profile
                AND coalesce(o.firmware, c.firmware) = c.firmware
                AND coalesce(o.site, c.site) = c.site)
        AND NOT EXISTS (SELECT FROM alarms AS a
            WHERE kind = 'changed' AND a.device = c.device AND state <> 'closed')
)
INSERT INTO alarms (kind, device, evidence, epoch, cause, moved)
SELECT 'changed', device, evidence_q8 / 256.0, devices.epoch, devices.cause, moved
FROM ranked JOIN devices USING (device) LEFT JOIN (<active>) AS active USING (owner)
WHERE place <= %(max_device_alarms)s - coalesce(active.alarms, 0)
ORDER BY evidence_q8 DESC, device
"""
# Active alarms of an owner's devices.
_ACTIVE: LiteralString = """
    SELECT coalesce(sites.owner, 0) AS owner, count(*) AS alarms
    FROM alarms JOIN devices USING (device) LEFT JOIN sites ON sites.site = devices.site
    WHERE kind = '<kind>' AND state <> 'closed' GROUP BY 1
"""
OPEN_DEVICES = _OPEN_DEVICES.replace("<active>", _ACTIVE.replace("<kind>", "device"))
OPEN_CHANGED_DEVICES = _OPEN_CHANGED_DEVICES.replace(
    "<active>", _ACTIVE.replace("<kind>", "changed")
)

OPEN_SILENT_FLEET: LiteralString = """
INSERT INTO alarms (kind, owner, evidence, epoch)
SELECT 'silent', crowd.*, %(judgement)s
FROM unnest(%(crowded)s::integer[], %(silent_left)s::bigint[]) AS crowd (owner, silent)
ON CONFLICT DO NOTHING
"""


class JudgementInput(NamedTuple):
    """What a judgement passes to its alarms."""

    judgement: int
    since: "datetime"  # a device last seen before is silent
    gone_since: "datetime"  # and before this time gone
    groups: GroupJudgements
    interval: int  # number by the clock, which groups have in place of an epoch
    changed: dict[GroupKey, int]  # groups of which half the devices changed: so many


class AlarmChanges(NamedTuple):
    """How many alarms a judgement opened, escalated and closed."""

    opened: int
    escalated: int
    closed: int


def active_groups(connection: Connection[Any], kind: str) -> frozenset[GroupKey]:
    """Return the groups with an active alarm of this kind."""
    rows = connection.execute(
        "SELECT profile, firmware, site, owner FROM alarms"
        " WHERE kind = %s AND device IS NULL AND state <> 'closed'",
        [kind],
    )
    return frozenset(rows)


def update(
    connection: Connection[Any], judgement: JudgementInput, *, of_groups: bool = True
) -> AlarmChanges:
    """Close and update active alarms, then open new ones.

    Of several databases each has the alarms of its devices, and the first one those `of_groups`.
    """
    groups = judgement.groups
    outages = [key for key, flag in zip(groups.keys, groups.outages, strict=True) if flag]
    crowded = {
        owner: count for owner, count in groups.silent_left.items() if count > MAX_SILENT_ALARMS
    }
    values = {
        "judgement": judgement.judgement,
        "since": judgement.since,
        "gone_since": judgement.gone_since,
        "far_bits": FAR_BITS,
        "interval": judgement.interval,
        "min_devices": MIN_DEVICES,
        "crowded": list(crowded),
        "silent_left": list(crowded.values()),
        "closed_after": CLOSED_AFTER,
        "escalated_after": ESCALATED_AFTER,
        "max_device_alarms": MAX_DEVICE_ALARMS,
        **_columns("", outages),
        **_columns("changed_", list(judgement.changed)),
        "changed_devices": list(judgement.changed.values()),
    }
    ended = connection.execute(CLOSE_ENDED, values).rowcount
    transitions = connection.execute(UPDATE_ACTIVE, values).fetchall()
    statements = [OPEN_GROUPS, OPEN_CHANGED_GROUPS] if of_groups else []
    statements += [OPEN_DEVICES, OPEN_CHANGED_DEVICES]
    statements += [OPEN_SILENT_GROUPS] if of_groups and outages else []
    statements += [OPEN_SILENT_FLEET] if of_groups and crowded else []
    statements += [OPEN_SILENT_DEVICES] if any(groups.silent_left.values()) else []
    opened = sum(connection.execute(statement, values).rowcount for statement in statements)
    return AlarmChanges(
        opened,
        sum(changed and state == "escalated" for state, changed in transitions),
        ended + sum(changed and state == "closed" for state, changed in transitions),
    )


def _columns(prefix: str, keys: Sequence[GroupKey]) -> dict[str, list[int | None]]:
    """Return groups as one parameter per column."""
    names = ("profiles", "firmwares", "sites", "owners")
    return {prefix + name: [key[at] for key in keys] for at, name in enumerate(names)}
