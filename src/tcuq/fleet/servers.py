# SPDX-License-Identifier: Apache-2.0
"""Run PostgreSQL and mosquitto on loopback ports of this machine; stop them by pid."""

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

START_TIMEOUT_S = 60
DEBIAN_POSTGRESQL = "/usr/lib/postgresql"
# fsync stays on: an acknowledgement promises a durable commit. A small WAL keeps recovery short.
POSTGRESQL_CONF = """
listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = ''
shared_buffers = {memory}
max_wal_size = 2GB
checkpoint_timeout = 15min
wal_compression = lz4
"""
# Workers limit unacknowledged messages by their receive maximum. Nothing persists over a restart:
# devices resend what was not stored.
MOSQUITTO_CONF = """
max_inflight_messages 0
max_queued_messages 100000
max_packet_size 131072
persistence false
user {user}
listener {port} {host}
"""
ALLOW_ANONYMOUS = "allow_anonymous true\n"
# The certificate's common name is the user: a device's 16 digits, a gateway's name, or `ingest`.
MUTUAL_TLS_CONF = """
cafile {ca}
certfile {certificate}
keyfile {key}
require_certificate true
use_identity_as_username true
allow_anonymous false
acl_file {acl}
"""


def free_port() -> int:
    """Return a port of this machine on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Postgres:
    """A private PostgreSQL server whose data stay in a folder.

    Parameters
    ----------
    folder
        Created if it does not exist.
    port
        Default: a free one.
    memory
        PostgreSQL's shared buffers; best large enough for all of `devices`, 300 bytes per row.
    """

    def __init__(self, folder: Path, port: int | None = None, memory: str = "512MB") -> None:
        self.folder, self._memory = folder, memory
        self.port = free_port() if port is None else port
        self.url = f"postgresql://tcuq@127.0.0.1:{self.port}/fleet"
        self._data = folder / "postgresql"
        self._account = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root

    def start(self) -> None:
        """Start the server; create the database the first time."""
        fresh = not self._data.exists()
        if fresh:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._data.mkdir(mode=0o700)
            if self._account:
                shutil.chown(self._data, self._account, self._account)
            self._run("initdb", "-A", "trust", "-U", "tcuq", "-E", "UTF8", "--no-sync")
        # Rewritten at each start, because port and memory may change.
        settings = self._data / "postgresql.auto.conf"
        settings.write_text(POSTGRESQL_CONF.format(port=self.port, memory=self._memory), "utf-8")
        self._run(
            "pg_ctl", "-w", "-t", str(START_TIMEOUT_S), "-l", str(self._data / "log"), "start"
        )
        if fresh:
            self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "tcuq", "fleet")

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: `fast` ends connections, `immediate` simulates a crash."""
        self._run("pg_ctl", "-w", "-m", mode, "stop")

    def _run(self, name: str, *arguments: str) -> None:
        account = pwd.getpwnam(self._account) if self._account else None
        result = subprocess.run(
            [postgresql_program(name), *arguments],
            env={**os.environ, "PGDATA": str(self._data)},
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if result.returncode:
            raise FleetError(f"{name} failed in {self._data}: see the log there")


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: the trusted CA, a certificate and its key."""

    ca: Path
    certificate: Path
    key: Path


class Broker:
    """A private mosquitto broker.

    Parameters
    ----------
    folder
        For its configuration and log.
    port
        Default: a free one.
    certificates
        If given, clients must present a certificate of the same CA and may publish only under its
        common name; otherwise every client on this machine is accepted.
    """

    def __init__(
        self, folder: Path, port: int | None = None, certificates: Certificates | None = None
    ) -> None:
        self.port = free_port() if port is None else port
        self.folder = folder
        self._certificates = certificates
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the broker and wait until it listens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "mosquitto.conf"
        config.write_text(self._configuration(), "utf-8")
        with (self.folder / "mosquitto.log").open("ab") as log:
            self._process = subprocess.Popen(
                [_find_program("mosquitto", ["/usr/sbin"]), "-c", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + START_TIMEOUT_S
        while not is_listening(self.port):
            if self._process.poll() is not None or time.monotonic() > end:
                raise FleetError(f"mosquitto did not start: see {self.folder / 'mosquitto.log'}")
            time.sleep(0.05)

    def _configuration(self) -> str:
        listener = MOSQUITTO_CONF.format(port=self.port, host="127.0.0.1", user=_account())
        if self._certificates is None:
            return listener + ALLOW_ANONYMOUS
        acl = self.folder / "acl"
        acl.write_text((files("tcuq.fleet") / "acl").read_text("utf-8"), "utf-8")
        acl.chmod(0o600)
        pem = self._certificates
        return listener + MUTUAL_TLS_CONF.format(
            ca=pem.ca, certificate=pem.certificate, key=pem.key, acl=acl
        )

    def stop(self, signal_number: signal.Signals = signal.SIGTERM) -> None:
        """Stop the broker; SIGKILL simulates a crash."""
        if self._process is not None:
            self._process.send_signal(signal_number)
            self._process.wait()
            self._process = None


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
