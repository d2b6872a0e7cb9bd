# SPDX-License-Identifier: Apache-2.0
"""Run private PostgreSQL and mosquitto servers; they end with the process that started them."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Self
from urllib.parse import quote

from tcuq_fleet.child import start_child
from tcuq_fleet.errors import FleetError

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60
MAX_SOCKET_FOLDER_BYTES = 107 - len("/.s.PGSQL.5432")
DEBIAN_POSTGRESQL = "/usr/lib/postgresql"
# fsync stays on: an acknowledgement promises a durable commit. A small WAL keeps recovery short.
POSTGRESQL_CONF = """
listen_addresses = ''
unix_socket_directories = '{folder}'
shared_buffers = {memory}
max_wal_size = 2GB
checkpoint_timeout = 15min
wal_compression = lz4
"""
# Nothing persists over a restart: devices resend what was not stored.
MOSQUITTO_CONF = """{limits}
persistence false
user {user}
"""
OPEN_LISTENER = """
listener {port} 127.0.0.1
max_connections 10000
allow_anonymous true
"""
DEVICES_PORT, WORKERS_PORT = 8883, 8884  # of broker_listeners.conf


def free_port() -> int:
    """Return a port of this machine on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A program that runs as a child of this process; as a context it runs for the block."""

    stop_signal, crash_signal = signal.SIGTERM, signal.SIGKILL
    _process: "subprocess.Popen[bytes] | None" = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.crash()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop the server in order."""
        self._end(self.stop_signal)

    def crash(self) -> None:
        """End the server as a crash would."""
        self._end(self.crash_signal)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def has_exited(self) -> bool:
        """Return whether the server ended without being stopped."""
        return self._process is not None and self._process.poll() is not None

    def _wait_for(self, answers: Callable[[], bool], log: Path) -> None:
        end = time.monotonic() + START_TIMEOUT_S
        while not answers():
            if self.has_exited() or time.monotonic() > end:
                raise FleetError(f"{type(self).__name__} did not start: see {log}")
            time.sleep(0.05)


