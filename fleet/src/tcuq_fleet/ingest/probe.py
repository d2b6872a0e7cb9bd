# SPDX-License-Identifier: Apache-2.0
"""Probe: ask the database regularly whether a record could be stored now."""

import logging
import threading
from typing import Self

from tcuq_fleet.ingest.metrics import IngestMetrics
from tcuq_fleet.store.connection import DatabaseUnavailableError
from tcuq_fleet.store.interface import RecordStore

log = logging.getLogger("tcuq_fleet.ingest")

EVERY_S = 5.0


class DatabaseProbe:
    """Sets a worker's database gauge every few seconds, in its own thread, until the block ends."""

    def __init__(self, store: RecordStore, metrics: IngestMetrics) -> None:
        self._store, self._metrics = store, metrics
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
                self._store.probe()
            except DatabaseUnavailableError as error:
                self._metrics.database.set(0)
                if answered:
                    log.warning("%s", error)
                answered = False
            else:
                self._metrics.database.set(1)
                answered = True
            self._stopping.wait(EVERY_S)
