# SPDX-License-Identifier: Apache-2.0
"""Database access of the dashboard: read-only, timed, one snapshot per page."""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, LiteralString, TypeVar, cast

from psycopg import Connection, IsolationLevel
from psycopg.rows import RowFactory, class_row, tuple_row
from psycopg_pool import ConnectionPool

from tcuq_fleet.store.connection import SERVE, parameters, time_limit

T = TypeVar("T")
Observer = Callable[[str, float], None]

CONNECTIONS = 4
POOL_TIMEOUT_S = 1.5
CHECK_S = 1.0


class Session:
    """One snapshot of the database, for one page.

    Every query gets the parameter `owners`: the owners whose sites the viewer sees; None: all.
    """

    def __init__(
        self, connection: Connection[Any], observe: Observer, groups: frozenset[str] | None
    ) -> None:
        self._connection, self._observe = connection, observe
        self._cache: dict[Hashable, object] = {}
        self.owners: list[int] | None = None
        if groups is not None:
            names = connection.execute(
                "SELECT owner FROM owners WHERE name = ANY(%s) ORDER BY owner", [sorted(groups)]
            )
            self.owners = [owner for (owner,) in names]

    @property
    def sees_all(self) -> bool:
        """Whether no site is hidden."""
        return self.owners is None

    def rows(
        self, kind: type[T], name: str, query: LiteralString, values: Mapping[str, object]
    ) -> list[T]:
        """Return a query's rows as objects; `name` labels its duration in the metrics."""
        return self._fetch(class_row(kind), name, query, values)

    def row(
        self, kind: type[T], name: str, query: LiteralString, values: Mapping[str, object]
    ) -> T | None:
        """Return the first row, or None."""
        return next(iter(self.rows(kind, name, query, values)), None)

    def tuples(
        self, name: str, query: LiteralString, values: Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        """Return a query's rows as tuples."""
        return self._fetch(tuple_row, name, query, values)

    def _fetch(
        self,
        factory: RowFactory[T],
        name: str,
        query: LiteralString,
        values: Mapping[str, object],
    ) -> list[T]:
        started = time.perf_counter()
        with self._connection.cursor(row_factory=factory) as cursor:
            rows = cursor.execute(query, {**values, "owners": self.owners}).fetchall()
        self._observe(name, time.perf_counter() - started)
        return rows

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value of a key, computed at most once for the page."""
        if key not in self._cache:
            self._cache[key] = compute()
        return cast("T", self._cache[key])


class Reader:
    """A pool of read-only connections; `observe` is called with each query's name and seconds."""

    def __init__(self, database: str, observe: Observer) -> None:
        # Compiling a query takes longer than it saves.
        settings = parameters(database, SERVE, "default_transaction_read_only=on", "jit=off")
        self._observe = observe
        self._pool: ConnectionPool[Connection[Any]] = ConnectionPool(
            kwargs=settings,
            min_size=1,
            max_size=CONNECTIONS,
            max_waiting=32,
            timeout=POOL_TIMEOUT_S,
            configure=_configure,
            check=_check,
            open=False,
        )

    def open(self) -> None:
        """Start connecting; a database that is away now may come back."""
        self._pool.open(wait=False)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @contextmanager
    def session(self, groups: frozenset[str] | None = None) -> Iterator[Session]:
        """Open a session on one snapshot of these owners' sites (None: all)."""
        with self._pool.connection() as connection, time_limit(connection, SERVE.limit_s):
            yield Session(connection, self._observe, groups)


def _check(connection: Connection[Any]) -> None:
    """Raise if a pooled connection does not answer; the pool then opens another one."""
    with time_limit(connection, CHECK_S):
        ConnectionPool.check_connection(connection)


def _configure(connection: Connection[Any]) -> None:
    connection.read_only = True
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
