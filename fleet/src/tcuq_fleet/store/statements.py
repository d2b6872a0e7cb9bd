# SPDX-License-Identifier: Apache-2.0
"""Statements: how staged records change the tables.

The UPDATE does the work for devices with a row, nearly all of them; the INSERT the same for devices
without one. Either locks devices in the order of their ids, and a transaction runs only one of
them, which prevents deadlocks between workers.
"""

from typing import Any, LiteralString

from tcuq.telemetry import MEANS, Reason
from tcuq_fleet.store.batch import COLUMNS
from tcuq_fleet.store.claims import Claims

_TYPES = {">i2": "smallint", ">i4": "integer", ">i8": "bigint"}
# With these settings every plan reads `devices` by its key: by look-ups in the order of the stage,
# or as a whole. A batch comes sorted: with memory for its sort PostgreSQL only checks the order.
STAGE = (
    "SET LOCAL work_mem = '64MB'; SET LOCAL jit = off; SET LOCAL enable_seqscan = off;"
    " SET LOCAL enable_bitmapscan = off; SET LOCAL enable_hashjoin = off;"
    " SET LOCAL enable_mergejoin = off; SET LOCAL enable_material = off;"
    " CREATE TEMPORARY TABLE IF NOT EXISTS stage ("
    + ", ".join(f"{name} {_TYPES[kind]} NOT NULL" for name, kind in COLUMNS)
    + ", histogram bytea NOT NULL) ON COMMIT DELETE ROWS"
)
COPY: LiteralString = "COPY stage FROM STDIN (FORMAT BINARY)"

_MEANS: LiteralString = ", ".join(MEANS)
_MEAN_VALUES: LiteralString = ", ".join(f"nullif({name}, -1::smallint) AS {name}" for name in MEANS)
# As the evidence of a closed epoch; until the first one closes, of the running epoch.
_MEAN_UPDATES: LiteralString = ", ".join(
    f"""{name} = CASE WHEN old.profile <> excluded.profile THEN excluded.{name}
            WHEN old.firmware <> excluded.firmware THEN NULL
            WHEN excluded.epoch > 0 AND excluded.epoch NOT IN (old.epoch, old.epoch - 1)
                AND NOT (old.mixed AND excluded.epoch = old.epoch + 1)
                OR excluded.epoch = 0 AND old.closed_epoch IS NULL AND NOT old.mixed
            THEN excluded.{name} ELSE old.{name} END"""
    for name in MEANS
)

_COUNTERS = ("steps", "abstained", "denied", "exceeded")
# A number modulo 2^32, as a signed integer of the same bits; and back, where it is returned.
_AS_INTEGER: LiteralString = "((<number> + 2147483648 & 4294967295) - 2147483648)::integer"
_COUNTED_UPDATES: LiteralString = ", ".join(
    f"{name}_added = "
    + _AS_INTEGER.replace(
        "<number>",
        f"CASE WHEN old.boot = excluded.boot THEN excluded.{name} - old.{name}"
        f" ELSE excluded.{name} END",
    )
    for name in _COUNTERS
)
_COUNTED_VALUES: LiteralString = ", ".join(_AS_INTEGER.replace("<number>", n) for n in _COUNTERS)
_COUNTED_RETURNED: LiteralString = ", ".join(
    f"{name}_added & 4294967295 AS {name}_added" for name in _COUNTERS
)

# The row of a device, from its record.
_ROW: LiteralString = """
    device, boot, sequence, steps, abstained, denied, exceeded, now() AS last_seen, profile,
    firmware, site, alarms, epoch, CASE WHEN epoch > 0 THEN epoch - 1 END AS closed_epoch, evidence,
    CASE WHEN epoch > 0 THEN closed END AS closed_evidence, cause, change, label, histogram_shift,
    histogram,
    CASE WHEN boot <= boot_released THEN greatest(trust, 1::smallint) ELSE trust END AS trust,
    <mean values>
FROM stage LEFT JOIN LATERAL (
    SELECT site AS registered, state, boot_released
    FROM registry WHERE registry.device = stage.device OFFSET 0) AS entry ON true
WHERE CASE WHEN state = 'retired' OR registered <> site THEN false ELSE true END
"""

# Every record carries the evidence of the epoch that its device closed last, so that a lost record
# loses none. A record closes an epoch if its epoch number is neither the stored one nor the one
# before, to which an older snapshot leads back after a power cut. A device that lost its flash
# starts at epoch 0: what is stored stays until it closes an epoch. A new profile starts at epoch 0
# as well, without a closed epoch; under a new firmware only epochs that began with it count.
_CHANGES: LiteralString = """
    boot = excluded.boot, sequence = excluded.sequence, steps = excluded.steps,
    abstained = excluded.abstained, denied = excluded.denied, exceeded = excluded.exceeded,
    <counted>,
    last_seen = excluded.last_seen, profile = excluded.profile, firmware = excluded.firmware,
    alarms = excluded.alarms,
    alarms_added = CASE WHEN old.boot = excluded.boot
        THEN greatest(excluded.alarms - old.alarms, 0) ELSE excluded.alarms END,
    epoch = excluded.epoch,
    closed_epoch = CASE WHEN old.profile <> excluded.profile THEN excluded.closed_epoch
        WHEN old.firmware <> excluded.firmware THEN NULL
        WHEN excluded.epoch > 0 AND excluded.epoch NOT IN (old.epoch, old.epoch - 1)
            AND NOT (old.mixed AND excluded.epoch = old.epoch + 1)
        THEN excluded.closed_epoch ELSE old.closed_epoch END,
    evidence = excluded.evidence,
    closed_evidence = CASE WHEN old.profile <> excluded.profile THEN excluded.closed_evidence
        WHEN old.firmware <> excluded.firmware THEN NULL
        WHEN excluded.epoch > 0 AND excluded.epoch NOT IN (old.epoch, old.epoch - 1)
            AND NOT (old.mixed AND excluded.epoch = old.epoch + 1)
        THEN excluded.closed_evidence ELSE old.closed_evidence END,
    cause = excluded.cause, change = excluded.change, label = excluded.label,
    histogram_shift = excluded.histogram_shift,
    mixed = old.profile = excluded.profile AND (old.firmware <> excluded.firmware
        OR old.mixed AND old.epoch = excluded.epoch),
    closing = CASE WHEN old.profile <> excluded.profile THEN excluded.epoch > 0
        ELSE excluded.epoch > 0 AND excluded.epoch NOT IN (old.epoch, old.epoch - 1) END,
    histogram = excluded.histogram, trust = excluded.trust, <mean updates>
"""
_NEWER: LiteralString = """
    (excluded.boot, excluded.sequence) > (old.boot, old.sequence)
    AND old.site = excluded.site AND (old.trust < 2 OR excluded.trust = 2)
    AND (excluded.boot - old.boot <= %(jump)s OR excluded.trust > 0)
"""
# OFFSET 0 makes the subquery on the registry a lookup by index, whatever the statistics suggest.
_UPDATE: LiteralString = """
    UPDATE devices AS old SET <changes>
    FROM (SELECT <row> ORDER BY device) AS excluded
    WHERE old.device = excluded.device AND <newer>
"""
_INSERT: LiteralString = """
    INSERT INTO devices AS old (
        steps_added, abstained_added, denied_added, exceeded_added, alarms_added, closing,
        device, boot, sequence, steps, abstained, denied, exceeded, last_seen, profile,
        firmware, site, alarms, epoch, closed_epoch, evidence, closed_evidence, cause, change,
        label, histogram_shift, histogram, trust, <means>)
    SELECT <counted values>, alarms, epoch > 0, <row>
        AND CASE WHEN state IS NULL AND (%(enrolled)s OR %(authenticated)s AND trust = 0)
            THEN EXISTS (SELECT FROM devices WHERE devices.device = stage.device) ELSE true END
    ORDER BY device
    ON CONFLICT (device) DO UPDATE SET <changes> WHERE <newer>
"""
# Sums per cohort and hour; returns how many records changed a row, and whose closed an epoch.
_COUNTED: LiteralString = """
WITH changed AS (<stored>
    RETURNING old.device, old.profile, old.firmware, old.site, <counted returned>, alarms_added,
        closing
), summed AS (
    SELECT profile, firmware, site, count(*) AS records, sum(steps_added) AS steps,
        sum(abstained_added) AS abstained, sum(denied_added) AS denied,
        sum(exceeded_added) AS exceeded, sum(alarms_added) AS alarms
    FROM changed GROUP BY profile, firmware, site
), rolled AS (
    INSERT INTO cohorts AS sum (profile, firmware, site, hour,
        records, steps, abstained, denied, exceeded, alarms)
    SELECT profile, firmware, site, date_trunc('hour', now()),
        records, steps, abstained, denied, exceeded, alarms
    FROM summed ORDER BY profile, firmware, site
    ON CONFLICT (hour, profile, firmware, site) DO UPDATE SET <added>
), totals AS (
    INSERT INTO hours AS sum (owner, profile, firmware, hour,
        records, steps, abstained, denied, exceeded, alarms)
    SELECT coalesce(owner, 0), profile, firmware, date_trunc('hour', now()),
        sum(records), sum(steps), sum(abstained), sum(denied), sum(exceeded), sum(alarms)
    FROM summed LEFT JOIN sites USING (site) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (hour, owner, profile, firmware) DO UPDATE SET <added>
)
SELECT count(*), coalesce(array_agg(device) FILTER (WHERE closing), '{}') FROM changed
"""
_ADDED: LiteralString = """
        records = sum.records + excluded.records, steps = sum.steps + excluded.steps,
        abstained = sum.abstained + excluded.abstained, denied = sum.denied + excluded.denied,
        exceeded = sum.exceeded + excluded.exceeded, alarms = sum.alarms + excluded.alarms
"""


