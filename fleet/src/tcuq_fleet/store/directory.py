# SPDX-License-Identifier: Apache-2.0
"""Directory: owners, sites, gateways and profiles, which every one of several databases has.

The first database gives sites and owners their numbers; the others hold copies.
"""

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import Connection

# Table, key and columns, in the order of references.
TABLES: tuple[tuple[LiteralString, LiteralString, LiteralString], ...] = (
    ("owners", "owner", "owner, name"),
    ("sites", "site", "site, name, owner, region, created"),
    ("gateways", "gateway", "gateway, owner, token_sha256, changed, changed_by"),
    ("gateway_sites", "gateway, site", "gateway, site"),
    ("profiles", "profile", "profile, health_names"),
)
# OVERRIDING: the first database's numbers, not the identity column's own.
INSERT: LiteralString = (
    "INSERT INTO <table> (<columns>) OVERRIDING SYSTEM VALUE VALUES (<values>)"
    " ON CONFLICT (<key>) DO "
)


def copy_directory(connections: Sequence[Connection[Any]]) -> None:
    """Bring the other databases' copies up to the first one's; a removed gateway leaves them."""
    first, *copies = connections
    for other in copies:
        with other.transaction():
            other.execute("DELETE FROM gateways")  # and its sites
            for table, key, columns in TABLES:
                rows = first.execute(f"SELECT {columns} FROM {table}".encode()).fetchall()  # noqa: S608
                names = columns.split(", ")
                others = [name for name in names if name not in key.split(", ")]
                updates = ", ".join(f"{name} = excluded.{name}" for name in others)
                statement = (
                    INSERT.replace("<table>", table)
                    .replace("<columns>", columns)
                    .replace("<values>", ", ".join(["%s"] * len(names)))
                    .replace("<key>", key)
                )
                statement += f"UPDATE SET {updates}" if updates else "NOTHING"
                other.cursor().executemany(statement.encode(), rows)
