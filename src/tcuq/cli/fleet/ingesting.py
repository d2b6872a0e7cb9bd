# SPDX-License-Identifier: Apache-2.0
"""`fleet ingest` and `fleet migrate`: from the broker to the store."""

import argparse
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tcuq.cli.fleet.servers import (
    add_broker,
    add_database,
    broker_place,
    read_document,
    read_keys,
    stop_by,
)
from tcuq.cli.printing import Commands, say
from tcuq.errors import InputError

if TYPE_CHECKING:
    from uvicorn import Server

    from tcuq.fleet.ingest.worker import Worker
    from tcuq.telemetry import Keys


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    ingest = parsers.add_parser("ingest", help="a worker: records from the broker into PostgreSQL")
    add_database(ingest)
    add_broker(ingest)
    ingest.add_argument("--gateways", help='JSON: {"name": "SHA-256 of its token", ...}')
    ingest.add_argument("--keys", help='JSON: {"1": "hex digits"}; then records must be signed')
    ingest.add_argument("--quota", type=int, default=120, help="records a device may send an hour")
    ingest.add_argument("--batch", type=int, default=20_000, help="records of a transaction")
    ingest.add_argument("--http", type=int, metavar="PORT", help="records, health and metrics")
    ingest.add_argument("--http-host", default="127.0.0.1")
    ingest.add_argument("--http-certificate", help="PEM file, for HTTPS")
    ingest.add_argument("--http-key", help="PEM file of its key")
    ingest.set_defaults(command=_ingest)
    yield ingest
    migrate = parsers.add_parser("migrate", help="bring the database's tables up to date")
    add_database(migrate)
    migrate.set_defaults(command=_migrate)
    yield migrate


def _ingest(asked: argparse.Namespace) -> None:
    from tcuq.fleet.ingest.worker import Limits, Worker
    from tcuq.fleet.mqtt import Link
    from tcuq.fleet.wire import SHARED

    if not 1 <= asked.quota <= 60_000:
        raise InputError(f"quota must lie in 1..60000 records an hour, got {asked.quota}")
    if not 1 <= asked.batch <= 60_000:
        raise InputError(f"batch must lie in 1..60000 records, got {asked.batch}")
    place, keys = broker_place(asked), read_keys(asked.keys)
    gateways = read_document(asked.gateways) if asked.gateways else {}
    worker = Worker(
        asked.database,
        lambda: Link(place, SHARED),
        gateways=frozenset(gateways),
        keys=keys,
        quota=asked.quota,
        limits=Limits(records=asked.batch),
    )
    stop_by(worker.stopping.set)
    door = _door(asked, worker, gateways, keys) if asked.http is not None else None
    worker.run()
    if door is not None:
        door.should_exit = True
    stored = worker.gauges.registry.get_sample_value("tcuq_ingest_records_total") or 0
    say(asked, {"records": int(stored)}, f"stopped after {int(stored):,} records")


def _door(
    asked: argparse.Namespace, worker: "Worker", gateways: dict[str, str], keys: "Keys | None"
) -> "Server":
    """The HTTP door in a thread of its own; its server, to be told when to close."""
    from tcuq.fleet.ingest.door import Entrance, make_app, served

    entrance = Entrance(asked.database, gateways, keys=keys, quota=asked.quota)
    server = served(
        make_app(entrance, worker.gauges),
        asked.http_host,
        asked.http,
        asked.http_certificate,
        asked.http_key,
    )
    threading.Thread(target=server.run, daemon=True).start()
    return server


def _migrate(asked: argparse.Namespace) -> None:
    import psycopg

    from tcuq.fleet.store.migrate import migrate

    try:
        with psycopg.connect(asked.database, autocommit=True) as connection:
            version = migrate(connection)
    except psycopg.OperationalError as error:
        raise InputError(f"the database: {str(error).strip()}") from None
    say(asked, {"schema": version}, f"the database has schema {version}")
