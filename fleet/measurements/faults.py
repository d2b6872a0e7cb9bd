# SPDX-License-Identifier: Apache-2.0
"""Faults: workers, broker and database are killed while devices send; all counts end true.

The devices run the firmware's own uplink; the wire loses and repeats messages, devices restart.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from results.result import Row, arguments, report
from tcuq.telemetry import COUNTERS
from tcuq_fleet.servers import Broker, Postgres
from tcuq_fleet.store.migrate import migrate

COMMAND = [sys.executable, "-m", "tcuq.cli", "fleet"]
WORKERS = 2


class Scene:
    """Servers, two workers and a simulated fleet; `database` is the URL of running servers."""

    def __init__(
        self, folder: Path, devices: int, hours: int, hour_s: float, database: str | None = None
    ) -> None:
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        self.folder, self.truth = folder, folder / "truth.npz"
        self.postgres, self.broker = Postgres(folder), Broker(folder / "broker")
        if database is None:
            self.postgres.start()
        self.database = database or self.postgres.url
        with psycopg.connect(self.database, autocommit=True) as connection:
            migrate(connection)
        self.broker.start()
        self.killed = dict.fromkeys(("worker", "database", "broker"), 0)
        broker = f"mqtt://127.0.0.1:{self.broker.port}"
        self._ingest = [
            *COMMAND, "ingest", "--database", self.database, "--broker", broker,
            "--quota", "60000", "--batch", "2000",
        ]  # fmt: skip
        self.workers = [self._worker() for _ in range(WORKERS)]
        time.sleep(3)
        self.fleet = subprocess.Popen(
            [
                *COMMAND, "simulate", "--broker", broker, "--devices", str(devices),
                "--hours", str(hours), "--hour-s", str(hour_s), "--reboot", "1%", "--loss", "2%",
                "--duplication", "2%", "--drift", "1%", "--truth", str(self.truth), "--json",
            ],
            stdout=subprocess.PIPE,
        )  # fmt: skip

    def _worker(self) -> "subprocess.Popen[bytes]":
        with (self.folder / "ingest.log").open("ab") as log:
            return subprocess.Popen(self._ingest, stdout=log, stderr=log)

    def kill_worker(self) -> None:
        """In the midst of whatever it does."""
        at = self.killed["worker"] % WORKERS
        self.workers[at].kill()
        self.workers[at].wait()
        self.workers[at] = self._worker()
        self.killed["worker"] += 1

    def kill_database(self) -> None:
        """As a crash; it recovers."""
        self.postgres.crash()
        time.sleep(2)
        self.postgres.start()
        self.killed["database"] += 1

    def kill_broker(self) -> None:
        """With everything it had acknowledged."""
        self.broker.crash()
        time.sleep(1)
        self.broker.start()
        self.killed["broker"] += 1

    def close(self) -> None:
        """Stop whatever runs."""
        for process in (self.fleet, *self.workers):
            process.terminate()
        for process in (self.fleet, *self.workers):
            process.wait()
        self.broker.stop()
        self.postgres.crash()


def faults(scene: Scene, rounds: int) -> Iterator[Callable[[], None]]:
    """Five times a worker, twice the database, twice the broker, in turns."""
    order = [
        scene.kill_worker, scene.kill_database, scene.kill_worker, scene.kill_broker,
        scene.kill_worker, scene.kill_database, scene.kill_worker, scene.kill_broker,
        scene.kill_worker,
    ]  # fmt: skip
    yield from order[:rounds]


def differences(database: str, path: Path) -> dict[str, int]:
    """Where the tables and the devices' own truth part."""
    with np.load(path) as file:
        truth = {name: file[name] for name in file.files}
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT device, boot, sequence, steps, abstained, denied, exceeded, alarms FROM devices"
        ).fetchall()
        sums = connection.execute(
            "SELECT profile, firmware, name, sum(steps), sum(abstained), sum(denied),"
            " sum(exceeded), sum(alarms) FROM cohorts JOIN sites USING (site) GROUP BY 1, 2, 3"
        ).fetchall()
        letters = connection.execute("SELECT count(*) FROM dead_letters").fetchone()
    stored = {row[0] % 2**64: row[1:] for row in rows}
    wrong = 0
    for at, device in enumerate(truth["device"].tolist()):
        boot, sequence, *counters = stored.get(device, (0, -1))
        right = (boot, sequence) == (truth["boot"][at], truth["sequence"][at])
        if truth["boot"][at] == truth["boot"].min():  # it never restarted: its sums are its state
            right = right and counters == [int(truth[name][at]) for name in COUNTERS]
        wrong += not right
    stored_sums = {
        (profile % 2**32, firmware % 2**32, site): [int(value) for value in values]
        for profile, firmware, site, *values in sums
    }
    return {
        "devices": wrong + max(0, len(stored) - len(truth["device"])),
        "cohorts": sum(stored_sums.get(key) != value for key, value in cohorts_of(truth).items())
        + len(set(stored_sums) - set(cohorts_of(truth))),
        "waiting": int((truth["waiting"] > 0).sum()),
        "letters": int(letters[0]) if letters else 0,
        "restarts": int((truth["boot"] - truth["boot"].min()).sum()),
        "steps": int(truth["steps"].sum()),
        "cohorts_in_all": len(stored_sums),
    }


