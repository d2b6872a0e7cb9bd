# SPDX-License-Identifier: Apache-2.0
"""Faults: workers, broker and database are killed while devices send; all counts end exact.

Simulated devices run the firmware's uplink; the transport loses and repeats messages, and devices
restart.
"""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import psycopg

from fleet.tests.fixtures.servers import create_tables, fleet_command, open_folder, running_process
from results.result import Row, arguments, report
from tcuq.telemetry import COUNTERS
from tcuq_fleet.servers import Broker, Postgres

if TYPE_CHECKING:
    import subprocess

WORKERS = 2
Outcome = dict[str, Any]


class Scene:
    """A broker, two workers and a simulated fleet, beside a running database."""

    def __init__(
        self, folder: Path, database: str, devices: int, hours: int, hour_s: float
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.databases, self.truth = folder, [database], folder / "truth.npz"
        self.broker = Broker(folder / "broker")
        broker = f"mqtt://127.0.0.1:{self.broker.port}"
        self._ingest = fleet_command(
            "ingest", "--claim", "open", "--broker", broker, "--quota", "60000", "--batch", "2000"
        )
        self._simulate = fleet_command(
            "simulate", "--broker", broker, "--devices", str(devices), "--hours", str(hours),
            "--hour-s", str(hour_s), "--reboot", "1%", "--loss", "2%", "--duplication", "2%",
            "--drift", "1%", "--truth", str(self.truth), "--json",
        )  # fmt: skip
        self._stack = ExitStack()
        self._workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        create_tables(self.databases[0])
        self._stack.enter_context(self.broker)
        for _ in range(WORKERS):
            self._start_worker()
        time.sleep(3)
        self.devices = self._stack.enter_context(running_process(self._simulate))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start_worker(self) -> None:
        line = [*self._ingest, *(word for url in self.databases for word in ("--database", url))]
        worker = running_process(line, self.folder / "ingest.log")
        self._workers.append(self._stack.enter_context(worker))

    def kill_worker(self) -> None:
        """Kill the oldest worker and start another."""
        worker = self._workers.pop(0)
        worker.kill()
        worker.wait()
        self._start_worker()

    def kill_broker(self) -> None:
        """Crash the broker, which loses every message that it has acknowledged."""
        self.broker.crash()
        time.sleep(1)
        self.broker.start()

    def wait(self, database: str | Sequence[str]) -> Outcome:
        """Wait for the devices to end; return what differs from their counters."""
        output, _ = self.devices.communicate()
        sent = int(json.loads(output)["sent"])
        return differences(database, self.truth) | {"sent": sent}


def kill_database(postgres: Postgres) -> None:
    """Crash the database; it recovers at its next start."""
    postgres.crash()
    time.sleep(2)
    postgres.start()


def differences(databases: str | Sequence[str], path: Path) -> Outcome:
    """Return how many devices and cohorts of the tables differ from the devices' counters.

    Over several databases cohorts add up; a device in two of them is one too many.
    """
    with np.load(path) as file:
        truth = {name: file[name] for name in file.files}
    rows, sums, letters = [], [], 0
    for database in [databases] if isinstance(databases, str) else databases:
        with psycopg.connect(database) as connection:
            rows += connection.execute(
                "SELECT device, boot, sequence, steps, abstained, denied, exceeded, alarms"
                " FROM devices"
            ).fetchall()
            sums += connection.execute(
                "SELECT profile, firmware, name, sum(steps), sum(abstained), sum(denied),"
                " sum(exceeded), sum(alarms) FROM cohorts JOIN sites USING (site) GROUP BY 1, 2, 3"
            ).fetchall()
            letters += connection.execute("SELECT FROM dead_letters").rowcount
    stored = {row[0] % 2**64: row[1:] for row in rows}
    wrong = 0
    for at, device in enumerate(truth["device"].tolist()):
        boot, sequence, *counters = stored.get(device, (0, -1))
        right = (boot, sequence) == (truth["boot"][at], truth["sequence"][at])
        if truth["boot"][at] == truth["boot"].min():  # it never restarted: its sums are its state
            right = right and counters == [int(truth[name][at]) for name in COUNTERS]
        wrong += not right
    stored_sums: dict[tuple[int, int, str], list[int]] = {}
    for profile, firmware, site, *values in sums:
        key = (profile % 2**32, firmware % 2**32, site)
        before = stored_sums.get(key, [0] * len(values))
        stored_sums[key] = [a + int(b) for a, b in zip(before, values, strict=True)]
    right_sums = cohort_sums(truth)
    return {
        "devices": wrong + len(rows) - len(stored) + max(0, len(stored) - len(truth["device"])),
        "cohorts": sum(stored_sums.get(key) != value for key, value in right_sums.items())
        + len(stored_sums.keys() - right_sums.keys()),
        "waiting": int((truth["waiting"] > 0).sum()),
        "letters": letters,
        "restarts": int((truth["boot"] - truth["boot"].min()).sum()),
        "steps": int(truth["steps"].sum()),
        "cohorts_in_all": len(stored_sums),
    }


def cohort_sums(truth: dict[str, Any]) -> dict[tuple[int, int, str], list[int]]:
    """Return the sums that cohorts must have."""
    sums: dict[tuple[int, int, str], list[int]] = {}
    sites = truth["sites"][truth["site"]].tolist()
    keys = zip(truth["profile"].tolist(), truth["firmware"].tolist(), sites, strict=True)
    counters = np.stack([truth[name] for name in COUNTERS], axis=1).tolist()
    for key, values in zip(keys, counters, strict=True):
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * 5), values, strict=True)]
    return sums


