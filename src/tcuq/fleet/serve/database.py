# SPDX-License-Identifier: Apache-2.0
"""The dashboard's way to the database: read-only, short, a snapshot a page, every query timed."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar, cast

from tcuq.errors import MissingExtraError

if TYPE_CHECKING:
    from psycopg import Connection

Made = TypeVar("Made")
Observed = Callable[[str, float], None]

CONNECTIONS = 4
STATEMENT_MS = 3000
WAIT_S = 1.5
KEPT = 64


class Session:
    """A snapshot of the fleet, for one page."""

    def __init__(self, connection: "Connection[Any]", reader: "Reader") -> None:
        self._connection, self._reader = connection, reader

    def rows(
        self, kind: type[Made], name: str, query: LiteralString, values: Mapping[str, object]
    ) -> list[Made]:
        """Rows of a query, each as the dataclass that has its columns; the name is the metrics'."""
        from psycopg.rows import class_row

        started = time.perf_counter()
        with self._connection.cursor(row_factory=class_row(kind)) as cursor:
            found = cursor.execute(query, values).fetchall()
        self._reader.observed(name, time.perf_counter() - started)
        return found

    def row(
        self, kind: type[Made], name: str, query: LiteralString, values: Mapping[str, object]
    ) -> Made | None:
        """The first row, or None."""
        return next(iter(self.rows(kind, name, query, values)), None)

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What a judgement said never changes: asked for once, then remembered."""
        return self._reader.kept(key, make)


class Reader:
    """A few read-only connections.

    Parameters
    ----------
    database
        As libpq names it.
    observed
        Called with each query's name and seconds.
    """

    def __init__(self, database: str, observed: Observed) -> None:
        try:
            from psycopg_pool import ConnectionPool
        except ImportError:
            raise MissingExtraError("psycopg", "fleet") from None
        options = (
            f"-c default_transaction_read_only=on -c statement_timeout={STATEMENT_MS}"
            " -c jit=off"  # compiling takes longer than it saves
        )
        self.observed = observed
        self._pool: ConnectionPool[Connection[Any]] = ConnectionPool(
            database,
            kwargs={"options": options, "connect_timeout": 5},
            min_size=1,
            max_size=CONNECTIONS,
            max_waiting=32,
            timeout=WAIT_S,
            configure=_configure,
            check=ConnectionPool.check_connection,
            open=False,
        )
        self._kept: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = Lock()

    def open(self) -> None:
        """Connect, now or later: a database that is away may come back."""
        self._pool.open(wait=False)

    def close(self) -> None:
        """Let go of all connections."""
        self._pool.close()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """One snapshot, given back at the end."""
        with self._pool.connection() as connection:
            yield Session(connection, self)

    def kept(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The value made for this key, made again only if it was forgotten."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast("Made", self._kept[key])
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made


def _configure(connection: "Connection[Any]") -> None:
    from psycopg import IsolationLevel

    connection.read_only = True
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
