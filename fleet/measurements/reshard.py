# SPDX-License-Identifier: Apache-2.0
"""Reshard under load: one database becomes two, then four, while devices send; counts end exact.

The first resharding is killed in mid-work and run again, workers are killed and started with the
new list, and one of the four databases is lost and comes back.
"""

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
import psycopg

from fleet.measurements.faults import WORKERS, Outcome, Scene, exactness_row, kill_database
from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import fleet_command, open_folder
from results.result import Row, arguments, report
from tcuq_fleet.servers import Postgres
from tcuq_fleet.store.migrate import version
from tcuq_fleet.store.places import place_of

MOST_PAUSE_S = 5.0


class Rehearsal(NamedTuple):
    """What was measured: the counts, devices in a wrong database, the longest pause."""

    outcome: Outcome
    misplaced: int
    paused_s: float
    moved: int


def reshard(scene: Scene, new: list[str], *, killed: bool = False) -> dict[str, float]:
    """Run the documented command; kill it and run it again, if so; start workers with the list."""
    old = [word for url in scene.databases for word in ("--database", url)]
    line = fleet_command(
        "reshard", *old, *(word for url in new for word in ("--to", url)), "--json"
    )
    if killed:
        with subprocess.Popen(line, stdout=subprocess.DEVNULL) as first:
            wait_for(lambda: is_copying(new[0]))
            first.kill()
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    scene.databases = [*scene.databases, *new]
    for _ in range(WORKERS):
        scene.kill_worker()
    result: dict[str, float] = json.loads(done.stdout)
    return result


def is_copying(database: str) -> bool:
    """Return whether a new database has its tables and is not in service yet."""
    with psycopg.connect(database) as connection:
        if version(connection) == 0:
            return False
        ((emptied,),) = connection.execute("SELECT emptied FROM place").fetchall()
    return not emptied


def misplaced(databases: list[str]) -> int:
    """Return how many devices are in a database of another place."""
    wrong = 0
    for at, url in enumerate(databases):
        with psycopg.connect(url) as connection:
            rows = connection.execute("SELECT device FROM devices").fetchall()
        devices = np.array(rows, np.int64).reshape(-1).view(np.uint64)
        wrong += int((place_of(devices, len(databases)) != at).sum())
    return wrong


def run(devices: int, hours: int, hour_s: float) -> Rehearsal:
    """Reshard twice and lose a database while devices send."""
    pause_s = hours * hour_s / 5
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        servers = [
            stack.enter_context(Postgres(folder / f"p{at}", memory="128MB")) for at in range(4)
        ]
        scene = stack.enter_context(Scene(folder / "fleet", servers[0].url, devices, hours, hour_s))
        time.sleep(pause_s)
        first = reshard(scene, [servers[1].url], killed=True)
        time.sleep(pause_s)
        second = reshard(scene, [server.url for server in servers[2:]])
        time.sleep(pause_s / 2)
        kill_database(servers[1])
        outcome = scene.wait(scene.databases)
        wrong = misplaced(scene.databases)
    paused_s = max(first["paused_s"], second["paused_s"])
    return Rehearsal(outcome, wrong, paused_s, int(first["moved"] + second["moved"]))


def main() -> None:
    """Measure; --short: fewer devices for a shorter time."""
    args = arguments()
    devices, hours, hour_s = (2_000, 10, 2.0) if args.short else (20_000, 36, 5.0)
    result = run(devices, hours, hour_s)
    what = f"{devices:,} devices sending, one database resharded to two and four, one lost"
    rows = [
        exactness_row(what, result.outcome),
        Row(
            "devices in a database of another place", "0",
            f"{result.misplaced} ({result.moved:,} moved)", not result.misplaced,
        ),
        Row(
            "seconds for which a database took no records, longest", f"≤ {MOST_PAUSE_S:g}",
            f"{result.paused_s:.2f}", result.paused_s <= MOST_PAUSE_S,
        ),
    ]  # fmt: skip
    sys.exit(report("fleet_reshard", rows, ("psycopg",), write=args.write))


if __name__ == "__main__":
    main()
