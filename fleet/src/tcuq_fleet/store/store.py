# SPDX-License-Identifier: Apache-2.0
"""Store: write a batch of records to PostgreSQL in one transaction, exactly once in effect.

Counters are cumulative per boot. One statement locks a device's row, takes the difference between
the record and the stored state, and adds it to the sums: a record that is repeated, late, out of
order or stored by another worker is never counted twice. The same lock decides whether the record
may change the row: by its site, by a jump of its boot, and by its signature.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString, Self

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection, Cursor

from tcuq.telemetry import MEANS, Reason
from tcuq_fleet.store.batch import COLUMNS, FORBIDDEN, Batch, Part
from tcuq_fleet.store.claims import OPEN, Claims
from tcuq_fleet.store.connection import INGEST, connect
from tcuq_fleet.store.dead_letters import MAX_PER_BATCH, DeadLetter, DeadLetters
from tcuq_fleet.store.places import ALONE, Place, guard
from tcuq_fleet.store.sites import FirstDatabase, Gateway, Gateways, Sites
from tcuq_fleet.wire import ACK

_TYPES = {">i2": "smallint", ">i4": "integer", ">i8": "bigint"}
# A batch comes sorted: with memory for its sort PostgreSQL only checks the order.
STAGE = (
    "SET LOCAL work_mem = '64MB'; CREATE TEMPORARY TABLE IF NOT EXISTS stage ("
    + ", ".join(f"{name} {_TYPES[kind]} NOT NULL" for name, kind in COLUMNS)
    + ", histogram bytea NOT NULL) ON COMMIT DELETE ROWS"
)
COPY: LiteralString = "COPY stage FROM STDIN (FORMAT BINARY)"

_MEANS: LiteralString = ", ".join(MEANS)
_MEAN_VALUES: LiteralString = ", ".join(f"nullif({name}, -1::smallint)" for name in MEANS)
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

# Rows are locked in the order of device ids, which prevents deadlocks between workers.
#
# Every record carries the evidence of the epoch that its device closed last, so that a lost record
# loses none. A record closes an epoch if its epoch number is neither the stored one nor the one
# before, to which an older snapshot leads back after a power cut. A device that lost its flash
# starts at epoch 0: what is stored stays until it closes an epoch. A new profile starts at epoch 0
# as well, without a closed epoch; under a new firmware only epochs that began with it count.
#
# OFFSET 0 makes the subquery on the registry a lookup by index, whatever the statistics suggest;
# CASE keeps the planner from expecting few rows, which would join row by row below.
APPLY: LiteralString = """
WITH changed AS (
    INSERT INTO devices AS old (
        device, boot, sequence, steps, abstained, denied, exceeded,
        steps_added, abstained_added, denied_added, exceeded_added, last_seen,
        profile, firmware, site, alarms, alarms_added, epoch, closed_epoch, evidence,
        closed_evidence, cause, change, label, histogram_shift, closing, histogram, trust, <means>)
    SELECT device, boot, sequence, steps, abstained, denied, exceeded,
        steps, abstained, denied, exceeded, now(),
        profile, firmware, site, alarms, alarms, epoch,
        CASE WHEN epoch > 0 THEN epoch - 1 END, evidence, CASE WHEN epoch > 0 THEN closed END,
        cause, change, label, histogram_shift, epoch > 0, histogram,
        CASE WHEN boot <= boot_released THEN greatest(trust, 1::smallint) ELSE trust END,
        <mean values>
    FROM stage LEFT JOIN LATERAL (
        SELECT site AS registered, state, boot_released
        FROM registry WHERE registry.device = stage.device OFFSET 0) AS entry ON true
    WHERE round = %(round)s AND CASE WHEN state = 'retired' OR registered <> site THEN false
        WHEN state IS NULL AND (%(enrolled)s OR %(authenticated)s AND trust = 0)
        THEN EXISTS (SELECT FROM devices WHERE devices.device = stage.device) ELSE true END
    ORDER BY device
    ON CONFLICT (device) DO UPDATE SET
        boot = excluded.boot, sequence = excluded.sequence, steps = excluded.steps,
        abstained = excluded.abstained, denied = excluded.denied, exceeded = excluded.exceeded,
        steps_added = CASE WHEN old.boot = excluded.boot
            THEN (excluded.steps - old.steps) & 4294967295 ELSE excluded.steps END,
        abstained_added = CASE WHEN old.boot = excluded.boot
            THEN (excluded.abstained - old.abstained) & 4294967295 ELSE excluded.abstained END,
        denied_added = CASE WHEN old.boot = excluded.boot
            THEN (excluded.denied - old.denied) & 4294967295 ELSE excluded.denied END,
        exceeded_added = CASE WHEN old.boot = excluded.boot
            THEN (excluded.exceeded - old.exceeded) & 4294967295 ELSE excluded.exceeded END,
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
    WHERE (excluded.boot, excluded.sequence) > (old.boot, old.sequence)
        AND old.site = excluded.site AND (old.trust < 2 OR excluded.trust = 2)
        AND (excluded.boot - old.boot <= %(jump)s OR excluded.trust > 0)
    RETURNING device, profile, firmware, site, steps_added, abstained_added, denied_added,
        exceeded_added, alarms_added, closing
), history AS (
    INSERT INTO epochs (device, boot, steps, abstained, denied, exceeded, stored, alarms, epoch,
        evidence, histogram_shift, histogram, <means>)
    SELECT device, boot, steps, abstained, denied, exceeded, now(), alarms, epoch - 1, closed,
        histogram_shift, histogram, <mean values>
    FROM changed JOIN stage USING (device) WHERE closing AND round = %(round)s
    ON CONFLICT DO NOTHING
), rolled AS (
    INSERT INTO cohorts AS sum (profile, firmware, site, hour,
        records, steps, abstained, denied, exceeded, alarms)
    SELECT profile, firmware, site, date_trunc('hour', now()),
        count(*), sum(steps_added), sum(abstained_added), sum(denied_added), sum(exceeded_added),
        sum(alarms_added)
    FROM changed GROUP BY profile, firmware, site ORDER BY profile, firmware, site
    ON CONFLICT (hour, profile, firmware, site) DO UPDATE SET
        records = sum.records + excluded.records, steps = sum.steps + excluded.steps,
        abstained = sum.abstained + excluded.abstained, denied = sum.denied + excluded.denied,
        exceeded = sum.exceeded + excluded.exceeded, alarms = sum.alarms + excluded.alarms
), totals AS (
    INSERT INTO hours AS sum (owner, profile, firmware, hour,
        records, steps, abstained, denied, exceeded, alarms)
    SELECT coalesce(owner, 0), profile, firmware, date_trunc('hour', now()),
        count(*), sum(steps_added), sum(abstained_added), sum(denied_added), sum(exceeded_added),
        sum(alarms_added)
    FROM changed LEFT JOIN sites USING (site) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (hour, owner, profile, firmware) DO UPDATE SET
        records = sum.records + excluded.records, steps = sum.steps + excluded.steps,
        abstained = sum.abstained + excluded.abstained, denied = sum.denied + excluded.denied,
        exceeded = sum.exceeded + excluded.exceeded, alarms = sum.alarms + excluded.alarms
)
SELECT count(*) FROM changed
"""
APPLY = (
    APPLY.replace("<means>", _MEANS)
    .replace("<mean values>", _MEAN_VALUES)
    .replace("<mean updates>", _MEAN_UPDATES)
)

# Why records of a round changed no row: refused, or not newer than the stored state. That state
# goes into the acknowledgement, so that a device that lost its boot counter takes a new one. APPLY
# has locked the rows, so nothing has changed since.
UNCHANGED: LiteralString = """
SELECT stage.device, coalesce(old.boot, stage.boot), coalesce(old.sequence, stage.sequence),
    CASE WHEN state = 'retired' THEN %(retired)s
        WHEN old.device IS NULL OR old.site <> stage.site
            OR entry.site <> stage.site THEN %(site)s
        WHEN old.trust = 2 AND stage.trust < 2 THEN %(unsigned)s
        WHEN stage.boot - old.boot > %(jump)s THEN %(quarantine)s ELSE 0 END AS reason
