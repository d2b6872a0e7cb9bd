# SPDX-License-Identifier: Apache-2.0
"""Real servers for the fleet's tests: one PostgreSQL per session, a new database per test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tcuq_fleet.servers import Broker, Postgres
from tcuq_fleet.store.migrate import migrate
from tcuq_fleet.store.store import Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL for the session, in a folder that its account can read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = Postgres(folder)
        server.start()
        yield server
        server.stop("immediate")


@pytest.fixture
def database(postgres: Postgres) -> str:
    """Create a new database with the fleet's tables; return its URL."""
    with psycopg.connect(postgres.url, autocommit=True) as maintenance:
        maintenance.execute("DROP DATABASE IF EXISTS one WITH (FORCE)")
        maintenance.execute("CREATE DATABASE one")
    url = postgres.url.removesuffix("fleet") + "one"
    with psycopg.connect(url, autocommit=True) as connection:
        migrate(connection)
    return url


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """Open a store for one test."""
    with Store(database) as store:
        yield store


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker that accepts every client on this machine."""
    server = Broker(tmp_path_factory.mktemp("broker"))
    server.start()
    yield server
    server.stop()