def cohorts_of(truth: dict[str, Any]) -> dict[tuple[int, int, str], list[int]]:
    """The sums that cohorts must have."""
    sums: dict[tuple[int, int, str], list[int]] = {}
    sites = truth["sites"][truth["site"]].tolist()
    keys = zip(truth["profile"].tolist(), truth["firmware"].tolist(), sites, strict=True)
    counters = np.stack([truth[name] for name in COUNTERS], axis=1).tolist()
    for key, counted in zip(keys, counters, strict=True):
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * 5), counted, strict=True)]
    return sums


def survived(devices: int, hours: int, hour_s: float, rounds: int) -> dict[str, int]:
    """Run the scene with its faults; what differs in the end."""
    with tempfile.TemporaryDirectory() as name:
        scene = Scene(Path(name), devices, hours, hour_s)
        try:
            time.sleep(hour_s)
            pause_s = hours * hour_s * 0.8 / rounds
            for fault in faults(scene, rounds):
                began = time.monotonic()
                fault()
                time.sleep(max(0.0, pause_s - (time.monotonic() - began)))
            out, _ = scene.fleet.communicate()
            summary = json.loads(out)
            outcome = differences(scene.postgres.url, scene.truth)
        finally:
            scene.close()
    return outcome | {"sent": int(summary["sent"]), **scene.killed}


def main() -> None:
    """Measure; --short: fewer devices, three faults."""
    args = arguments()
    devices, hours, hour_s, rounds = (2_000, 10, 2.0, 3) if args.short else (20_000, 36, 5.0, 9)
    outcome = survived(devices, hours, hour_s, rounds)
    killed = ", ".join(f"{name} {outcome[name]}" for name in ("worker", "database", "broker"))
    exact = outcome["devices"] == outcome["cohorts"] == outcome["waiting"] == 0
    rows = [
        Row(
            f"{devices:,} devices, killed in mid-work ({killed}), 2 % lost and 2 % repeated both"
            " ways, restarts: devices and cohorts that differ from the truth",
            "0 and 0",
            f"{outcome['devices']} and {outcome['cohorts']} of {outcome['cohorts_in_all']}"
            f" ({outcome['steps']:,} steps, {outcome['sent']:,} records sent,"
            f" {outcome['restarts']:,} restarts, {outcome['letters']} dead letters)",
            exact,
        )
    ]
    sys.exit(report("fleet_faults", rows, ("psycopg", "paho-mqtt"), write=args.write))


if __name__ == "__main__":
    main()