FROM stage LEFT JOIN LATERAL (
    SELECT * FROM devices WHERE devices.device = stage.device OFFSET 0) AS old ON true
LEFT JOIN LATERAL (
    SELECT site, state FROM registry WHERE registry.device = stage.device OFFSET 0) AS entry ON true
WHERE round = %(round)s AND (old.device IS NULL OR state = 'retired' OR old.site <> stage.site
    OR old.trust > stage.trust OR (old.boot, old.sequence) <> (stage.boot, stage.sequence))
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


class Store:
    """Writes to the fleet's tables through its own connection; `database` is libpq's string."""

    def __init__(
        self,
        database: str,
        claims: Claims = OPEN,
        place: Place = ALONE,
        first: FirstDatabase | None = None,
    ) -> None:
        self.connection: Connection[Any] = connect(database, INGEST)
        self._place = place
        self._sites = Sites(claims, first)
        self._gateways = Gateways()
        self._dead_letters = DeadLetters()
        self._parameters = apply_parameters(claims)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def site(self, name: str) -> int:
        """Return a site's number; a new site gets one, as an operator would create it."""
        self.connection.execute(
            "INSERT INTO sites (name) VALUES (%s) ON CONFLICT DO NOTHING", [name]
        )
        row = self.connection.execute("SELECT site FROM sites WHERE name = %s", [name]).fetchone()
        return int(row[0]) if row else 0

    def gateway(self, name: str) -> Gateway | None:
        """Return a gateway's token and sites, at most a few seconds old."""
        with self.connection.cursor() as cursor:
            return self._gateways.get(cursor, name)

    def put_parts(
        self, parts: Sequence[Part], dead_letters: Iterable[DeadLetter] = ()
    ) -> tuple[Batch, NDArray[np.void]]:
        """Store parts of messages as `put` does; return the batch with its refusals, and its acks.

        Gateways send only for their sites, and unknown sites are created within the limits.
        """
        letters = list(dead_letters)
        if not parts and not self._dead_letters.accepts(letters):
            return Batch.of([]), np.empty(0, ACK)
        try:
            with self.connection.transaction(), self.connection.cursor() as cursor:
                numbers = self._sites.numbers(cursor, parts)
                batch = Batch.of(
                    [(part.records, self._site_numbers(cursor, part, numbers)) for part in parts],
                    [part.trust for part in parts],
                )
                acks = self._apply(cursor, batch)
                self._dead_letters.insert(cursor, [*letters, *_refused(batch, parts)])
        except BaseException:
            self._sites.forget()  # a number that was not committed
            raise
        return batch, acks

    def put(self, batch: Batch, dead_letters: Iterable[DeadLetter] = ()) -> NDArray[np.void]:
        """Store a batch and dead letters in one transaction; return one ack per row of the batch.

        An ack says "the state of this boot is stored through this sequence". `batch.reasons` says
        which rows are refused: their acks must not be sent.
        """
        with self.connection.transaction(), self.connection.cursor() as cursor:
            acks = self._apply(cursor, batch)
            self._dead_letters.insert(cursor, dead_letters)
            return acks

    def _site_numbers(
        self, cursor: Cursor[Any], part: Part, numbers: Mapping[str, int]
    ) -> int | NDArray[np.int32]:
        if not isinstance(part.site, str):
            return np.array([numbers[name] for name in part.site], np.int32)
        gateway = self._gateways.get(cursor, str(part.sender))
        return numbers[part.site] if gateway and part.site in gateway.sites else FORBIDDEN

    def _apply(self, cursor: Cursor[Any], batch: Batch) -> NDArray[np.void]:
        acks = np.empty(len(batch.records), ACK)
        for name in ACK.names or ():
            acks[name] = batch.records[name]
        if devices := batch.devices_of_several_sites():
            signed = np.array(devices, np.uint64).view(np.int64).tolist()
            rows = cursor.execute(SITES_OF, [signed]).fetchall()
            batch.keep_sites({device % 2**64: site for device, site in rows})
        staged, rounds = batch.rounds()
        if not staged.size:
            return acks
        guard(cursor, self._place)
        cursor.execute(STAGE)
        with cursor.copy(COPY) as copy:
            copy.write(batch.to_copy_binary())
        for number in range(int(rounds.max()) + 1):
            rows = staged[rounds == number]
            parameters = {"round": number, **self._parameters}
            (changed,) = cursor.execute(APPLY, parameters).fetchone() or (0,)
            if changed < len(rows):
                index = {int(batch.records["device"][i]): i for i in rows}
                for device, *state, reason in cursor.execute(UNCHANGED, parameters):
                    row = index[device % 2**64]
                    acks[row] = (device % 2**64, *state)
                    batch.reasons[row] = reason
        _quarantine(cursor, batch)
        return acks


