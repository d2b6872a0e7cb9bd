# SPDX-License-Identifier: Apache-2.0
"""History in weekly partitions: upgrade with data, creation ahead, retention by dropping tables."""

from typing import Any

import psycopg
import pytest

from fleet.tests.fixtures.servers import new_database
from tcuq_fleet.judge.retention import Retention
from tcuq_fleet.servers import Postgres
from tcuq_fleet.store.migrate import migrate, migrations
from tcuq_fleet.store.store import Store

UNPARTITIONED = 2  # migrations before the tables were partitioned
EPOCHS = """
INSERT INTO epochs SELECT device, 1, 100 * epoch, 10, 1, 2, now() - (epoch || ' days')::interval,
    0, epoch, -3, 0, '\\x00'
FROM generate_series(1, 200) AS device, generate_series(0, 39) AS epoch
"""
COHORTS = """
INSERT INTO cohorts SELECT profile, 7, site, date_trunc('hour', now()) - (hour || ' h')::interval,
    1, 360, 36, 1, 2, 0
FROM generate_series(1, 2) AS profile, generate_series(1, 5) AS site,
    generate_series(0, 900) AS hour
"""
# Columns that a later migration adds are null: the text of a row ends in their commas.
COUNTS = """
SELECT (SELECT (count(*), sum(steps), sum(hashtext(rtrim(epochs::text, ',)')))) FROM epochs)::text,
    (SELECT (count(*), sum(steps), sum(hashtext(cohorts::text))) FROM cohorts)::text
"""


def rows(connection: "psycopg.Connection[Any]", query: str) -> list[tuple[Any, ...]]:
    """Return a query's rows."""
    return connection.execute(query.encode()).fetchall()


def test_later_migrations_keep_every_row(postgres: Postgres) -> None:
    """Rows of the first tables are the same after the migrations, and retention still works."""
    with psycopg.connect(new_database(postgres, "upgraded"), autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE schema_version (version integer PRIMARY KEY,"
            " since timestamptz NOT NULL DEFAULT now())"
        )
        for number, text in migrations()[:UNPARTITIONED]:
            connection.execute(text.encode())
            connection.execute("INSERT INTO schema_version VALUES (%s)", [number])
        connection.execute(EPOCHS.encode())
        connection.execute(COHORTS.encode())
        before = rows(connection, COUNTS)
        assert migrate(connection) == migrations()[-1][0]
        assert rows(connection, COUNTS) == before
        Retention(epochs=20).apply(connection)
        assert rows(connection, "SELECT count(*) FROM epochs") == [(200 * 20,)]
        steps = "SELECT (SELECT sum(steps) FROM cohorts) + (SELECT sum(steps) FROM site_days)"
        assert rows(connection, steps) == [(10 * 901 * 360,)]


def test_partitions_are_created_ahead_and_dropped_after_their_retention(store: Store) -> None:
    """Four weeks ahead have partitions; an old week's table is dropped, and a newer one stays."""
    connection = store.connection
    ahead = rows(connection, "SELECT parent, max(ends) > now() + interval '28 days' FROM partitions"
                 " GROUP BY parent ORDER BY parent")  # fmt: skip
    assert ahead == [("cohorts", True), ("epochs", True)]
    connection.execute("DROP TABLE epochs_before")
    for weeks in (3, 60):
        connection.execute(
            "SELECT add_partition('epochs', 'stored', week_of(now()) - %s * interval '7 days')",
            [weeks],
        )
    connection.execute(
        "INSERT INTO epochs SELECT 1, 1, 1, 0, 0, 0, now() - weeks * interval '7 days', 0, weeks,"
        " 0, 0, '\\x00' FROM unnest(ARRAY[3, 60]) AS weeks"
    )
    partitions = rows(connection, "SELECT count(*) FROM partitions WHERE parent = 'epochs'")
    assert Retention().apply(connection) == 1
    left = rows(connection, "SELECT count(*) FROM partitions WHERE parent = 'epochs'")
    assert left[0][0] == partitions[0][0]  # one dropped, and this week's added
    assert rows(connection, "SELECT epoch FROM epochs") == [(3,)]


def test_a_week_without_a_partition_is_stored_and_moved(store: Store) -> None:
    """Rows of a week without a partition wait in the default one until it is created."""
    connection = store.connection
    insert = (
        "INSERT INTO cohorts SELECT 1, 2, 3, date_trunc('hour', now()) + interval '70 days',"
        " 1, 360, 0, 0, 0, 0"
    )
    connection.execute(insert.encode())
    assert rows(connection, "SELECT count(*) FROM cohorts_default") == [(1,)]
    connection.execute(
        "SELECT add_partition('cohorts', 'hour', week_of(now() + interval '70 days'))"
    )
    assert rows(connection, "SELECT count(*) FROM cohorts_default") == [(0,)]
    assert rows(connection, "SELECT sum(steps) FROM cohorts") == [(360,)]
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute(insert.encode())
