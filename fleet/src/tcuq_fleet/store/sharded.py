# SPDX-License-Identifier: Apache-2.0
"""Sharded store: several databases as one store, each for the devices of its place.

Every database commits its own share of a batch, at the same time as the others. While one is away,
the records of its devices are refused without an acknowledgement: devices send them again, as after
any loss. The other devices' records are stored and acknowledged.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tcuq.telemetry import Reason
from tcuq_fleet.store.batch import UNKNOWN, Batch, Part, concatenated, selection
from tcuq_fleet.store.claims import Claims
from tcuq_fleet.store.connection import DatabaseUnavailableError
from tcuq_fleet.store.dead_letters import DeadLetter
from tcuq_fleet.store.places import Place, check_count, place_of
from tcuq_fleet.store.reconnecting import ReconnectingStore
from tcuq_fleet.store.sites import FirstDatabase, Gateway
from tcuq_fleet.wire import ACK

Acks = NDArray[np.void]
Rows = NDArray[np.intp]
Observer = Callable[[int, bool], None]

RETRY_S = 1.0  # between two probes of a database that is away

log = logging.getLogger("tcuq_fleet.store")


class ShardedStore:
    """A store over several databases; `observe` is called with a place and whether it answers."""

    def __init__(
        self, databases: Sequence[str], claims: Claims, observe: Observer = lambda _, __: None
    ) -> None:
        check_count(databases)
        count, first = len(databases), FirstDatabase(databases[0], claims)
        self._stores = [
            ReconnectingStore(url, claims, Place(at, count), first if at else None)
            for at, url in enumerate(databases)
        ]
        self._observe = observe
        self._threads = ThreadPoolExecutor(count)
        self._away: dict[int, threading.Thread] = {}  # places, and who probes them
        self._closing = threading.Event()

    def put(self, parts: Sequence[Part], dead_letters: Iterable[DeadLetter]) -> tuple[Batch, Acks]:
        """Store each database's share; return one batch and its acks, as if it were one database.

        Raises `DatabaseUnavailableError` if no database answers.
        """
        shares = split(parts, len(self._stores))
        letters, letters_at = list(dead_letters), self._first_present()
        futures = {
            at: self._threads.submit(store.put, shares[at][0], letters if at == letters_at else [])
            for at, store in enumerate(self._stores)
            if at not in self._away and (shares[at][0] or (letters and at == letters_at))
        }
        results = []
        for at, (share, _) in enumerate(shares):
            try:
                results.append(futures[at].result() if at in futures else waiting(share))
            except DatabaseUnavailableError as error:
                self._leave(at, error)
                results.append(waiting(share))
        if len(self._away) == len(self._stores):
            raise DatabaseUnavailableError("the database: none of them answers")
        return joined(results, [rows for _, rows in shares])

    def gateway(self, name: str) -> Gateway | None:
        """Return a gateway's token and sites, from the first database that answers."""
        while True:
            at = self._first_present()
            try:
                return self._stores[at].gateway(name)
            except DatabaseUnavailableError as error:
                self._leave(at, error)

    def probe(self) -> None:
        """Probe every database; raise `DatabaseUnavailableError` if none answers."""
        for at, store in enumerate(self._stores):
            if at not in self._away:
                try:
                    store.probe()
                except DatabaseUnavailableError as error:
                    self._leave(at, error)
                else:
                    self._observe(at, True)
        self._first_present()

    def close(self) -> None:
        """Close the connections."""
        self._closing.set()
        for store in self._stores:
            store.close()

    def _first_present(self) -> int:
        for at in range(len(self._stores)):
            if at not in self._away:
                return at
        raise DatabaseUnavailableError("the database: none of them answers")

    def _leave(self, at: int, error: DatabaseUnavailableError) -> None:
        """Pass a database over until it answers again, so that the others do not wait for it."""
        place = Place(at, len(self._stores))
        log.warning("database %s is away, its devices keep their records: %s", place, error)
        self._observe(at, False)
        if at not in self._away:
            prober = threading.Thread(target=self._await, args=(at,), daemon=True)
            self._away[at] = prober
            prober.start()

    def _await(self, at: int) -> None:
        while not self._closing.wait(RETRY_S):
            try:
                self._stores[at].probe()
            except DatabaseUnavailableError:
                continue
            del self._away[at]
            self._observe(at, True)
            log.warning("database %s answers again", Place(at, len(self._stores)))
            return


def split(parts: Sequence[Part], databases: int) -> list[tuple[list[Part], Rows]]:
    """Return each place's share of the parts, and the rows of its records in all parts' order."""
    shares: list[tuple[list[Part], list[Rows]]] = [([], []) for _ in range(databases)]
    start = 0
    for part in parts:
        places = place_of(part.records["device"], databases)
        for at in np.unique(places).tolist():
            rows = np.flatnonzero(places == at)
            some, all_rows = shares[at]
            some.append(part if len(rows) == len(places) else _select(part, rows))
            all_rows.append(rows + start)
        start += len(places)
    empty = np.empty(0, np.intp)
    return [(some, np.concatenate(rows) if rows else empty) for some, rows in shares]


def _select(part: Part, rows: Rows) -> Part:
    site, sender = part.site, part.sender
    if not isinstance(site, str):
        at = rows.tolist()
        site, sender = [site[i] for i in at], [sender[i] for i in at]
    keys = None if part.key_ids is None else part.key_ids[rows]
    return Part(selection(part.records, rows), site, sender, part.trust, keys)


def waiting(share: Sequence[Part]) -> tuple[Batch, Acks]:
    """Return the answer for records whose database is away: refused, to be sent again."""
    batch = Batch.of([(part.records, UNKNOWN) for part in share])
    batch.reasons[:] = Reason.DATABASE
    return batch, np.zeros(len(batch.records), ACK)


def joined(results: Sequence[tuple[Batch, Acks]], rows: Sequence[Rows]) -> tuple[Batch, Acks]:
    """Return the databases' batches as one; `rows` are the places of each one's input records."""
    batches = [batch for batch, _ in results]
    starts = np.cumsum([0, *(len(batch.records) for batch in batches)])
    index = np.empty(sum(len(of) for of in rows), np.intp)
    for batch, of, start in zip(batches, rows, starts.tolist(), strict=False):
        index[of] = batch.rows + start
    records = concatenated([batch.records for batch in batches])
    sites, trust, reasons = (
        np.concatenate([getattr(batch, name) for batch in batches])
        for name in ("sites", "trust", "reasons")
    )
    acks = np.concatenate([acks for _, acks in results])
    return Batch(records, sites, trust, reasons, index), acks
