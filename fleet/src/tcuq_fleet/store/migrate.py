# SPDX-License-Identifier: Apache-2.0
"""Migrate the store's schema by numbered SQL files, each in its own transaction.

Only the owner of the tables migrates, as a step of its own; other processes check the version.

This is written by hand because Alembic would add an object-relational mapper that nothing uses.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from psycopg import Connection

from tcuq_fleet.errors import FleetError
from tcuq_fleet.store.connection import DatabaseUnavailableError

ROLES = ("tcuq_owner", "tcuq_ingest", "tcuq_judge", "tcuq_serve")
LOCK = 0x74637571  # advisory lock: of two migrations that start together one waits


@cache
def migrations() -> list[tuple[int, str]]:
    """Return number and text of every migration, in order."""
    folder = files("tcuq_fleet.store") / "migrations"
    named = sorted((f.name, f) for f in folder.iterdir() if f.name.endswith(".sql"))
    return [(int(name.split("_")[0]), file.read_text("utf-8")) for name, file in named]


def migrate(connection: Connection[Any]) -> int:
    """Apply missing migrations; return the schema's version."""
    newest = 0
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version"
            " (version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now())"
        )
        current = version(connection)
        for newest, text in migrations():
            if newest > current:
                with connection.transaction():
                    connection.execute(text.encode())
                    connection.execute("INSERT INTO schema_version VALUES (%s)", [newest])
        if current > newest:
            raise FleetError(
                f"the database has schema {current}, this tcuq knows {newest}: upgrade tcuq first"
            )
        row = connection.execute("SELECT to_regrole('tcuq_ingest') IS NOT NULL").fetchone()
        if row is not None and row[0]:
            connection.execute(_statements("grants.sql"))
    return newest


def create_roles(connection: Connection[Any], passwords: Mapping[str, str]) -> None:
    """Create the roles as a superuser, set passwords, and act as the owner from then on.

    The server receives only verifiers of the passwords (SCRAM), so that no log can show them.
    """
    from psycopg import sql

    with connection.transaction():
        connection.execute(_statements("roles.sql"))
        for role, password in passwords.items():
            verifier = connection.pgconn.encrypt_password(
                password.encode(), role.encode(), b"scram-sha-256"
            )
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(role), verifier.decode()))
    connection.execute("SET ROLE tcuq_owner")


def _statements(name: str) -> bytes:
    return (files("tcuq_fleet.store") / name).read_bytes()


def version(connection: Connection[Any]) -> int:
    """Return the schema's version, 0 in an empty database."""
    row = connection.execute("SELECT to_regclass('schema_version') IS NULL").fetchone()
    if row is None or row[0]:
        return 0
    row = connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").fetchone()
    return int(row[0]) if row else 0


def check_schema(connection: Connection[Any]) -> None:
    """Raise `DatabaseUnavailableError` unless the schema is the one that this tcuq knows."""
    current, newest = version(connection), migrations()[-1][0]
    if current != newest:
        step = "run  tcuq fleet migrate" if current < newest else "upgrade tcuq"
        raise DatabaseUnavailableError(
            f"the database has schema {current}, this tcuq needs {newest}: {step}"
        )