def _complete(stored: LiteralString) -> LiteralString:
    """Return the statement that stores, and counts what changed."""
    return (
        _COUNTED.replace("<stored>", stored)
        .replace("<row>", _ROW)
        .replace("<changes>", _CHANGES)
        .replace("<counted>", _COUNTED_UPDATES)
        .replace("<counted values>", _COUNTED_VALUES)
        .replace("<counted returned>", _COUNTED_RETURNED)
        .replace("<newer>", _NEWER)
        .replace("<added>", _ADDED)
        .replace("<means>", _MEANS)
        .replace("<mean values>", _MEAN_VALUES)
        .replace("<mean updates>", _MEAN_UPDATES)
    )


UPDATE: LiteralString = _complete(_UPDATE)
INSERT: LiteralString = _complete(_INSERT)

# The epochs that staged records closed.
HISTORY: LiteralString = """
INSERT INTO epochs (device, boot, steps, abstained, denied, exceeded, stored, alarms, epoch,
    evidence, histogram_shift, histogram, <means>)
SELECT device, boot, steps, abstained, denied, exceeded, now(), alarms, epoch - 1, closed,
    histogram_shift, histogram, <mean values>
FROM stage WHERE device = ANY(%s) ON CONFLICT DO NOTHING
"""
HISTORY = HISTORY.replace("<means>", _MEANS).replace("<mean values>", _MEAN_VALUES)

# Why staged records changed no row: refused, or not newer than the stored state. That state goes
# into the acknowledgement, so that a device that lost its boot counter takes a new one. %(again)s
# marks records that an INSERT may still store: of devices without a row, or with one that another
# worker stored meanwhile.
UNCHANGED: LiteralString = """
SELECT stage.device, coalesce(old.boot, stage.boot), coalesce(old.sequence, stage.sequence),
    CASE WHEN state = 'retired' THEN %(retired)s
        WHEN old.site <> stage.site OR entry.site <> stage.site THEN %(site)s
        WHEN old.device IS NULL THEN coalesce(%(again)s, %(site)s)
        WHEN old.trust = 2 AND stage.trust < 2 THEN %(unsigned)s
        WHEN stage.boot - old.boot > %(jump)s AND stage.trust = 0 THEN %(quarantine)s
        WHEN (stage.boot, stage.sequence) > (old.boot, old.sequence) THEN coalesce(%(again)s, 0)
        ELSE 0 END AS reason
FROM stage LEFT JOIN LATERAL (
    SELECT * FROM devices WHERE devices.device = stage.device OFFSET 0) AS old ON true
LEFT JOIN LATERAL (
    SELECT site, state FROM registry WHERE registry.device = stage.device OFFSET 0) AS entry ON true
WHERE old.device IS NULL OR state = 'retired' OR old.site <> stage.site
    OR old.trust > stage.trust OR (old.boot, old.sequence) <> (stage.boot, stage.sequence)
"""

SITES_OF: LiteralString = """
SELECT device, coalesce(devices.site, registry.site, 0)
FROM unnest(%s::bigint[]) AS named (device)
LEFT JOIN devices USING (device) LEFT JOIN registry USING (device)
"""

QUARANTINE: LiteralString = """
INSERT INTO quarantine AS old (device, site, boot, record)
SELECT * FROM unnest(%s::bigint[], %s::integer[], %s::bigint[], %s::bytea[]) AS late (device)
ORDER BY device
ON CONFLICT (device) DO UPDATE SET site = excluded.site, boot = excluded.boot,
    record = excluded.record, count = old.count + 1, last = now()
"""


def statement_parameters(claims: Claims) -> dict[str, Any]:
    """Return the parameters of `UPDATE` and `INSERT`, and all but one of `UNCHANGED`."""
    return {
        "enrolled": claims.claim == "enrolled",
        "authenticated": claims.claim in ("authenticated", "sites"), "jump": claims.boot_jump,
        "retired": int(Reason.RETIRED), "site": int(Reason.SITE),
        "unsigned": int(Reason.UNSIGNED), "quarantine": int(Reason.QUARANTINE),
    }  # fmt: skip
