# SPDX-License-Identifier: Apache-2.0
"""A rehearsal: the database is lost while devices send, and every count must end exact."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, Self

from fleet.measurements.faults import Outcome, Scene, exactness_row
from fleet.tests.fixtures.servers import open_folder
from results.result import Row, arguments, report


class LostDatabase(Protocol):
    """A database to lose; as a context it runs for the block."""

    @property
    def url(self) -> str:
        """The URL that devices' workers use."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def lose(self, pause_s: float) -> float:
        """Wait for so long, lose the database, bring it back; return the seconds of the loss."""


def rehearse(
    create: Callable[[Path], LostDatabase], devices: int, hours: int, hour_s: float, losses: int
) -> Outcome:
    """Lose the database while the devices send; return what differs, and the longest loss."""
    with (
        open_folder() as folder,
        create(folder) as database,
        Scene(folder / "fleet", database.url, devices, hours, hour_s) as scene,
    ):
        pause_s = hours * hour_s * 0.8 / losses
        seconds = []
        for _ in range(losses):
            seconds.append(database.lose(pause_s / 2))
            time.sleep(max(0.0, pause_s / 2 - seconds[-1]))
        sending = scene.devices.poll() is None
        return scene.wait(database.url) | {"sending": sending, "longest_s": max(seconds)}


def measure(name: str, create: Callable[[Path], LostDatabase], loss: str, longest: str) -> None:
    """Rehearse and report; --short: fewer devices, one loss."""
    args = arguments()
    devices, hours, hour_s, losses = (2_000, 8, 3.0, 1) if args.short else (20_000, 40, 5.0, 3)
    outcome = rehearse(create, devices, hours, hour_s, losses)
    what = f"{devices:,} devices sending, {loss} {losses} times"
    rows = [
        exactness_row(what, outcome, valid=outcome["sending"]),
        Row(f"{longest}, longest", "stated", f"{outcome['longest_s']:.1f}", None),
    ]
    sys.exit(report(name, rows, ("psycopg", "paho-mqtt"), write=args.write))
