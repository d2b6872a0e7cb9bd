# SPDX-License-Identifier: Apache-2.0
"""Reconnecting store: a store that connects when needed, and again after a lost connection."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tcuq_fleet.store.batch import Batch, Part
from tcuq_fleet.store.claims import OPEN, Claims
from tcuq_fleet.store.connection import (
    INGEST,
    PROBE,
    DatabaseUnavailableError,
    connected,
    database_errors,
    time_limit,
)
from tcuq_fleet.store.dead_letters import DeadLetter
from tcuq_fleet.store.migrate import check_schema
from tcuq_fleet.store.places import ALONE, Place, check_place
from tcuq_fleet.store.sites import FirstDatabase, Gateway
from tcuq_fleet.store.store import Store


class ReconnectingStore:
    """Opens a `Store` at the first `put`, and a new one after `close`."""

    def __init__(
        self,
        database: str,
        claims: Claims = OPEN,
        place: Place = ALONE,
        first: FirstDatabase | None = None,
    ) -> None:
        self._database = database
        self._claims = claims
        self._place, self._first = place, first
        self._store: Store | None = None

    def put(
        self, parts: Sequence[Part], dead_letters: Iterable[DeadLetter]
    ) -> tuple[Batch, NDArray[np.void]]:
        """Store parts and dead letters; return the batch and its acks.

        Raises `DatabaseUnavailableError`; the next call connects again.
        """
        with self._connected() as store:
            return store.put_parts(parts, dead_letters)

    def gateway(self, name: str) -> Gateway | None:
        """Return a gateway's token and sites, at most a few seconds old."""
        with self._connected() as store:
            return store.gateway(name)

    def probe(self) -> None:
        """Connect anew as a writer and check the schema, or raise `DatabaseUnavailableError`."""
        with connected(self._database, PROBE) as connection:
            check_schema(connection)
            check_place(connection, self._place)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._store is not None:
            self._store.connection.close()
            self._store = None

    @contextmanager
    def _connected(self) -> Iterator[Store]:
        try:
            with database_errors():
                store = self._connect()
                with time_limit(store.connection, INGEST.limit_s):
                    yield store
        except DatabaseUnavailableError:
            self.close()
            raise

    def _connect(self) -> Store:
        if self._store is None:
            self._store = Store(self._database, self._claims, self._place, self._first)
            with time_limit(self._store.connection, INGEST.limit_s):
                check_schema(self._store.connection)
        return self._store
