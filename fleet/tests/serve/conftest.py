# SPDX-License-Identifier: Apache-2.0
"""A fleet of 20,000 devices and its dashboard, one of each per session."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from fleet.tests.fixtures.dashboard_server import live
from fleet.tests.fixtures.seed import seed
from tcuq_fleet.servers import Postgres


@pytest.fixture(scope="session")
def create_database(postgres: Postgres) -> Callable[[str], str]:
    """Return a function that creates an empty database by its name."""

    def create(name: str) -> str:
        with psycopg.connect(postgres.url, autocommit=True) as maintenance:
            maintenance.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
            maintenance.execute(f"CREATE DATABASE {name}")
        return postgres.url.removesuffix("fleet") + name

    return create


@pytest.fixture(scope="session")
def seeded(create_database: Callable[[str], str]) -> str:
    """Create a database with a judged fleet in which firmware 1.8.0 drifts."""
    database = create_database("seeded")
    seed(database, 20_000)
    return database


@pytest.fixture(scope="session")
def address(seeded: str) -> Iterator[str]:
    """Serve that fleet's dashboard; return its URL."""
    with live(seeded) as url:
        yield url


@pytest.fixture(scope="session")
def suspect(seeded: str) -> str:
    """Return the id of a discovered device with a long history."""
    with psycopg.connect(seeded) as connection:
        row = connection.execute(
            "SELECT to_hex(device) FROM suspects JOIN epochs USING (device)"
            " GROUP BY device ORDER BY count(*) DESC, device LIMIT 1"
        ).fetchone()
    assert row is not None
    return str(row[0]).zfill(16)
