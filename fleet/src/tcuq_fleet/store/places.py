# SPDX-License-Identifier: Apache-2.0
"""Places: which of several databases holds a device, by a hash of its id.

The database of place p of n holds the devices whose hash modulo n is p, and n is a power of two: to
go from n to 2 n, half of the devices of place p move to place p + n. The first database also holds
what has no device: alarms of groups, and the scores that changes are ranked among.

Each database knows its place, and each transaction of a worker checks it under a lock that a
resharding takes: a worker with another list of databases stores nothing.
"""

from collections.abc import Sequence
from typing import Any, LiteralString, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection, Cursor

from tcuq.errors import InputError
from tcuq_fleet.store.connection import DatabaseUnavailableError

MAX_DATABASES = 64
LOCK = 0x74637573  # advisory: workers share it, a resharding has it alone
JUDGING = 0x6A756467  # advisory: one judge at a time, in the first database
_LOW, _HIGH = np.uint64(668265263), np.uint64(374761393)
# The same in SQL: both factors are below 2^30, so that no product or sum overflows.
HASH: LiteralString = """
(((device & 4294967295) * 668265263 + ((device >> 32) & 4294967295) * 374761393) >> 32)
"""
GUARD: LiteralString = (
    f"SELECT pg_advisory_xact_lock_shared({LOCK}); SELECT place, databases FROM place"  # noqa: S608
)
_ASSIGN: LiteralString = "UPDATE place SET place = %s, databases = %s"


class Place(NamedTuple):
    """Which devices a database holds."""

    place: int = 0
    databases: int = 1

    def __str__(self) -> str:
        return f"{self.place + 1} of {self.databases}"


ALONE = Place()


def place_of(devices: NDArray[np.uint64], databases: int) -> NDArray[np.intp]:
    """Return the place of each device.

    Examples
    --------
    >>> place_of(np.array([161, 162, 163], np.uint64), 2).tolist()
    [1, 1, 1]
    """
    low, high = devices & np.uint64(2**32 - 1), devices >> np.uint64(32)
    hashed = (low * _LOW + high * _HIGH) >> np.uint64(32)
    return (hashed & np.uint64(databases - 1)).astype(np.intp)


def check_count(databases: Sequence[object]) -> None:
    """Refuse a number of databases that is not a power of two."""
    count = len(databases)
    if not 1 <= count <= MAX_DATABASES or count & (count - 1):
        raise InputError(
            f"the number of databases must be a power of two up to {MAX_DATABASES}, got {count}"
        )


def guard(cursor: Cursor[Any], place: Place) -> None:
    """Keep the place until the transaction's end; raise `DatabaseUnavailableError` if it differs.

    The place is read after the lock is there, in a snapshot of its own.
    """
    cursor.execute(GUARD)
    cursor.nextset()
    _compare(Place(*(cursor.fetchone() or ALONE)), place)


def check_place(connection: Connection[Any], place: Place, *, emptied: bool = False) -> None:
    """Raise `DatabaseUnavailableError` unless this is the place; `emptied`: and nothing moves."""
    stored, is_emptied = stored_place(connection)
    _compare(stored, place)
    if emptied and not is_emptied:
        raise DatabaseUnavailableError(
            f"database {place}: devices are being moved: end it by  tcuq fleet reshard"
        )


def stored_place(connection: Connection[Any]) -> tuple[Place, bool]:
    """Return a database's place, and whether no rows of other places are left or arrive."""
    ((place, databases, emptied),) = connection.execute(
        "SELECT place, databases, emptied FROM place"
    ).fetchall()
    return Place(place, databases), emptied


def _compare(stored: Place, place: Place) -> None:
    if stored != place:
        raise DatabaseUnavailableError(
            f"the database holds devices {stored}, not {place}: name all databases, in their order"
        )


def assign(connection: Connection[Any], place: Place) -> None:
    """Give an empty database its place; refuse one that holds devices of another."""
    stored, _ = stored_place(connection)
    if stored == place:
        return
    ((used,),) = connection.execute(
        "SELECT EXISTS (SELECT FROM devices) OR EXISTS (SELECT FROM registry)"
    ).fetchall()
    if used:
        raise InputError(
            f"a database with devices {stored} cannot hold devices {place}:"
            " name all databases in their order, or run  tcuq fleet reshard"
        )
    with connection.transaction():
        connection.execute(_ASSIGN, place)
        number_alarms(connection, place)


def number_alarms(connection: Connection[Any], place: Place) -> None:
    """Let the numbers of alarms begin where no other database's are, so that they never change."""
    first = (place.place << 40) + 1
    connection.execute(f"ALTER TABLE alarms ALTER alarm RESTART WITH {first}".encode())
