# SPDX-License-Identifier: Apache-2.0
"""Database access of the dashboard: read-only, timed, one snapshot per page."""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from operator import add
from typing import Any, LiteralString, TypeVar, cast

import numpy as np
from psycopg import Connection, IsolationLevel, OperationalError
from psycopg.rows import RowFactory, class_row, tuple_row
from psycopg_pool import ConnectionPool, PoolTimeout

from tcuq_fleet.store.connection import (
    SERVE,
    DatabaseUnavailableError,
    parameters,
    time_limit,
)
from tcuq_fleet.store.places import Place, check_count, place_of

T = TypeVar("T")
Observer = Callable[[str, float], None]

CONNECTIONS = 4
POOL_TIMEOUT_S = 1.5
CHECK_S = 1.0
AWAY_S = 5.0  # for which one of several databases is left out after it did not answer


class Session:
    """One snapshot of each database, for one page.

    Every query gets the parameter `owners`: the owners whose sites the viewer sees; None: all.
    Of several databases each has its own devices with their alarms and lists; judgements and
    groups are in all of them, and read from the first that answers.
    """

    def __init__(
        self,
        connections: Mapping[int, Connection[Any]],
        databases: int,
        observe: Observer,
        groups: frozenset[str] | None,
        threads: Executor,
    ) -> None:
        self._connections, self._databases, self._observe = connections, databases, observe
        self._threads = threads
        self._first = next(iter(connections.values()))
        self._cache: dict[Hashable, object] = {}
        self._groups = groups
        self.owners: list[int] | None = None
        if groups is not None:
            names = self._first.execute(
                "SELECT owner FROM owners WHERE name = ANY(%s) ORDER BY owner", [sorted(groups)]
            )
            self.owners = [owner for (owner,) in names]

    @property
    def sees_all(self) -> bool:
        """Whether no site is hidden."""
        return self.owners is None

    @property
    def away(self) -> list[Place]:
        """The databases that do not answer."""
        missing = (at for at in range(self._databases) if at not in self._connections)
        return [Place(at, self._databases) for at in missing]

    def of(self, device: int) -> "Session":
        """Return a session on the database of a device, whose id is signed."""
        if self._databases == 1:
            return self
        number = np.array([device], np.int64).view(np.uint64)
        (at,) = place_of(number, self._databases).tolist()
        if at not in self._connections:
            place = Place(at, self._databases)
            raise DatabaseUnavailableError(f"Database {place}, of this device, does not answer.")
        alone = {at: self._connections[at]}
        return Session(alone, self._databases, self._observe, self._groups, self._threads)

    def rows(
        self, kind: type[T], name: str, query: LiteralString, values: Mapping[str, object]
    ) -> list[T]:
        """Return a query's rows as objects; `name` labels its duration in the metrics."""
        return self._fetch(self._first, class_row(kind), name, query, values)

    def row(
        self, kind: type[T], name: str, query: LiteralString, values: Mapping[str, object]
    ) -> T | None:
        """Return the first row, or None."""
        return next(iter(self.rows(kind, name, query, values)), None)

    def tuples(
        self, name: str, query: LiteralString, values: Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        """Return a query's rows as tuples."""
        return self._fetch(self._first, tuple_row, name, query, values)

    def of_all(
        self, name: str, query: LiteralString, values: Mapping[str, object]
    ) -> list[tuple[Any, ...]]:
        """Return a query's rows of all databases as tuples."""
        return [row for rows in self._fetch_each(tuple_row, name, query, values) for row in rows]

    def sums(
        self, name: str, query: LiteralString, values: Mapping[str, object], keys: int
    ) -> list[tuple[Any, ...]]:
        """Return a query's rows, added over the databases: `keys` columns, then numbers."""
        sums: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for row in self.of_all(name, query, values):
            key, numbers = row[:keys], row[keys:]
            before = sums.get(key)
            sums[key] = numbers if before is None else tuple(map(add, before, numbers))
        return [(*key, *numbers) for key, numbers in sums.items()]

    def page(
        self,
        kind: type[T],
        name: str,
        query: LiteralString,
        values: Mapping[str, object],
        order: Callable[[T], Any],
    ) -> list[T]:
        """Return a page of a list: rows from `offset` on, at most `limit`, in their order.

        `order` is the query's own order, by which the lists of several databases are merged.
        """
        if len(self._connections) == 1:
            return self.rows(kind, name, query, values)
        limit, offset = cast("int", values["limit"]), cast("int", values.get("offset", 0))
        whole = {**values, "limit": offset + limit, "offset": 0}
        lists = self._fetch_each(class_row(kind), name, query, whole)
        return sorted((row for rows in lists for row in rows), key=order)[offset : offset + limit]

    def _fetch_each(
        self,
        factory: RowFactory[T],
        name: str,
        query: LiteralString,
        values: Mapping[str, object],
    ) -> Iterable[list[T]]:
        """Return the rows of each database, all asked at the same time."""
        every = list(self._connections.values())
        if len(every) == 1:
            return [self._fetch(self._first, factory, name, query, values)]
        return self._threads.map(lambda one: self._fetch(one, factory, name, query, values), every)

    def _fetch(
        self,
        connection: Connection[Any],
        factory: RowFactory[T],
        name: str,
        query: LiteralString,
        values: Mapping[str, object],
    ) -> list[T]:
        started = time.perf_counter()
        with connection.cursor(row_factory=factory) as cursor:
            rows = cursor.execute(query, {**values, "owners": self.owners}).fetchall()
        self._observe(name, time.perf_counter() - started)
        return rows

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the value of a key, computed at most once for the page."""
        if key not in self._cache:
            self._cache[key] = compute()
        return cast("T", self._cache[key])


class Reader:
    """A pool of read-only connections; `observe` is called with each query's name and seconds.

    Several databases have a pool each; one that is away is left out for a few seconds.
    """

    def __init__(self, databases: str | Sequence[str], observe: Observer) -> None:
        urls = [databases] if isinstance(databases, str) else databases
        check_count(urls)
        self._observe = observe
        self._pools = [_pool(url) for url in urls]
        self._away_until = [0.0] * len(urls)
        self._threads = ThreadPoolExecutor(CONNECTIONS * len(urls))

    def open(self) -> None:
        """Start connecting; a database that is away now may come back."""
        for pool in self._pools:
            pool.open(wait=False)

    def close(self) -> None:
        """Close all connections."""
        for pool in self._pools:
            pool.close()
        self._threads.shutdown()

    @contextmanager
    def session(self, groups: frozenset[str] | None = None) -> Iterator[Session]:
        """Open a session on one snapshot of these owners' sites (None: all)."""
        with ExitStack() as stack:
            connections = dict(self._present(stack))
            yield Session(connections, len(self._pools), self._observe, groups, self._threads)

    def _present(self, stack: ExitStack) -> Iterator[tuple[int, Connection[Any]]]:
        """Yield a connection to each database that answers; raise if none does."""
        alone, present = len(self._pools) == 1, 0
        for at, pool in enumerate(self._pools):
            last = at == len(self._pools) - 1
            if time.monotonic() < self._away_until[at] and not (last and not present):
                continue
            try:
                connection = stack.enter_context(pool.connection())
            except (OperationalError, PoolTimeout):
                if alone or (last and not present):
                    raise
                self._away_until[at] = time.monotonic() + AWAY_S
                continue
            stack.enter_context(time_limit(connection, SERVE.limit_s))
            present += 1
            yield at, connection


def _pool(database: str) -> "ConnectionPool[Connection[Any]]":
    # Compiling a query takes longer than it saves.
    settings = parameters(database, SERVE, "default_transaction_read_only=on", "jit=off")
    return ConnectionPool(
        kwargs=settings,
        min_size=1,
        max_size=CONNECTIONS,
        max_waiting=32,
        timeout=POOL_TIMEOUT_S,
        configure=_configure,
        check=_check,
        open=False,
    )


def _check(connection: Connection[Any]) -> None:
    """Raise if a pooled connection does not answer; the pool then opens another one."""
    with time_limit(connection, CHECK_S):
        ConnectionPool.check_connection(connection)


def _configure(connection: Connection[Any]) -> None:
    connection.read_only = True
    connection.isolation_level = IsolationLevel.REPEATABLE_READ
