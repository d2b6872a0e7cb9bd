# SPDX-License-Identifier: Apache-2.0
"""Probe: ask the database regularly whether a record could be stored now."""

import logging
import threading
from typing import Self

from tcuq.fleet.ingest.metrics import IngestMetrics
from tcuq.fleet.store.connection import (
    PROBE,
    DatabaseUnavailableError,
    connect,
    database_errors,
    time_limit,
)
from tcuq.fleet.store.migrate import check_schema

log = logging.getLogger("tcuq.fleet.ingest")

EVERY_S = 5.0


def probe(database: str) -> None:
    """Connect anew as a writer and check the schema, or raise `DatabaseUnavailableError`."""
    with (
        connect(database, PROBE) as connection,
        database_errors(),
        time_limit(connection, PROBE.limit_s),
    ):
        check_schema(connection)


class DatabaseProbe:
    """Sets a worker's database gauge every few seconds, in its own thread, until the block ends."""

    def __init__(self, database: str, metrics: IngestMetrics) -> None:
        self._database, self._metrics = database, metrics
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="database probe")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()

    def _run(self) -> None:
        answered = True
        while not self._stopping.is_set():
            try:
                probe(self._database)
            except DatabaseUnavailableError as error:
                self._metrics.database.set(0)
                if answered:
                    log.warning("%s", error)
                answered = False
            else:
                self._metrics.database.set(1)
                answered = True
            self._stopping.wait(EVERY_S)
