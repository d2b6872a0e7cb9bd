# SPDX-License-Identifier: Apache-2.0
"""Restore: the database is destroyed while devices send, and restored from backup and log.

The base backup is taken while devices send. The log is received synchronously, so that the last
acknowledged record is in it; nothing of the destroyed server is used.
"""

import tempfile
import time
from pathlib import Path

from fleet.measurements.faults import Scene
from fleet.measurements.rehearsal import Outcome, measure, outcome_of
from fleet.tests.fixtures.replication import (
    SYNCHRONOUS,
    LogReceiver,
    base_backup,
    kill,
    restore,
)
from tcuq_fleet.servers import Postgres


class Archive:
    """A server whose log is received into a folder, with a base backup per generation."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder, self.generation = folder, 0
        self.server = Postgres(folder / "main", memory="128MB")
        self.server.start()
        self.server.stop()
        self.server.settings = SYNCHRONOUS
        self.server.launch()
        self.receiver = self._receive()

    def _receive(self) -> LogReceiver:
        self.generation += 1
        return LogReceiver(self.server, self.folder / f"log-{self.generation}")

    def back_up(self) -> Postgres:
        """Take a base backup; return the server that would run on it."""
        backup = Postgres(self.folder / f"backup-{self.generation}")
        base_backup(self.server, backup)
        return backup

    def destroy_and_restore(self, backup: Postgres) -> float:
        """Kill the server, delete its data, restore them; return the seconds it took."""
        began = time.monotonic()
        kill(self.server)
        self.receiver.stop()
        restore(backup.data, self.receiver.folder, self.server)
        self.receiver = self._receive()
        return time.monotonic() - began

    def close(self) -> None:
        """Stop everything."""
        self.receiver.stop()
        self.server.crash()


def rehearse(devices: int, hours: int, hour_s: float, restores: int) -> Outcome:
    """Destroy and restore while the devices send; return what differs from the truth."""
    with tempfile.TemporaryDirectory() as name:
        archive = Archive(Path(name))
        scene = Scene(Path(name) / "fleet", devices, hours, hour_s, archive.server.url)
        try:
            pause_s = hours * hour_s * 0.8 / restores
            seconds = []
            for _ in range(restores):
                time.sleep(pause_s / 3)
                backup = archive.back_up()
                time.sleep(pause_s / 3)
                seconds.append(archive.destroy_and_restore(backup))
                time.sleep(max(0.0, pause_s / 3 - seconds[-1]))
            return outcome_of(scene, archive.server.url, seconds)
        finally:
            scene.close()
            archive.close()


if __name__ == "__main__":
    measure(
        "fleet_restore",
        rehearse,
        "database destroyed and restored",
        "seconds from the loss to a restored database",
    )
