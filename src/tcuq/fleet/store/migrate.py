# SPDX-License-Identifier: Apache-2.0
"""The store's schema, brought up to date by numbered SQL files, each in its own transaction.

Written by hand: the known tool brings an object mapper that nothing here uses.
"""

from importlib.resources import files
from typing import TYPE_CHECKING

from tcuq.errors import FleetError

if TYPE_CHECKING:
    from psycopg import Connection

# Of the advisory lock: workers that start together migrate once.
LOCK = 0x74637571


def migrations() -> list[tuple[int, str]]:
    """Number and text of every migration, in order."""
    folder = files("tcuq.fleet.store") / "migrations"
    named = sorted((f.name, f) for f in folder.iterdir() if f.name.endswith(".sql"))
    return [(int(name.split("_")[0]), file.read_text("utf-8")) for name, file in named]


def migrate(connection: "Connection") -> int:
    """Bring a database up to date; returns the schema's version."""
    newest = 0
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version"
            " (version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())"
        )
        there = version(connection)
        for newest, text in migrations():
            if newest > there:
                with connection.transaction():
                    connection.execute(text.encode())
                    connection.execute("INSERT INTO schema_version VALUES (%s)", [newest])
        if there > newest:
            raise FleetError(
                f"the database has schema {there} and this tcuq knows {newest}: upgrade tcuq first"
            )
    return newest


def version(connection: "Connection") -> int:
    """The schema's version, 0 in an empty database."""
    row = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()
    return int(row[0]) if row else 0
