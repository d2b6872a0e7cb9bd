# SPDX-License-Identifier: Apache-2.0
"""Up: run the whole fleet on one machine: servers, a worker, the judge and the dashboard.

The data stay in the folder and are used by the next start. A server or process that exits is
restarted; all of them end with this process, also when it is killed.
"""

import logging
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from tcuq_fleet.child import start_child
from tcuq_fleet.errors import FleetError
from tcuq_fleet.servers import Broker, Postgres, is_listening
from tcuq_fleet.store.connection import MIGRATE, connect, database_errors
from tcuq_fleet.store.migrate import create_roles, migrate

log = logging.getLogger("tcuq_fleet.up")

POLL_S = 0.5
RESTART_DELAY_S = 2.0
STOP_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports of the broker and of the processes."""

    broker: int = 1883
    ingest: int = 8049
    dashboard: int = 8050


@dataclass(slots=True)
class Supervisor:
    """Starts the fleet's processes, restarts those that exit, and stops them all.

    Parameters
    ----------
    folder
        For the database and logs; created if it does not exist.
    database, broker
        URLs of existing servers to use instead of private ones.
    password_file
        Of that database.
    every_s
        Seconds between two judgements.
    """

    folder: Path
    ports: Ports
    database: str | None = None
    password_file: str | None = None
    broker: str | None = None
    every_s: float = 15.0
    stopping: Event = field(default_factory=Event)
    _servers: dict[str, Postgres | Broker] = field(default_factory=dict)
    _processes: dict[str, tuple[list[str], "subprocess.Popen[bytes]"]] = field(default_factory=dict)

    def start(self) -> None:
        """Start the servers that are not given, then worker, judge and dashboard."""
        for name in ("broker", "ingest", "dashboard"):
            port = getattr(self.ports, name)
            if getattr(self, name, None) is None and is_listening(port):
                raise FleetError(f"port {port} is in use: choose another by --{name}-port")
        self.folder.mkdir(parents=True, exist_ok=True)
        database = self.database or self._start_database()
        broker = self.broker or self._start_broker()
        if self.database is None:
            with connect(database, MIGRATE) as connection, database_errors():
                create_roles(connection, {})
                migrate(connection)
        elif subprocess.run(self._line("migrate", "--database", database), check=False).returncode:
            raise FleetError("the database could not be migrated: its message is above")
        self._run("ingest", "--database", self._url("tcuq_ingest"), "--broker", broker,
                  "--quota", "60000", "--http", str(self.ports.ingest))  # fmt: skip
        self._run("judge", "--database", self._url("tcuq_judge"), "--every", str(self.every_s))
        self._run("serve", "--database", self._url("tcuq_serve"),
                  "--port", str(self.ports.dashboard))  # fmt: skip

    def _url(self, role: str) -> str:
        """Return the URL for a process: with its own role in the private server."""
        server = self._servers.get("PostgreSQL")
        return server.url_of(role) if isinstance(server, Postgres) else str(self.database)

    def _start_database(self) -> str:
        server = Postgres(self.folder)
        self._servers["PostgreSQL"] = server
        server.start()
        return server.url

    def _start_broker(self) -> str:
        server = Broker(self.folder, self.ports.broker)
        self._servers["the broker"] = server
        server.start()
        return f"mqtt://127.0.0.1:{server.port}"

    def _line(self, command: str, *arguments: str) -> list[str]:
        line = [sys.executable, "-m", "tcuq.cli", "fleet", command, *arguments]
        if self.password_file is not None:
            line += ["--database-password-file", self.password_file]
        return line

    def _run(self, command: str, *arguments: str) -> None:
        self._start(command, self._line(command, *arguments))

    def _start(self, command: str, line: list[str]) -> None:
        with (self.folder / f"{command}.log").open("ab") as out:
            self._processes[command] = (line, start_child(line, out))

    def watch(self) -> None:
        """Restart every server and process that exits, until `stopping` is set."""
        while not self.stopping.wait(POLL_S):
            for name, server in self._servers.items():
                if server.has_exited():
                    log.warning("%s exited: see its log in %s; restarting it", name, self.folder)
                    self.stopping.wait(RESTART_DELAY_S)
                    self._restart(name, server)
            for command, (line, process) in list(self._processes.items()):
                if process.poll() is not None:
                    log.warning("%s exited: see %s.log; restarting it", command, command)
                    self.stopping.wait(RESTART_DELAY_S)
                    self._start(command, line)

    @staticmethod
    def _restart(name: str, server: Postgres | Broker) -> None:
        try:
            server.start()
        except FleetError as error:
            log.warning("%s: %s; trying again", name, error)

    def stop(self) -> None:
        """Stop the processes first, then the servers, so that received records are stored."""
        for _, process in self._processes.values():
            process.terminate()
        for _, process in self._processes.values():
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
        for server in reversed(self._servers.values()):
            server.stop()