def exactness_row(what: str, outcome: Outcome, *, letters: bool = False, valid: bool = True) -> Row:
    """Return the row that compares the tables with the devices' counters."""
    exact = outcome["devices"] == outcome["cohorts"] == outcome["waiting"] == 0
    more = f", {outcome['letters']} dead letters" if letters else ""
    return Row(
        f"{what}: devices and cohorts that differ from the truth",
        "0 and 0",
        f"{outcome['devices']} and {outcome['cohorts']} of {outcome['cohorts_in_all']}"
        f" ({outcome['steps']:,} steps, {outcome['sent']:,} records sent,"
        f" {outcome['restarts']:,} restarts{more})",
        exact and valid,
    )


def run(devices: int, hours: int, hour_s: float, rounds: int) -> tuple[Outcome, str]:
    """Kill workers, database and broker in turns; return the differences and what was killed."""
    with (
        open_folder() as folder,
        Postgres(folder) as postgres,
        Scene(folder / "fleet", postgres.url, devices, hours, hour_s) as scene,
    ):
        time.sleep(hour_s)
        pause_s = hours * hour_s * 0.8 / rounds
        kills = dict.fromkeys(("worker", "database", "broker"), 0)
        for name in ("worker", "database", "worker", "broker") * 2 + ("worker",):
            if sum(kills.values()) == rounds:
                break
            began = time.monotonic()
            if name == "database":
                kill_database(postgres)
            else:
                scene.kill_worker() if name == "worker" else scene.kill_broker()
            kills[name] += 1
            time.sleep(max(0.0, pause_s - (time.monotonic() - began)))
        outcome = scene.wait(postgres.url)
    return outcome, ", ".join(f"{name} {count}" for name, count in kills.items())


def main() -> None:
    """Measure; --short: fewer devices, three faults."""
    args = arguments()
    devices, hours, hour_s, rounds = (2_000, 10, 2.0, 3) if args.short else (20_000, 36, 5.0, 9)
    outcome, killed = run(devices, hours, hour_s, rounds)
    what = (
        f"{devices:,} devices, killed in mid-work ({killed}), 2 % lost and 2 % repeated both ways,"
        " restarts"
    )
    rows = [exactness_row(what, outcome, letters=True)]
    sys.exit(report("fleet_faults", rows, ("psycopg", "paho-mqtt"), write=args.write))


if __name__ == "__main__":
    main()
