# SPDX-License-Identifier: Apache-2.0
"""`fleet ingest`: a worker from the broker to the store."""

import argparse
from typing import TYPE_CHECKING

from tcuq.cli.output import Commands, print_result
from tcuq.errors import InputError
from tcuq_fleet.cli.options import (
    add_broker,
    add_database,
    add_http,
    add_keys,
    broker_address,
    read_keys,
    start_http,
    stop_on_signal,
)

if TYPE_CHECKING:
    from uvicorn import Server

    from tcuq.telemetry import Keys
    from tcuq_fleet.ingest.validation import Validator
    from tcuq_fleet.ingest.worker import Worker
    from tcuq_fleet.store.sites import Claims


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet ingest`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "ingest", help="run a worker that stores records from the broker in PostgreSQL"
    )
    add_database(parser)
    add_broker(parser)
    add_keys(parser)
    parser.add_argument(
        "--accept-unsigned", action="store_true",
        help="with --keys: also accept records of devices that never signed one",
    )  # fmt: skip
    parser.add_argument("--quota", type=int, default=120, help="most messages per device and hour")
    parser.add_argument(
        "--gateway-quota", type=int, default=20_000, help="most messages per gateway and hour"
    )
    parser.add_argument(
        "--claim", choices=("open", "sites", "enrolled"), default="open",
        help="sites that an unknown device may claim: any, existing ones, or none unless enrolled",
    )  # fmt: skip
    parser.add_argument(
        "--sites-per-hour",
        type=int,
        default=1_000,
        help="most sites that devices may create per hour",
    )
    parser.add_argument(
        "--max-sites", type=int, default=100_000, help="most sites that devices may create in all"
    )
    parser.add_argument(
        "--boot-jump",
        type=int,
        default=10_000,
        help="quarantine records whose boot is further ahead than this",
    )
    parser.add_argument("--batch", type=int, default=20_000, help="most records per transaction")
    add_http(parser)
    parser.set_defaults(command=_ingest)
    return parser


def _ingest(args: argparse.Namespace) -> None:
    from tcuq_fleet.ingest.worker import Limits, Worker
    from tcuq_fleet.mqtt import MqttClient
    from tcuq_fleet.store.sites import Claims
    from tcuq_fleet.wire import SHARED_FILTERS

    for name in ("quota", "gateway_quota", "batch"):
        if not 1 <= (value := getattr(args, name)) <= 60_000:
            raise InputError(f"{name} must lie in 1..60000, got {value}")
    address, keys = broker_address(args), read_keys(args.keys)
    if args.accept_unsigned and keys is None:
        raise InputError("--accept-unsigned needs --keys: without keys no record may be signed")
    claims = Claims(args.claim, args.sites_per_hour, args.max_sites, args.boot_jump)
    worker = Worker(
        args.database,
        lambda: MqttClient(address, SHARED_FILTERS),
        validator=_validator(args, keys, authenticated=address.certificate is not None),
        claims=claims,
        limits=Limits(records=args.batch),
    )
    stop_on_signal(worker.stopping.set)
    server = _start_http(args, worker, keys, claims) if args.http is not None else None
    worker.run()
    if server is not None:
        server.should_exit = True
    records = int(worker.metrics.registry.get_sample_value("tcuq_ingest_records_total") or 0)
    print_result(args, {"records": records}, f"stopped after {records:,} records")


def _validator(
    args: argparse.Namespace, keys: "Keys | None", *, authenticated: bool
) -> "Validator":
    from tcuq_fleet.ingest.validation import Validator

    return Validator(
        keys,
        args.quota,
        args.gateway_quota,
        accept_unsigned=args.accept_unsigned,
        authenticated=authenticated,
    )


def _start_http(
    args: argparse.Namespace, worker: "Worker", keys: "Keys | None", claims: "Claims"
) -> "Server":
    """Start HTTP ingest in its own thread; return its server."""
    from tcuq_fleet.ingest.http_ingest import HttpIngest, create_app

    ingest = HttpIngest(args.database, _validator(args, keys, authenticated=False), claims)
    return start_http(args, create_app(ingest, worker.metrics))