class Postgres(Server):
    """A private PostgreSQL server whose data stay in a folder.

    It listens only on a Unix socket in its data folder, which only its own account and root can
    enter: other users of this machine cannot connect, and no other machine can.

    `memory` is for PostgreSQL's shared buffers, best large enough for the table `devices` at 300
    bytes per row; `settings` are further lines of its configuration.
    """

    stop_signal, crash_signal = signal.SIGINT, signal.SIGQUIT  # SIGINT ends connections

    def __init__(self, folder: Path, memory: str = "512MB", settings: str = "") -> None:
        self.folder = folder.resolve()
        self.data = self.folder / "postgresql"
        if len(bytes(self.data)) > MAX_SOCKET_FOLDER_BYTES:
            raise FleetError(
                f"the folder's path must have at most {MAX_SOCKET_FOLDER_BYTES - 11} bytes for a"
                f" Unix socket, got {self.folder}: choose a shorter one"
            )
        self.url = self.url_of("tcuq")
        self.memory, self.settings = memory, settings
        self._account = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root

    def url_of(self, role: str) -> str:
        """Return the URL by which a role connects."""
        return f"postgresql://{role}@{quote(str(self.data), safe='')}/fleet"

    def start(self) -> None:
        """Start the server; create the database the first time."""
        fresh = not self.data.exists()
        if fresh:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.data.mkdir(mode=0o700)
            if self._account:
                shutil.chown(self.data, self._account, self._account)
            self.run("initdb", "--auth-local=trust", "--auth-host=reject", "-U", "tcuq",
                     "-E", "UTF8", "--no-sync")  # fmt: skip
        self.launch()
        if fresh:
            self.run("createdb", "-h", str(self.data), "-U", "tcuq", "fleet")

    def launch(self) -> None:
        """Start the server on existing data and wait until it answers."""
        # Rewritten at each start, because folder and memory may change.
        settings = POSTGRESQL_CONF.format(folder=self.data, memory=self.memory) + self.settings
        (self.data / "postgresql.auto.conf").write_text(settings, "utf-8")
        with (self.data / "log").open("ab") as log:
            self._process = start_child(
                [postgresql_program("postgres"), "-D", str(self.data)],
                log,
                death_signal=signal.SIGINT,  # its fast shutdown
                account=self._account,
                folder=self.data,
            )
        self._wait_for(self._answers, self.data / "log")

    def _answers(self) -> bool:
        try:
            self.run("pg_isready", "-q", "-h", str(self.data), "-U", "tcuq", "-d", "postgres")
        except FleetError:
            return False
        return True

    def run(self, name: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs on this server's data, as its account."""
        account = pwd.getpwnam(self._account) if self._account else None
        result = subprocess.run(
            [postgresql_program(name), *arguments],
            env={**os.environ, "PGDATA": str(self.data)},
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if result.returncode:
            raise FleetError(f"{name} failed in {self.data}: see the log there")


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: the trusted CA, a certificate and its key."""

    ca: Path
    certificate: Path
    key: Path


class Broker(Server):
    """A private mosquitto broker, by default on a free port.

    With certificates it has two listeners: one for devices, whose clients must present a
    certificate of the same CA and may publish only under its common name, and one for workers,
    whose certificates the file `workers` signed. Otherwise every client on this machine is
    accepted.
    """

    def __init__(
        self,
        folder: Path,
        port: int | None = None,
        certificates: Certificates | None = None,
        workers: Path | None = None,
    ) -> None:
        self.port = free_port() if port is None else port
        self.workers_port = self.port if certificates is None else free_port()
        self.folder = folder
        self._certificates, self._workers = certificates, workers

    def start(self) -> None:
        """Start the broker and wait until it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "mosquitto.conf"
        config.write_text(self._configuration(), "utf-8")
        with (self.folder / "mosquitto.log").open("ab") as log:
            self._process = start_child(
                [_find_program("mosquitto", ["/usr/sbin"]), "-c", str(config)], log
            )
        ports = self.port, self.workers_port
        self._wait_for(lambda: all(map(is_listening, ports)), self.folder / "mosquitto.log")

    @property
    def pid(self) -> int:
        """The running broker's process id."""
        if self._process is None:
            raise FleetError("the broker does not run")
        return self._process.pid

    def _configuration(self) -> str:
        limits = packaged("broker_limits.conf")
        general = MOSQUITTO_CONF.format(limits=limits, user=_account())
        if self._certificates is None:
            return general + OPEN_LISTENER.format(port=self.port)
        acl = self.folder / "broker_acl"
        acl.write_text(packaged("broker_acl"), "utf-8")
        acl.chmod(0o600)
        pem = self._certificates
        listeners = packaged("broker_listeners.conf")
        for installed, here in (
            (f"listener {DEVICES_PORT}", f"listener {self.port} 127.0.0.1"),
            (f"listener {WORKERS_PORT}", f"listener {self.workers_port} 127.0.0.1"),
            ("/etc/tcuq/broker_acl", str(acl)),
            ("/etc/tcuq/certificates/ca.pem", str(pem.ca)),
            ("/etc/tcuq/certificates/workers.pem", str(self._workers)),
            ("/etc/tcuq/certificates/broker.pem", str(pem.certificate)),
            ("/etc/tcuq/certificates/broker.key", str(pem.key)),
        ):
            listeners = listeners.replace(installed, here)
        return general + listeners


def packaged(name: str) -> str:
    """Return the text of a file of this package."""
    return (files("tcuq_fleet") / name).read_text("utf-8")


def _account() -> str:
    """Return the current user's name: the broker keeps it, so that it can read our files."""
    return pwd.getpwuid(os.geteuid()).pw_name


def is_listening(port: int) -> bool:
    """Return whether a server on this machine listens on the port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def postgresql_program(name: str) -> str:
    """Return the path of the newest installed PostgreSQL's program; Debian's are not in PATH."""
    versions = sorted(
        Path(DEBIAN_POSTGRESQL).glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True
    )
    return _find_program(name, [str(path) for path in versions])


def _find_program(program: str, folders: list[str]) -> str:
    path = shutil.which(program, path=os.pathsep.join([*folders, os.environ.get("PATH", "")]))
    if path is None:
        package = "mosquitto" if program == "mosquitto" else "postgresql"
        raise FleetError(f"{program} is not installed: on Debian run  apt install {package}")
    return path
