# SPDX-License-Identifier: Apache-2.0
"""Store: write a batch of records to PostgreSQL, exactly once in effect.

Counters are cumulative per boot. One statement locks a device's row, takes the difference between
the record and the stored state, and adds it to the sums: a record that is repeated, late, out of
order or stored by another worker is never counted twice. The same lock decides whether the record
may change the row: by its site, by a jump of its boot, and by its signature. A transaction has one
such statement: an UPDATE, then for devices without a row an INSERT.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString, Self

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection, Cursor

from tcuq.telemetry import Reason
from tcuq_fleet.store.batch import FORBIDDEN, Batch, Part
from tcuq_fleet.store.claims import OPEN, Claims
from tcuq_fleet.store.connection import INGEST, connect
from tcuq_fleet.store.dead_letters import MAX_PER_BATCH, DeadLetter, DeadLetters
from tcuq_fleet.store.places import ALONE, Place, guard
from tcuq_fleet.store.sites import FirstDatabase, Gateway, Gateways, Sites
from tcuq_fleet.store.statements import (
    COPY,
    HISTORY,
    INSERT,
    QUARANTINE,
    SITES_OF,
    STAGE,
    UNCHANGED,
    UPDATE,
    statement_parameters,
)
from tcuq_fleet.wire import ACK

AGAIN = -1  # in place of a reason: an INSERT may still store the record


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
        self._parameters = statement_parameters(claims)

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
        """Store a batch and dead letters; return one ack per row of the batch.

        A batch with new devices, or several boots of one, takes more than one transaction: each is
        complete, and a batch that is stored again adds nothing. An ack says "the state of this boot
        is stored through this sequence". `batch.reasons` says which rows are refused: their acks
        must not be sent.
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
            known = cursor.execute(SITES_OF, [signed]).fetchall()
            batch.keep_sites({device % 2**64: site for device, site in known})
        rows, rounds = batch.rounds()
        passes = 0
        for number in range(int(rounds.max(initial=-1)) + 1):
            rest = rows[rounds == number]
            for statement in (UPDATE, INSERT):
                if rest.size:
                    if passes:  # a transaction locks devices once, in their order
                        cursor.execute("COMMIT AND CHAIN")
                    guard(cursor, self._place)
                    rest = self._store_rows(cursor, batch, rest, statement, acks)
                    passes += 1
        _quarantine(cursor, batch)
        return acks

    def _store_rows(
        self,
        cursor: Cursor[Any],
        batch: Batch,
        rows: NDArray[np.intp],
        statement: LiteralString,
        acks: NDArray[np.void],
    ) -> NDArray[np.intp]:
        """Store rows of different devices by one statement; return the rows that need another."""
        cursor.execute(STAGE)
        with cursor.copy(COPY) as copy:
            copy.write(batch.to_copy_binary(rows))
        changed, closed = cursor.execute(statement, self._parameters).fetchone() or (0, [])
        if closed:  # unprepared: a plan for any array would compare all pairs
            cursor.execute(HISTORY, [closed], prepare=False)
        if changed == len(rows):
            return rows[:0]
        index = {int(batch.records["device"][row]): int(row) for row in rows}
        again = AGAIN if statement is UPDATE else None
        rest: list[int] = []
        for device, *state, reason in cursor.execute(
            UNCHANGED, self._parameters | {"again": again}
        ):
            row = index[device % 2**64]
            if reason == AGAIN:
                rest.append(row)
            else:
                acks[row] = (device % 2**64, *state)
                batch.reasons[row] = reason
        return np.array(sorted(rest), np.intp)


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
