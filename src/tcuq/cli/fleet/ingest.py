# SPDX-License-Identifier: Apache-2.0
"""`fleet ingest`: a worker from the broker to the store."""

import argparse
from typing import TYPE_CHECKING

from tcuq.cli._output import Commands, print_result
from tcuq.cli.fleet.options import (
    add_broker,
    add_database,
    add_http,
    add_keys,
    broker_address,
    read_document,
    read_keys,
    start_http,
    stop_on_signal,
)
from tcuq.errors import InputError

if TYPE_CHECKING:
    from uvicorn import Server

    from tcuq.fleet.ingest.worker import Worker
    from tcuq.telemetry import Keys


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet ingest`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "ingest", help="a worker: records from the broker into PostgreSQL"
    )
    add_database(parser)
    add_broker(parser)
    parser.add_argument("--gateways", help='JSON: {"name": "SHA-256 of its token", ...}')
    add_keys(parser)
    parser.add_argument("--quota", type=int, default=120, help="records a device may send per hour")
    parser.add_argument("--batch", type=int, default=20_000, help="records per transaction")
    add_http(parser)
    parser.set_defaults(command=_ingest)
    return parser


def _ingest(args: argparse.Namespace) -> None:
    from tcuq.fleet.ingest.worker import Limits, Worker
    from tcuq.fleet.mqtt import MqttClient
    from tcuq.fleet.wire import SHARED_FILTERS

    if not 1 <= args.quota <= 60_000:
        raise InputError(f"quota must lie in 1..60000 records per hour, got {args.quota}")
    if not 1 <= args.batch <= 60_000:
        raise InputError(f"batch must lie in 1..60000 records, got {args.batch}")
    address, keys = broker_address(args), read_keys(args.keys)
    gateways = read_document(args.gateways) if args.gateways else {}
    worker = Worker(
        args.database,
        lambda: MqttClient(address, SHARED_FILTERS),
        gateways=frozenset(gateways),
        keys=keys,
        quota=args.quota,
        limits=Limits(records=args.batch),
    )
    stop_on_signal(worker.stopping.set)
    server = _start_http(args, worker, gateways, keys) if args.http is not None else None
    worker.run()
    if server is not None:
        server.should_exit = True
    records = int(worker.metrics.registry.get_sample_value("tcuq_ingest_records_total") or 0)
    print_result(args, {"records": records}, f"stopped after {records:,} records")


def _start_http(
    args: argparse.Namespace, worker: "Worker", gateways: dict[str, str], keys: "Keys | None"
) -> "Server":
    """Start HTTP ingest in its own thread; return its server."""
    from tcuq.fleet.ingest.http_ingest import HttpIngest, create_app

    ingest = HttpIngest(args.database, gateways, keys=keys, quota=args.quota)
    return start_http(args, create_app(ingest, worker.metrics))
