# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL and mosquitto for this machine alone, on loopback ports, stopped by pid."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from tcuq.errors import FleetError

START_S = 60
DEBIAN_POSTGRESQL = "/usr/lib/postgresql"
# fsync stays on: devices are told "stored" after a commit. WAL stays small: redo takes its time.
POSTGRESQL = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
shared_buffers = {memory}
max_wal_size = 2GB
checkpoint_timeout = 15min
wal_compression = lz4
"""
# How much may wait for an acknowledgement is the workers' to say. Nothing outlives a restart: the
# devices send again what was not stored.
MOSQUITTO = """
max_inflight_messages 0
max_queued_messages 100000
max_packet_size 131072
persistence false
user {user}
listener {port} {host}
"""
ANYONE = "allow_anonymous true\n"
# The certificate's common name is the user: a device's 16 digits, a gateway's name, or `ingest`.
CERTIFIED = """
cafile {ca}
certfile {certificate}
keyfile {key}
require_certificate true
use_identity_as_username true
allow_anonymous false
acl_file {acl}
"""


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Postgres:
    """A PostgreSQL of our own in a folder; what it holds stays there.

    Parameters
    ----------
    folder
        Made if it is not there.
    port
        Default: a free one.
    memory
        What it keeps of its tables: best all of `devices`, 300 bytes each.
    """

    def __init__(self, folder: Path, port: int | None = None, memory: str = "512MB") -> None:
        self.folder, self._memory = folder, memory
        self.port = free_port() if port is None else port
        self.url = f"postgresql://tcuq@127.0.0.1:{self.port}/fleet"
        self._data = folder / "postgresql"
        self._account = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root

    def start(self) -> None:
        """Start it; makes the database the first time."""
        fresh = not self._data.exists()
        if fresh:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._data.mkdir(mode=0o700)
            if self._account:
                shutil.chown(self._data, self._account, self._account)
            self._run("initdb", "-A", "trust", "-U", "tcuq", "-E", "UTF8", "--no-sync")
        # Settings may change from start to start; the last one of a name counts.
        settings = self._data / "postgresql.auto.conf"
        settings.write_text(POSTGRESQL.format(port=self.port, memory=self._memory), "utf-8")
        self._run("pg_ctl", "-w", "-t", str(START_S), "-l", str(self._data / "log"), "start")
        if fresh:
            self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "tcuq", "fleet")

    def stop(self, how: str = "fast") -> None:
        """Stop it: `fast` ends connections, `immediate` is as a crash."""
        self._run("pg_ctl", "-w", "-m", how, "stop")

    def _run(self, name: str, *arguments: str) -> None:
        account = pwd.getpwnam(self._account) if self._account else None
        done = subprocess.run(
            [program(name), *arguments],
            env={**os.environ, "PGDATA": str(self._data)},
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            raise FleetError(f"{name} failed in {self._data}: see the log there")


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: who is trusted, who we are, and our key."""

    ca: Path
    certificate: Path
    key: Path


class Broker:
    """A mosquitto of our own.

    Parameters
    ----------
    folder
        For its configuration and log.
    port
        Default: a free one.
    certificates
        With them clients must have one of the same authority, and speak only for its name;
        without, it takes anyone on this machine.
    """

    def __init__(
        self, folder: Path, port: int | None = None, certificates: Certificates | None = None
    ) -> None:
        self.port = free_port() if port is None else port
        self.folder = folder
        self._certificates = certificates
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "mosquitto.conf"
        config.write_text(self._configuration(), "utf-8")
        with (self.folder / "mosquitto.log").open("ab") as log:
            self._process = subprocess.Popen(
                [_found("mosquitto", ["/usr/sbin"]), "-c", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + START_S
        while not listens(self.port):
            if self._process.poll() is not None or time.monotonic() > end:
                raise FleetError(f"mosquitto does not start: see {self.folder / 'mosquitto.log'}")
            time.sleep(0.05)

    def _configuration(self) -> str:
        listener = MOSQUITTO.format(port=self.port, host="127.0.0.1", user=_account())
        if self._certificates is None:
            return listener + ANYONE
        acl = self.folder / "acl"
        acl.write_text((files("tcuq.fleet") / "acl").read_text("utf-8"), "utf-8")
        acl.chmod(0o600)
        given = self._certificates
        return listener + CERTIFIED.format(
            ca=given.ca, certificate=given.certificate, key=given.key, acl=acl
        )

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it; SIGKILL is as a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None


def _account() -> str:
    """Who we are: the broker reads our files, and must not turn into somebody who cannot."""
    return pwd.getpwuid(os.geteuid()).pw_name


def listens(port: int) -> bool:
    """Whether somebody on this machine listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def program(name: str) -> str:
    """Where a program of PostgreSQL is, the newest installed: Debian keeps them out of the path."""
    versions = sorted(
        Path(DEBIAN_POSTGRESQL).glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True
    )
    return _found(name, [str(path) for path in versions])


def _found(program: str, places: list[str]) -> str:
    path = shutil.which(program, path=os.pathsep.join([*places, os.environ.get("PATH", "")]))
    if path is None:
        package = "mosquitto" if program == "mosquitto" else "postgresql"
        raise FleetError(f"{program} is not installed: on Debian run  apt install {package}")
    return path