def apply_parameters(claims: Claims) -> dict[str, Any]:
    """Return the parameters of `APPLY` and `UNCHANGED` that do not depend on the round."""
    return {
        "enrolled": claims.claim == "enrolled",
        "authenticated": claims.claim in ("authenticated", "sites"), "jump": claims.boot_jump,
        "retired": int(Reason.RETIRED), "site": int(Reason.SITE),
        "unsigned": int(Reason.UNSIGNED), "quarantine": int(Reason.QUARANTINE),
    }  # fmt: skip


def _quarantine(cursor: Cursor[Any], batch: Batch) -> None:
    """Keep the last record per device of those whose boot is too far ahead."""
    rows = {
        int(batch.records["device"][row].view(np.int64)): row
        for row in np.flatnonzero(batch.reasons == Reason.QUARANTINE)
    }
    if rows:
        columns = [
            (int(batch.sites[row]), int(batch.records["boot"][row]), batch.records[row].tobytes())
            for row in rows.values()
        ]
        cursor.execute(QUARANTINE, [list(rows), *map(list, zip(*columns, strict=True))])


def _refused(batch: Batch, parts: Sequence[Part]) -> list[DeadLetter]:
    """Return dead letters of some records that the store refused; quarantined ones have a table."""
    listed = np.isin(batch.reasons, [Reason.SITE, Reason.GATEWAY, Reason.RETIRED, Reason.UNSIGNED])
    refused = np.flatnonzero(listed)[:MAX_PER_BATCH]
    if not refused.size:
        return []
    first = np.unique(batch.rows, return_index=True)[1][refused]
    ends = np.cumsum([len(part.records) for part in parts])
    letters = []
    for row, at in zip(refused.tolist(), first.tolist(), strict=True):
        number = int(np.searchsorted(ends, at, "right"))
        part = parts[number]
        site, sender = part.address(at - (int(ends[number]) - len(part.records)))
        kind = "records" if isinstance(part.site, str) else "record"
        payload = batch.records[row].tobytes()
        letters.append((Reason(int(batch.reasons[row])), f"tcuq/{site}/{sender}/{kind}", payload))
    return letters
