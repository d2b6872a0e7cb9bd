# SPDX-License-Identifier: Apache-2.0
"""Failover by hand: the primary is killed under load, its standby promoted; counts end exact."""

import time
from pathlib import Path
from typing import Self

from fleet.measurements.rehearsal import measure
from fleet.tests.fixtures.replication import SYNCHRONOUS, kill, promote, start_standby
from tcuq_fleet.servers import Postgres


class Pair:
    """A primary and its synchronous standby."""

    def __init__(self, folder: Path) -> None:
        self.primary, self.standby = (
            Postgres(folder / name, memory="128MB") for name in ("one", "two")
        )
        hosts = (server.url.split("@")[1].split("/")[0] for server in (self.primary, self.standby))
        self._hosts = ",".join(hosts)

    @property
    def url(self) -> str:
        """The URL that names both servers."""
        return f"postgresql://tcuq@{self._hosts}/fleet"

    def __enter__(self) -> Self:
        self.primary.start()  # creating the database would wait for a standby
        self.primary.stop()
        self.primary.settings = SYNCHRONOUS
        self.primary.launch()
        start_standby(self.primary, self.standby)
        return self

    def __exit__(self, *_: object) -> None:
        self.standby.crash()
        self.primary.crash()

    def lose(self, pause_s: float) -> float:
        """Kill the primary, promote the standby and make a new standby; return the seconds."""
        time.sleep(pause_s)
        began = time.monotonic()
        kill(self.primary)
        promote(self.standby)
        self.primary, self.standby = self.standby, self.primary
        start_standby(self.primary, self.standby)
        return time.monotonic() - began


if __name__ == "__main__":
    measure(
        "fleet_failover",
        Pair,
        "primary killed and standby promoted",
        "seconds from the kill to a primary with a standby",
    )
