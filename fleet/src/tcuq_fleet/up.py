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
from tcuq_fleet.servers import Broker, Postgres, Server, is_listening
from tcuq_fleet.store.connection import MIGRATE, connect, database_errors
from tcuq_fleet.store.migrate import create_roles, migrate

log = logging.getLogger("tcuq_fleet.up")

POLL_S = 0.5
RESTART_DELAY_S = 2.0


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports of the broker and of the processes."""

    broker: int = 1883
    ingest: int = 8049
    dashboard: int = 8050


class FleetProcess(Server):
    """A `fleet` command that runs as a child and logs to a file."""

    def __init__(self, line: list[str], log_file: Path) -> None:
        self._line, self._log_file = line, log_file

    def start(self) -> None:
        """Start the command."""
        with self._log_file.open("ab") as out:
            self._process = start_child(self._line, out)


@dataclass(slots=True)
class Supervisor:
    """Starts the fleet's processes, restarts those that exit, and stops them all."""

    folder: Path  # for the database and logs; created if it does not exist
    ports: Ports
    database: str | None = None  # URL of an existing server; default: a private one
    password_file: str | None = None  # of that database
    broker: str | None = None  # URL of an existing server; default: a private one
    every_s: float = 15.0  # between two judgements
    stopping: Event = field(default_factory=Event)
    _servers: dict[str, Server] = field(default_factory=dict)

    def start(self) -> None:
        """Start the servers that are not given, then worker, judge and dashboard."""
        for name in ("broker", "ingest", "dashboard"):
            port = getattr(self.ports, name)
            if getattr(self, name, None) is None and is_listening(port):
                raise FleetError(f"port {port} is in use: choose another by --{name}-port")
        self.folder.mkdir(parents=True, exist_ok=True)
        urls = self._prepare_database()
        broker = self.broker
        if broker is None:
            self._start("the broker", Broker(self.folder, self.ports.broker))
            broker = f"mqtt://127.0.0.1:{self.ports.broker}"
        self._run("ingest", "--database", urls["ingest"], "--broker", broker,
                  "--claim", "open", "--quota", "60000",
                  "--http", str(self.ports.ingest))  # fmt: skip
        self._run("judge", "--database", urls["judge"], "--every", str(self.every_s))
        self._run("serve", "--database", urls["serve"], "--port", str(self.ports.dashboard))

    def _prepare_database(self) -> dict[str, str]:
        """Migrate the database; return each process's URL, with its own role if it is private."""
        processes = ("ingest", "judge", "serve")
        if self.database is not None:
            line = self._line("migrate", "--database", self.database)
            if subprocess.run(line, check=False).returncode:
                raise FleetError("the database could not be migrated: its message is above")
            return dict.fromkeys(processes, self.database)
        server = Postgres(self.folder)
        self._start("PostgreSQL", server)
        with connect(server.url, MIGRATE) as connection, database_errors():
            create_roles(connection, {})
            migrate(connection)
        return {process: server.url_of(f"tcuq_{process}") for process in processes}

    def _line(self, command: str, *arguments: str) -> list[str]:
        line = [sys.executable, "-m", "tcuq.cli", "fleet", command, *arguments]
        if self.password_file is not None:
            line += ["--database-password-file", self.password_file]
        return line

    def _run(self, command: str, *arguments: str) -> None:
        line = self._line(command, *arguments)
        self._start(command, FleetProcess(line, self.folder / f"{command}.log"))

    def _start(self, name: str, server: Server) -> None:
        self._servers[name] = server
        server.start()

    def watch(self) -> None:
        """Restart every server and process that exits, until `stopping` is set."""
        while not self.stopping.wait(POLL_S):
            for name, server in self._servers.items():
                if server.has_exited():
                    log.warning("%s exited: see its log in %s; restarting it", name, self.folder)
                    self.stopping.wait(RESTART_DELAY_S)
                    try:
                        server.start()
                    except FleetError as error:
                        log.warning("%s: %s; trying again", name, error)

    def stop(self) -> None:
        """Stop the processes first, then the servers, so that received records are stored."""
        for server in reversed(self._servers.values()):
            server.stop()
