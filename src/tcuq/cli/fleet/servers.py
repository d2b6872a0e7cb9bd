# SPDX-License-Identifier: Apache-2.0
"""What the fleet's commands share: where the servers are, keys and permits from files, stopping."""

import argparse
import json
import logging
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tcuq.errors import InputError

if TYPE_CHECKING:
    from tcuq.fleet.mqtt import Place
    from tcuq.telemetry import Keys

DATABASE = "postgresql://localhost/tcuq"
BROKER = "mqtt://127.0.0.1"
MAX_FILE_BYTES = 1 << 20


def add_database(parser: argparse.ArgumentParser) -> None:
    """Where PostgreSQL is."""
    parser.add_argument("--database", default=DATABASE, help=f"default: {DATABASE}")


def add_broker(parser: argparse.ArgumentParser) -> None:
    """Where the broker is, and who we are to it."""
    parser.add_argument(
        "--broker",
        default=BROKER,
        help=f"mqtt://host[:port], or mqtts:// for TLS; default {BROKER}",
    )
    parser.add_argument("--ca", help="PEM file of the authority whose broker is trusted")
    parser.add_argument("--certificate", help="PEM file that says who we are")
    parser.add_argument("--key", help="PEM file of its key")


def broker_place(asked: argparse.Namespace) -> "Place":
    """The broker that was asked for."""
    from tcuq.fleet.mqtt import Place
    from tcuq.watch.mqtt import PORTS

    parts = urlsplit(asked.broker)
    try:
        port = parts.port
    except ValueError as error:
        raise InputError(f"broker: {error}") from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
        raise InputError(f"broker must be mqtt://host[:port] or mqtts://, got {asked.broker!r}")
    if (parts.scheme == "mqtts") != (asked.ca is not None):
        raise InputError("mqtts:// and --ca go together: one needs the other")
    if (asked.certificate is None) != (asked.key is None):
        raise InputError("--certificate and --key go together: one needs the other")
    return Place(
        parts.hostname, port or PORTS[parts.scheme], asked.ca, asked.certificate, asked.key
    )


def read_keys(path: str | None) -> "Keys | None":
    """Master keys from a JSON file: {"1": "hexadecimal digits", ...}."""
    from tcuq.telemetry import Keys

    if path is None:
        return None
    document = read_document(path)
    try:
        return Keys({int(key_id): bytes.fromhex(digits) for key_id, digits in document.items()})
    except (ValueError, TypeError):
        raise InputError(
            f'{path} must be {{"1": "hexadecimal digits", ...}}, at least 16 bytes a key'
        ) from None


def read_document(path: str) -> dict[str, Any]:
    """A small JSON object; what is in it is never shown."""
    text = Path(path).read_bytes()[: MAX_FILE_BYTES + 1]
    try:
        document = json.loads(text) if len(text) <= MAX_FILE_BYTES else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError(f"{path} must hold a JSON object of at most {MAX_FILE_BYTES} bytes")
    return document


def stop_by(stop: Callable[[], None]) -> None:
    """SIGTERM and Ctrl-C end the work gracefully; what goes wrong meanwhile is logged."""
    logging.basicConfig(format="tcuq: %(message)s", level=logging.INFO)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
