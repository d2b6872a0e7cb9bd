# SPDX-License-Identifier: Apache-2.0
"""Store: write a batch of records to PostgreSQL in one transaction, exactly once in effect.

Counters are cumulative per boot. One statement locks a device's row, takes the difference between
the record and the stored state, and adds it to the sums: a record that is repeated, late, out of
order or stored by another worker is never counted twice.
"""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, LiteralString, Self

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.store.batch import COLUMNS, Batch
from tcuq.fleet.store.connection import INGEST, connect
from tcuq.fleet.wire import ACK
from tcuq.telemetry import Reason

if TYPE_CHECKING:
    from psycopg import Connection

MAX_PAYLOAD_BYTES = 1024  # stored of a dead letter's payload
MAX_TOPIC_CHARACTERS = 256

DeadLetter = tuple[Reason, str, bytes]  # topic and payload

_TYPES = {">i2": "smallint", ">i4": "integer", ">i8": "bigint"}
STAGE = (
    "CREATE TEMPORARY TABLE IF NOT EXISTS stage ("
    + ", ".join(f"{name} {_TYPES[kind]} NOT NULL" for name, kind in COLUMNS)
    + ", histogram bytea NOT NULL) ON COMMIT DELETE ROWS"
)
COPY: LiteralString = "COPY stage FROM STDIN (FORMAT BINARY)"

# Rows are locked in the order of device ids, which prevents deadlocks between workers.
#
# Every record carries the evidence of the epoch that its device closed last, so that a lost record
# loses none. A record closes an epoch if its epoch number is neither the stored one nor the one
# before, to which an older snapshot leads back after a power cut. A device that lost its flash
# starts at epoch 0: what is stored stays until it closes an epoch. A new profile starts at epoch 0
# as well, without a closed epoch; under a new firmware only epochs that began with it count.
APPLY: LiteralString = """
WITH changed AS (
    INSERT INTO devices AS old (
        device, boot, sequence, steps, abstained, denied, exceeded,
        steps_added, abstained_added, denied_added, exceeded_added, last_seen,
        profile, firmware, site, alarms, alarms_added, threshold, epoch, closed_epoch, evidence,
        closed_evidence, cause, histogram_shift, closing, histogram)
    SELECT device, boot, sequence, steps, abstained, denied, exceeded,
        steps, abstained, denied, exceeded, now(),
        profile, firmware, site, alarms, alarms, threshold, epoch,
        CASE WHEN epoch > 0 THEN epoch - 1 END, evidence, CASE WHEN epoch > 0 THEN closed END,
        cause, histogram_shift, epoch > 0, histogram
    FROM stage WHERE round = %(round)s ORDER BY device
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
        site = excluded.site, alarms = excluded.alarms,
        alarms_added = CASE WHEN old.boot = excluded.boot
            THEN greatest(excluded.alarms - old.alarms, 0) ELSE excluded.alarms END,
        threshold = excluded.threshold, epoch = excluded.epoch,
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
        cause = excluded.cause, histogram_shift = excluded.histogram_shift,
        mixed = old.profile = excluded.profile AND (old.firmware <> excluded.firmware
            OR old.mixed AND old.epoch = excluded.epoch),
        closing = CASE WHEN old.profile <> excluded.profile THEN excluded.epoch > 0
            ELSE excluded.epoch > 0 AND excluded.epoch NOT IN (old.epoch, old.epoch - 1) END,
        histogram = excluded.histogram
    WHERE (excluded.boot, excluded.sequence) > (old.boot, old.sequence)
    RETURNING device, profile, firmware, site, steps_added, abstained_added, denied_added,
        exceeded_added, alarms_added, closing
), history AS (
    INSERT INTO epochs (device, boot, steps, abstained, denied, exceeded, stored, alarms, epoch,
        evidence, histogram_shift, histogram)
    SELECT device, boot, steps, abstained, denied, exceeded, now(), alarms, epoch - 1, closed,
        histogram_shift, histogram
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

# The stored state of devices whose record was not newer. It goes into their acknowledgement, so
# that a device that lost its boot counter takes a new one.
NEWER_STATE: LiteralString = """
SELECT device, old.boot, old.sequence FROM stage JOIN devices AS old USING (device)
WHERE stage.round = %(round)s AND (old.boot, old.sequence) <> (stage.boot, stage.sequence)
"""

INSERT_DEAD_LETTER: LiteralString = """
INSERT INTO dead_letters (digest, reason, topic, payload) VALUES (%s, %s, %s, %s)
ON CONFLICT DO NOTHING
"""


class Store:
    """Writes to the fleet's tables through its own connection.

    Parameters
    ----------
    database
        A libpq connection string, `postgresql://user@host/name` or `host=... dbname=...`.
    """

    def __init__(self, database: str) -> None:
        self.connection: Connection[Any] = connect(database, INGEST)
        self._sites: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def site(self, name: str) -> int:
        """Return a site's number; a new site gets one."""
        if name not in self._sites:
            self.connection.execute(
                "INSERT INTO sites (name) VALUES (%s) ON CONFLICT DO NOTHING", [name]
            )
            row = self.connection.execute(
                "SELECT site FROM sites WHERE name = %s", [name]
            ).fetchone()
            if row is not None:
                self._sites[name] = int(row[0])
        return self._sites[name]

    def put(self, batch: Batch, dead_letters: Iterable[DeadLetter] = ()) -> NDArray[np.void]:
        """Store a batch and dead letters in one transaction; return one ack per row of the batch.

        An ack says "the state of this boot is stored through this sequence".
        """
        refused = [_dead_letter_row(*letter) for letter in dead_letters]
        with self.connection.transaction(), self.connection.cursor() as cursor:
            if refused:
                cursor.executemany(INSERT_DEAD_LETTER, refused)
            return self._apply(cursor, batch)

    def _apply(self, cursor: Any, batch: Batch) -> NDArray[np.void]:  # noqa: ANN401 - psycopg's, an extra
        acks = np.empty(len(batch.records), ACK)
        for name in ACK.names or ():
            acks[name] = batch.records[name]
        if not len(batch.records):
            return acks
        cursor.execute(STAGE)
        with cursor.copy(COPY) as copy:
            copy.write(batch.to_copy_binary())
        for number in range(int(batch.rounds.max()) + 1):
            rows = np.flatnonzero(batch.rounds == number)
            changed = cursor.execute(APPLY, {"round": number}).fetchone()[0]
            if changed < len(rows):
                index = {int(batch.records["device"][i]): i for i in rows}
                for device, boot, sequence in cursor.execute(NEWER_STATE, {"round": number}):
                    acks[index[device % 2**64]] = (device % 2**64, boot, sequence)
        return acks


def _dead_letter_row(reason: Reason, topic: str, payload: bytes) -> tuple[bytes, int, str, bytes]:
    topic = topic.replace("\x00", "")[:MAX_TOPIC_CHARACTERS]
    digest = hashlib.sha256(b"%d %s\n%s" % (reason, topic.encode(), payload)).digest()[:16]
    return digest, int(reason), topic, payload[:MAX_PAYLOAD_BYTES]
