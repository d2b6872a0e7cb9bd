# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL servers that replicate: a standby, its promotion, and a copy of the write-ahead log.

Every step runs the command that docs/fleet/operate.md gives to operators.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from tcuq.fleet.child import start_child
from tcuq.fleet.servers import Postgres, postgresql_program

SYNCHRONOUS = """
wal_level = replica
hot_standby = on
max_wal_senders = 5
synchronous_commit = on
synchronous_standby_names = '*'
"""
WAIT_S = 120.0
ACCOUNT = "postgres" if os.geteuid() == 0 else None


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, with a limit."""
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("a server did not reach its state in time")
        time.sleep(0.1)


def postmaster(server: Postgres) -> int:
    """The process id of a server."""
    return int((server.data / "postmaster.pid").read_text("utf-8").split("\n")[0])


def kill(server: Postgres) -> None:
    """End a server by SIGKILL, as a failing machine would; its data are not used again."""
    os.kill(postmaster(server), signal.SIGKILL)
    server.stop("immediate")

    def removed() -> bool:
        shutil.rmtree(server.data, ignore_errors=True)  # its processes are ending
        return not server.data.exists()

    wait_until(removed)


def private_folder(path: Path) -> None:
    """Create a folder for PostgreSQL's account alone."""
    path.mkdir(mode=0o700, parents=True)
    if ACCOUNT:
        shutil.chown(path, ACCOUNT, ACCOUNT)


def base_backup(source: Postgres, server: Postgres) -> None:
    """Copy a running server's data into another server's folder."""
    private_folder(server.data)
    server.run(
        "pg_basebackup", "-h", str(source.data), "-U", "tcuq", "-D", str(server.data),
        "-X", "stream", "-c", "fast",
    )  # fmt: skip
    (server.data / ".s.PGSQL.5432.lock").unlink()  # of the source's socket, in the same folder


def signal_file(server: Postgres, name: str) -> None:
    """Create `standby.signal` or `recovery.signal`, which say how a server starts."""
    path = server.data / name
    path.touch()
    if ACCOUNT:
        shutil.chown(path, ACCOUNT, ACCOUNT)


def start_standby(primary: Postgres, standby: Postgres) -> None:
    """Make a new standby of a primary and wait until it takes part in commits."""
    base_backup(primary, standby)
    standby.settings = SYNCHRONOUS + f"primary_conninfo = 'host={primary.data} user=tcuq'\n"
    signal_file(standby, "standby.signal")
    standby.launch()
    wait_until(lambda: synchronous(primary) > 0)


def promote(standby: Postgres) -> None:
    """Make a standby the primary."""
    standby.run("pg_ctl", "promote", "-w", "-D", str(standby.data))


def synchronous(primary: Postgres) -> int:
    """How many receivers a commit waits for."""
    with psycopg.connect(primary.url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"
        ).fetchone()
    return int(row[0]) if row else 0


class LogReceiver:
    """A copy of a server's write-ahead log in a folder; a commit waits until it is written."""

    def __init__(self, server: Postgres, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        private_folder(folder)
        with (folder.parent / "receivewal.log").open("ab") as log:
            self._process = start_child(
                [
                    postgresql_program("pg_receivewal"), "-h", str(server.data), "-U", "tcuq",
                    "-D", str(folder), "--synchronous", "--no-loop",
                ],
                log,
                account=ACCOUNT,
            )  # fmt: skip
        wait_until(lambda: synchronous(server) > 0)

    def stop(self) -> None:
        """Stop receiving."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def restore(backup: Path, log: Path, server: Postgres) -> None:
    """Start a server from a base backup and the received log, to the log's last byte."""
    for partial in log.glob("*.partial"):
        partial.rename(partial.with_suffix(""))
    subprocess.run(["cp", "--archive", str(backup), str(server.data)], check=True)
    server.settings = SYNCHRONOUS + f"restore_command = 'cp {log}/%f %p'\n"
    signal_file(server, "recovery.signal")
    server.launch()
    wait_until(lambda: not in_recovery(server))


def in_recovery(server: Postgres) -> bool:
    """Whether a server still replays its log."""
    with psycopg.connect(server.url) as connection:
        row = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    return bool(row and row[0])
