# SPDX-License-Identifier: Apache-2.0
"""Up: the whole fleet on one machine, from a folder: servers, a worker, the judge, the dashboard.

What the folder holds stays: the next start goes on from there. Who ends is started again.
"""

import logging
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from tcuq.errors import FleetError
from tcuq.fleet.servers import Broker, Postgres, listens

log = logging.getLogger("tcuq.fleet.up")

LOOK_S = 0.5
AGAIN_S = 2.0
STOP_S = 15.0


@dataclass(frozen=True, slots=True)
class Ports:
    """Where everything listens, on this machine alone."""

    broker: int = 1883
    database: int = 5433
    ingest: int = 8049
    dashboard: int = 8050


@dataclass(slots=True)
class Fleet:
    """Everything that runs.

    Parameters
    ----------
    folder
        For the database and logs; made if it is not there.
    database, broker
        Servers of one's own instead: a PostgreSQL and an MQTT address.
    every_s
        Between two judgements.
    """

    folder: Path
    ports: Ports
    database: str | None = None
    broker: str | None = None
    every_s: float = 15.0
    stopping: Event = field(default_factory=Event)
    _stops: list[Callable[[], None]] = field(default_factory=list)
    _running: dict[str, tuple[list[str], "subprocess.Popen[bytes]"]] = field(default_factory=dict)

    def start(self) -> None:
        """Start everything that is not there already."""
        for name in ("broker", "database", "ingest", "dashboard"):
            given = getattr(self, name, None)
            port = getattr(self.ports, name)
            if given is None and listens(port):
                raise FleetError(f"port {port} is taken: give another by --{name}-port")
        self.folder.mkdir(parents=True, exist_ok=True)
        database = self.database or self._start_database()
        broker = self.broker or self._start_broker()
        self._run("ingest", "--database", database, "--broker", broker, "--quota", "60000",
                  "--http", str(self.ports.ingest))  # fmt: skip
        self._run("judge", "--database", database, "--every", str(self.every_s))
        self._run("serve", "--database", database, "--port", str(self.ports.dashboard))

    def _start_database(self) -> str:
        server = Postgres(self.folder, self.ports.database)
        server.start()
        self._stops.append(server.stop)
        return server.url

    def _start_broker(self) -> str:
        server = Broker(self.folder, self.ports.broker)
        server.start()
        self._stops.append(server.stop)
        return f"mqtt://127.0.0.1:{server.port}"

    def _run(self, command: str, *arguments: str) -> None:
        line = [sys.executable, "-m", "tcuq.cli", "fleet", command, *arguments]
        self._running[command] = (line, self._process(command, line))

    def _process(self, command: str, line: Sequence[str]) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{command}.log").open("ab") as out:
            return subprocess.Popen(
                line, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )

    def watch(self) -> None:
        """Until told to stop: who ends is started again."""
        while not self.stopping.wait(LOOK_S):
            for command, (line, process) in self._running.items():
                if process.poll() is not None:
                    log.warning("%s ended: see %s.log; started again", command, command)
                    time.sleep(AGAIN_S)
                    self._running[command] = (line, self._process(command, line))

    def stop(self) -> None:
        """Everything, in the order of the data, so that nothing that was taken is left unstored."""
        for _, process in self._running.values():
            process.terminate()
        for _, process in self._running.values():
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
        for stop in reversed(self._stops):
            stop()
