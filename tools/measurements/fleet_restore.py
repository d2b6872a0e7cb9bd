# SPDX-License-Identifier: Apache-2.0
"""Restore: the database is destroyed while devices send, and restored from backup and log.

The base backup is taken while devices send. The log is received synchronously, so that the last
acknowledged record is in it; nothing of the destroyed server is used.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from tcuq.fleet.servers import Postgres
from tools.measurements.fleet_faults import Scene, differences
from tools.measurements.fleet_replication import (
    SYNCHRONOUS,
    LogReceiver,
    base_backup,
    kill,
    restore,
)
from tools.measurements.result import Row, arguments, report


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
        self.server.stop("immediate")


def rehearse(devices: int, hours: int, hour_s: float, restores: int) -> dict[str, float]:
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
            sending = scene.fleet.poll() is None
            out, _ = scene.fleet.communicate()
            outcome = differences(archive.server.url, scene.truth)
        finally:
            scene.close()
            archive.close()
    summary = json.loads(out)
    return outcome | {
        "sent": int(summary["sent"]),
        "sending": int(sending),
        "longest_s": max(seconds),
    }


def main() -> None:
    """Measure; --short: fewer devices, one restore."""
    args = arguments()
    devices, hours, hour_s, restores = (2_000, 8, 3.0, 1) if args.short else (20_000, 40, 5.0, 3)
    outcome = rehearse(devices, hours, hour_s, restores)
    exact = outcome["devices"] == outcome["cohorts"] == outcome["waiting"] == 0
    rows = [
        Row(
            f"{devices:,} devices sending, database destroyed and restored {restores} times:"
            " devices and cohorts that differ from the truth",
            "0 and 0",
            f"{outcome['devices']} and {outcome['cohorts']} of {outcome['cohorts_in_all']}"
            f" ({outcome['steps']:,} steps, {outcome['sent']:,} records sent,"
            f" {outcome['restarts']:,} restarts)",
            exact and outcome["sending"] == 1,
        ),
        Row(
            "seconds from the loss to a restored database, longest",
            "stated",
            f"{outcome['longest_s']:.1f}",
            None,
        ),
    ]
    sys.exit(report("fleet_restore", rows, ("psycopg", "paho-mqtt"), write=args.write))


if __name__ == "__main__":
    main()
