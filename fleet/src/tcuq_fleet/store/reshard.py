# SPDX-License-Identifier: Apache-2.0
"""Reshard: from n databases to 2 n, while workers go on storing records.

Half of the devices of place p move to a new database of place p + n. They are copied first, which
may take long. Then the old database is switched under the lock that workers share: what was stored
since is copied, and the place changes. From then on workers with the old list are refused, and
those with the new list accepted; devices keep their records meanwhile. Last, the moved rows are
deleted. Sums of cohorts stay where they are, since sums of all databases add up.

The old database is committed before the new one, so that at no time two databases accept records of
a device. What was interrupted is continued by the same call.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Connection, sql

from tcuq.errors import InputError
from tcuq_fleet.store.connection import MIGRATE, connect, database_errors
from tcuq_fleet.store.directory import copy_directory
from tcuq_fleet.store.migrate import migrate
from tcuq_fleet.store.places import (
    HASH,
    JUDGING,
    LOCK,
    Place,
    check_count,
    number_alarms,
    stored_place,
)

# A worker's transaction begins, and so sets its time, at most this long before it stores.
MARGIN_S = 60
COPIED: tuple[LiteralString, ...] = ("devices", "changes", "epochs")  # while workers go on
SWITCHED: tuple[LiteralString, ...] = ("registry", "quarantine", "alarms")  # while they wait
LISTS: tuple[LiteralString, ...] = ("suspects", "changed", "least_accurate")  # of one judgement
NEWER: dict[str, LiteralString] = {
    "devices": "last_seen >= %(since)s OR device IN"
    " (SELECT registry.device FROM registry WHERE changed >= %(since)s)",
    "epochs": "stored >= %(since)s",
}
_COLUMNS: LiteralString = """
SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0
    AND NOT attisdropped AND attgenerated = '' ORDER BY attnum
