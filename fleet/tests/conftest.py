# SPDX-License-Identifier: Apache-2.0
"""Real servers for the fleet's tests: one PostgreSQL per session, a new database per test."""

from collections.abc import Iterator

import psycopg
import pytest

from fleet.tests.fixtures.servers import create_tables, local_broker, new_database, private_postgres
from fleet.tests.fixtures.stored_fleet import StoredFleet
from tcuq.cli import main
from tcuq_fleet.mqtt import BrokerAddress
from tcuq_fleet.servers import Broker, Postgres
from tcuq_fleet.store.store import Store


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL for the session; that the machine loses power is not tested."""
    with private_postgres(settings="fsync = off\n") as server:
        yield server


@pytest.fixture(scope="session")
def migrated(postgres: Postgres) -> str:
    """Create the fleet's tables in a database that others copy; return its name."""
    create_tables(new_database(postgres, "migrated"))
    return "migrated"


@pytest.fixture
def database(postgres: Postgres, migrated: str) -> str:
    """Create a new database with the fleet's tables; return its URL."""
    return new_database(postgres, "one", migrated)


@pytest.fixture
def with_roles(postgres: Postgres) -> Iterator[str]:
    """Create a database with roles by the documented command; return its URL."""
    url = new_database(postgres, "roles")
    assert main(["fleet", "migrate", "--roles", "--database", url]) == 0
    yield url
    with psycopg.connect(url, autocommit=True) as connection:
        for role in ("tcuq_ingest", "tcuq_judge", "tcuq_serve", "tcuq_owner"):
            connection.execute(f"DROP OWNED BY {role} CASCADE")


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """Open a store for one test."""
    with Store(database) as store:
        yield store


@pytest.fixture
def fleet(store: Store) -> StoredFleet:
    """Return an empty fleet in the store."""
    return StoredFleet(store)


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker that accepts every client on this machine."""
    with Broker(tmp_path_factory.mktemp("broker")) as server:
        yield server


@pytest.fixture
def broker_address(broker: Broker) -> BrokerAddress:
    """Return the broker's address."""
    return local_broker(broker.port)
