# SPDX-License-Identifier: Apache-2.0
"""Connections to PostgreSQL: every timeout of every process, and which errors are worth a retry.

Three limits guard a statement, because each misses a case: `statement_timeout` is the server's own;
keepalives and `tcp_user_timeout` notice a dead host or network; `time_limit` ends the connection
from this side when the server's process hangs. Workers have no `statement_timeout`: it would end
COMMIT's wait for a synchronous standby with a success (docs/decisions/0031-connections.md).
"""

import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import Connection, errors
from psycopg.conninfo import conninfo_to_dict

from tcuq_fleet.errors import FleetError

CONNECT_S = 5
WATCH_S = 0.1  # between two looks at the time limits
KEEPALIVES = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}


class DatabaseUnavailableError(FleetError):
    """The database is away, hangs, is read-only or lacks tables or rights: worth a retry."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a connection is for."""

    name: str  # shown as `application_name` in `pg_stat_activity`
    limit_s: float  # after which this side ends the connection
    statement_s: float = 0  # after which the server ends a statement; 0: never
    writes: bool = True  # a read-only standby is refused, and the URL's next host is tried


INGEST = Use("tcuq-ingest", 20)
JUDGE = Use("tcuq-judge", 1805, 1800)
NOTIFY = Use("tcuq-notify", 35, 30)
PROBE = Use("tcuq-probe", 5)
SERVE = Use("tcuq-serve", 8, 3, writes=False)
MIGRATE = Use("tcuq-migrate", float("inf"))


def parameters(database: str, use: Use, *settings: str) -> dict[str, Any]:
    """Return libpq's parameters for a connection string; what the string itself says stays.

    `settings` are further settings of the session, such as `jit=off`.
    """
    try:
        parameters: dict[str, Any] = dict(conninfo_to_dict(database))
    except psycopg.ProgrammingError as error:
        raise FleetError(f"the database's URL: {first_line(error)}") from None
    session = [
        f"statement_timeout={int(1000 * use.statement_s)}",
        "idle_in_transaction_session_timeout=60000",
        "client_connection_check_interval=5000",  # else a statement outlives its client
        *settings,
    ]
    options = " ".join(f"-c {setting}" for setting in session)
    return {
        **KEEPALIVES,
        "application_name": use.name,
        "target_session_attrs": "read-write" if use.writes else "any",
        **parameters,
        "options": f"{options} {parameters.get('options', '')}".strip(),
    }


def connect(database: str, use: Use) -> Connection[Any]:
    """Connect in autocommit mode, or raise `DatabaseUnavailableError`."""
    with database_errors():
        return psycopg.connect(autocommit=True, **parameters(database, use))


@contextmanager
def connected(database: str, use: Use) -> Iterator[Connection[Any]]:
    """Connect for one task, which ends within the limit of its use."""
    with (
        connect(database, use) as connection,
        database_errors(),
        time_limit(connection, use.limit_s),
    ):
        yield connection


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn errors that time or an operator can mend into one line: `DatabaseUnavailableError`."""
    try:
        yield
    except (
        psycopg.OperationalError,  # away, ended, cancelled, out of resources
        psycopg.InternalError,  # read-only since a failover
        errors.InsufficientPrivilege,
        errors.UndefinedTable,
        errors.UndefinedColumn,
    ) as error:
        raise DatabaseUnavailableError(f"the database: {first_line(error)}") from None


@contextmanager
def time_limit(connection: Connection[Any], limit_s: float) -> Iterator[None]:
    """End the connection if the block takes longer.

    A server process that is stopped or stuck keeps its socket open and never times out by itself.
    """
    with socket.socket(fileno=os.dup(connection.fileno())) as peer:
        _watchdog.add(peer, time.monotonic() + limit_s)
        try:
            yield
        finally:
            _watchdog.remove(peer)


class _Watchdog:
    """One thread that ends every connection whose time is over.

    A timer per use would start a thread each time, which takes milliseconds while others are busy.
    """

    def __init__(self) -> None:
        self._ends: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, peer: socket.socket, end_s: float) -> None:
        """Shut this socket down at a time of the monotonic clock, or up to `WATCH_S` later."""
        with self._lock:
            self._ends[peer] = end_s
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="time limits")
                self._thread.start()

    def remove(self, peer: socket.socket) -> None:
        """Leave this socket alone from now on."""
        with self._lock:
            self._ends.pop(peer, None)

    def _run(self) -> None:
        while True:
            time.sleep(WATCH_S)
            now = time.monotonic()
            with self._lock:
                for peer in [peer for peer, end_s in self._ends.items() if end_s <= now]:
                    with suppress(OSError):  # it is closed already
                        peer.shutdown(socket.SHUT_RDWR)
                    del self._ends[peer]


_watchdog = _Watchdog()


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, for a log."""
    return (str(error).strip().split("\n") or [""])[0]


def next_backoff_s(delay_s: float, first_s: float, longest_s: float) -> float:
    """Exponential backoff with jitter: return the wait that follows a wait of `delay_s`."""
    return min(longest_s, max(first_s, delay_s * 2)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter
