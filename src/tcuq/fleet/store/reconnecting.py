# SPDX-License-Identifier: Apache-2.0
"""Reconnecting store: a store that connects when needed, and again after a lost connection."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.store.batch import Array, Batch
from tcuq.fleet.store.connection import (
    INGEST,
    DatabaseUnavailableError,
    database_errors,
    time_limit,
)
from tcuq.fleet.store.migrate import check_schema
from tcuq.fleet.store.store import DeadLetter, Store


class ReconnectingStore:
    """Opens a `Store` at the first `put`, and a new one after `close`."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._store: Store | None = None

    def put(
        self, parts: Sequence[tuple[Array, str]], dead_letters: Iterable[DeadLetter]
    ) -> tuple[Batch, NDArray[np.void]]:
        """Store records with their sites' names and dead letters; return the batch and its acks.

        Raises `DatabaseUnavailableError`; the next call connects again.
        """
        try:
            with database_errors():
                store = self._connect()
                with time_limit(store.connection, INGEST.limit_s):
                    batch = Batch.of([(records, store.site(name)) for records, name in parts])
                    return batch, store.put(batch, dead_letters)
        except DatabaseUnavailableError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._store is not None:
            self._store.connection.close()
            self._store = None

    def _connect(self) -> Store:
        if self._store is None:
            self._store = Store(self._database)
            with time_limit(self._store.connection, INGEST.limit_s):
                check_schema(self._store.connection)
        return self._store
