# SPDX-License-Identifier: Apache-2.0
"""Restore: the database is destroyed while devices send, and restored from backup and log.

The base backup is taken while devices send. The log is received synchronously, so that the last
acknowledged record is in it; nothing of the destroyed server is used.
"""

import time
from pathlib import Path
from typing import Self

from fleet.measurements.rehearsal import measure
from fleet.tests.fixtures.replication import SYNCHRONOUS, LogReceiver, base_backup, kill, restore
from tcuq_fleet.servers import Postgres


class Archive:
    """A server whose log is received into a folder, with a base backup per generation."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._generation = folder, 0
        self._server = Postgres(folder / "main", memory="128MB")

    @property
    def url(self) -> str:
        """The server's URL."""
        return self._server.url

    def __enter__(self) -> Self:
        self._server.start()
        self._server.stop()
        self._server.settings = SYNCHRONOUS
        self._server.launch()
        self._receiver = self._receive()
        return self

    def __exit__(self, *_: object) -> None:
        self._receiver.stop()
        self._server.crash()

    def _receive(self) -> LogReceiver:
        self._generation += 1
        return LogReceiver(self._server, self._folder / f"log-{self._generation}")

    def lose(self, pause_s: float) -> float:
        """Back up, kill the server, delete its data and restore them; return the seconds."""
        time.sleep(pause_s / 2)
        backup = Postgres(self._folder / f"backup-{self._generation}")
        base_backup(self._server, backup)
        time.sleep(pause_s / 2)
        began = time.monotonic()
        kill(self._server)
        self._receiver.stop()
        restore(backup.data, self._receiver.folder, self._server)
        self._receiver = self._receive()
        return time.monotonic() - began


if __name__ == "__main__":
    measure(
        "fleet_restore",
        Archive,
        "database destroyed and restored",
        "seconds from the loss to a restored database",
    )