"""

log = logging.getLogger("tcuq_fleet.store.reshard")


@dataclass(frozen=True, slots=True)
class Resharding:
    """What a resharding did."""

    moved: int  # devices
    paused_s: float  # for which the slowest database took no records


def reshard(old: Sequence[str], new: Sequence[str]) -> Resharding:
    """Move half of the devices of each old database to a new one; the new list is both."""
    if len(old) != len(new):
        raise InputError(f"{len(old)} databases need as many new ones, got {len(new)}")
    check_count([*old, *new])
    with ExitStack() as stack, database_errors():
        before = [stack.enter_context(_open(url)) for url in old]
        after = [stack.enter_context(_open(url)) for url in new]
        before[0].execute("SELECT pg_advisory_lock(%s)", [JUDGING])  # no judgement meanwhile
        splits = [
            Split(a, b, Place(at, 2 * len(old)))
            for at, (a, b) in enumerate(zip(before, after, strict=True))
        ]
        for split in splits:
            split.prepare()
        copy_directory([before[0], *before[1:], *after])
        for split in splits:
            split.copy()
        paused_s = [split.switch(before[0]) for split in splits]
        log.info("switched: from now on name the old and the new databases, in this order")
        return Resharding(sum(split.empty() for split in splits), max(paused_s))


@contextmanager
def _open(url: str) -> Iterator[Connection[Any]]:
    with connect(url, MIGRATE) as connection:
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        yield connection


class Split:
    """One old database, of a place among the new number, and the one that takes half of it."""

    def __init__(self, old: Connection[Any], new: Connection[Any], place: Place) -> None:
        self._old, self._new, self._place = old, new, place
        half = place.databases // 2
        self._target = Place(place.place + half, place.databases)
        self._source = Place(place.place, half)
        self._moved = HASH + f" & {place.databases - 1} = {self._target.place}"
        self._since: object = None

    def prepare(self) -> None:
        """Check both places; create the new database's tables, or empty an unfinished copy."""
        migrate(self._old)
        migrate(self._new)
        (stored, _), (place, in_service) = stored_place(self._old), stored_place(self._new)
        if stored not in (self._source, self._place):
            raise InputError(f"a database holds devices {stored}, not {self._source}")
        if in_service and place == self._target:
            return
        ((used,),) = self._new.execute("SELECT EXISTS (SELECT FROM devices)").fetchall()
        if used and in_service:
            raise InputError("a new database must be empty, or left by an interrupted resharding")
        with self._new.transaction():
            self._new.execute("UPDATE place SET place = 0, databases = 1, emptied = false")
            for table in (*COPIED, *SWITCHED):
                self._new.execute(f"TRUNCATE {table}".encode())

    @property
    def _is_done(self) -> bool:
        return stored_place(self._new) == (self._target, True)

    def copy(self) -> None:
        """Copy the rows of the devices that move, as of a moment at which no worker stores."""
        if self._is_done:
            return
        with self._old.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
            with self._old.transaction():
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                cursor.execute("SELECT now() - %s * interval '1 s'", [MARGIN_S])
                (self._since,) = cursor.fetchone() or (None,)
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
                for table in COPIED:
                    self._copy(table, table, "true")

    def switch(self, first: Connection[Any]) -> float:
        """Copy what was stored since, and change both places; return the seconds of the pause.

        `first` is the database that gives sites their numbers.
        """
        if self._is_done:
            return 0.0
        began = time.perf_counter()
        with self._new.transaction(), self._old.transaction():  # the old one is committed first
            self._old.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            copy_directory([first, self._new])  # sites that were created since
            for table, newer in NEWER.items():
                self._replace(table, newer)
            for table in SWITCHED:
                self._copy(table, table, "true")
            self._copy_deliveries()
            self._old.execute(
                "UPDATE place SET databases = %s, emptied = false", [self._place.databases]
            )
            self._new.execute(
                "UPDATE place SET place = %s, databases = %s, emptied = true", self._target
            )
            number_alarms(self._new, self._target)
        return time.perf_counter() - began

    def empty(self) -> int:
        """Delete the moved rows from the old database; return the number of devices."""
        moved = 0
        with self._old.transaction():
            for table in (*COPIED, *SWITCHED, *LISTS):
                rows = self._old.execute(f"DELETE FROM {table} WHERE {self._moved}".encode())  # noqa: S608
                moved = rows.rowcount if table == "devices" else moved
            self._old.execute("UPDATE place SET emptied = true")
        self._old.execute("VACUUM devices")
        return moved

    def _replace(self, table: LiteralString, newer: LiteralString) -> None:
        """Replace the rows that changed since the copy."""
        name = f"newer_{table}"
        self._new.execute(f"CREATE TEMPORARY TABLE {name} (LIKE {table}) ON COMMIT DROP".encode())
        self._copy(table, name, newer)
        columns = ", ".join(self._columns(table))
        key = "device, boot, epoch, stored" if table == "epochs" else "device"
        statements = (
            f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {name})",  # noqa: S608
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {name}",  # noqa: S608
        )
        for statement in statements:
            self._new.execute(statement.encode())

    def _copy(self, table: LiteralString, target: str, newer: LiteralString) -> None:
        columns = ", ".join(self._columns(table))
        since = sql.Literal(self._since).as_string(self._old)
        where = f"{self._moved} AND ({newer.replace('%(since)s', since)})"
        source = f"COPY (SELECT {columns} FROM {table} WHERE {where}) TO STDOUT (FORMAT BINARY)"  # noqa: S608
        into = f"COPY {target} ({columns}) FROM STDIN (FORMAT BINARY)"
        with (
            self._old.cursor().copy(source.encode()) as rows,
            self._new.cursor().copy(into.encode()) as copied,
        ):
            for data in rows:
                copied.write(data)

    def _columns(self, table: str) -> list[str]:
        return [name for (name,) in self._old.execute(_COLUMNS, [table])]

    def _copy_deliveries(self) -> None:
        """Copy up to where receivers know the alarms."""
        self._new.execute("DELETE FROM deliveries")
        for row in self._old.execute("SELECT receiver, judged FROM deliveries"):
            self._new.execute("INSERT INTO deliveries VALUES (%s, %s)", row)
