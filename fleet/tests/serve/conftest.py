# SPDX-License-Identifier: Apache-2.0
"""A fleet of 20,000 devices and its dashboard, one of each per session."""

from collections.abc import Iterator

import psycopg
import pytest

from fleet.tests.fixtures.dashboard_server import live
from fleet.tests.fixtures.seed import seed
from fleet.tests.fixtures.servers import new_database
from tcuq_fleet.servers import Postgres


@pytest.fixture(scope="session")
def seeded(postgres: Postgres) -> str:
    """Create a database with a judged fleet in which firmware 1.8.0 drifts."""
    database = new_database(postgres, "seeded")
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
