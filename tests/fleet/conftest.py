# SPDX-License-Identifier: Apache-2.0
"""Real servers for the fleet's tests: one PostgreSQL a session, a fresh database a test."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tcuq.fleet.servers import Broker, Postgres
from tcuq.fleet.store.migrate import migrate
from tcuq.fleet.store.tables import Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL of this test session, where its account can reach it: not in pytest's folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = Postgres(folder)
        server.start()
        yield server
        server.stop("immediate")


@pytest.fixture
def database(postgres: Postgres) -> str:
    """A fresh database with the fleet's tables."""
    with psycopg.connect(postgres.url, autocommit=True) as maintenance:
        maintenance.execute("DROP DATABASE IF EXISTS one WITH (FORCE)")
        maintenance.execute("CREATE DATABASE one")
    url = postgres.url.removesuffix("fleet") + "one"
    with psycopg.connect(url, autocommit=True) as connection:
        migrate(connection)
    return url


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """The store of one test."""
    with Store(database) as opened:
        yield opened


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that takes anyone on this machine."""
    server = Broker(tmp_path_factory.mktemp("broker"))
    server.start()
    yield server
    server.stop()
