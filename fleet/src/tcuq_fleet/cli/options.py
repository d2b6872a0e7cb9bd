# SPDX-License-Identifier: Apache-2.0
"""Options that `fleet` commands share: servers, keys and gateways from files, signals, levels."""

import argparse
import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tcuq.errors import InputError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from uvicorn import Server

    from tcuq.telemetry import Keys
    from tcuq_fleet.mqtt import BrokerAddress

DATABASE = "postgresql://localhost/tcuq"
BROKER = "mqtt://127.0.0.1"
MAX_FILE_BYTES = 1 << 20


def add_database(parser: argparse.ArgumentParser) -> None:
    """Add the option for PostgreSQL's URL."""
    parser.add_argument(
        "--database", default=DATABASE, help=f"URL of PostgreSQL, default: {DATABASE}"
    )
    parser.add_argument(
        "--database-password-file",
        metavar="FILE",
        help="file of mode 0600 that holds the database's password",
    )


def add_broker(parser: argparse.ArgumentParser) -> None:
    """Add the options for the broker's URL and certificates."""
    parser.add_argument(
        "--broker",
        default=BROKER,
        help=f"URL of the broker: mqtt://host[:port], or mqtts:// for TLS; default {BROKER}",
    )
    parser.add_argument("--ca", help="PEM file of the CA that signed the broker's certificate")
    parser.add_argument("--certificate", help="PEM file of the client's certificate")
    parser.add_argument("--key", help="PEM file of the client's private key")


def add_http_certificate(parser: argparse.ArgumentParser) -> None:
    """Add the options for HTTPS."""
    parser.add_argument(
        "--http-certificate", help="PEM file of the server's certificate: serve HTTPS"
    )
    parser.add_argument("--http-key", help="PEM file of the server's private key")


def add_http(parser: argparse.ArgumentParser) -> None:
    """Add the options of a process's HTTP server."""
    parser.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="port of an HTTP server for health and metrics, and for records to a worker",
    )
    parser.add_argument(
        "--http-host",
        default="127.0.0.1",
        help="address to listen on; other machines are served over TLS only",
    )
    add_http_certificate(parser)


def start_http(args: argparse.Namespace, app: "FastAPI") -> "Server":
    """Serve an application in its own thread; return its server."""
    from tcuq_fleet.http_server import create_server

    server = create_server(app, args.http_host, args.http, args.http_certificate, args.http_key)
    threading.Thread(target=server.run, daemon=True).start()
    return server


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Add the option for the file of master keys."""
    parser.add_argument(
        "--keys", help='JSON file of keys, {"1": "hex digits"}: records must be signed'
    )


def add_level(parser: argparse.ArgumentParser) -> None:
    """Add the options for the false-discovery level and a group's share."""
    parser.add_argument(
        "--level", type=float, default=0.1, help="false-discovery rate to keep, default 0.1"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=0.1,
        help="least share of drifting devices in a drifting group, default 0.1",
    )


def broker_address(args: argparse.Namespace) -> "BrokerAddress":
    """Return the address that the broker's options give."""
    from tcuq.watch.mqtt import PORTS
    from tcuq_fleet.mqtt import BrokerAddress

    parts = urlsplit(args.broker)
    try:
        port = parts.port
    except ValueError as error:
        raise InputError(f"broker: {error}") from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
        raise InputError(f"broker must be mqtt://host[:port] or mqtts://, got {args.broker!r}")
    if (parts.scheme == "mqtts") != (args.ca is not None):
        raise InputError("mqtts:// and --ca go together: one needs the other")
    if (args.certificate is None) != (args.key is None):
        raise InputError("--certificate and --key go together: one needs the other")
    return BrokerAddress(
        parts.hostname, port or PORTS[parts.scheme], args.ca, args.certificate, args.key
    )


def read_keys(path: str | None) -> "Keys | None":
    """Read master keys from a JSON file: {"1": "hexadecimal digits", ...}."""
    from tcuq.telemetry import Keys

    if path is None:
        return None
    document = read_document(path)
    try:
        return Keys({int(key_id): bytes.fromhex(digits) for key_id, digits in document.items()})
    except (ValueError, TypeError):
        raise InputError(
            f'{path} must be {{"1": "hexadecimal digits", ...}}, at least 16 bytes per key'
        ) from None


def read_document(path: str) -> dict[str, Any]:
    """Read a small JSON object; errors never show its content, which may be secret."""
    text = Path(path).read_bytes()[: MAX_FILE_BYTES + 1]
    try:
        document = json.loads(text) if len(text) <= MAX_FILE_BYTES else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError(f"{path} must hold a JSON object of at most {MAX_FILE_BYTES} bytes")
    return document


def stop_on_signal(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM, on Ctrl-C and when the terminal is closed."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup's
            signal.signal(number, lambda *_: stop())
