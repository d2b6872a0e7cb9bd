# SPDX-License-Identifier: Apache-2.0
"""`fleet registry`: enrol devices, and decide about devices, sites and gateways."""

import argparse
import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcuq.cli.output import Commands, print_result
from tcuq.errors import InputError
from tcuq_fleet.cli.options import add_database

if TYPE_CHECKING:
    from tcuq_fleet.store.registry import Enrolment, Registry

COLUMNS = ("device", "site", "name", "owner")
MAX_FILE_BYTES = 1 << 30
MAX_TEXT = 200
_DEVICE = re.compile(r"[0-9a-f]{16}")
_SITE = re.compile(r"[a-z0-9-]{1,32}")
_TOKEN = re.compile(r"[0-9a-f]{64}")


def add_parsers(parsers: Commands) -> list[argparse.ArgumentParser]:
    """Add the parser of `fleet registry`; return those of its acts."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "registry", help="enrol, move, mute, retire and release devices; add gateways"
    )
    acts = parser.add_subparsers(required=True, metavar="ACT")
    added = []

    def act(name: str, run: Callable[..., None], text: str) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = acts.add_parser(name, help=text)
        add_database(one)
        one.set_defaults(command=lambda args: _connected(args, run))
        added.append(one)
        return one

    act("enrol", _enrol, "enrol the devices of a CSV file").add_argument(
        "file", help="CSV with the columns device,site and optionally name,owner"
    )
    listed = act(
        "list", _list, "list devices that are enrolled, named, muted, retired or quarantined"
    )
    listed.add_argument("--site", help="list the devices of this site only")
    listed.add_argument("--limit", type=int, default=1000, help="most devices to list")
    for name, run, text in (
        ("move", _move, "move a device to another site"),
        ("mute", _mute, "send no alerts about a device for some days"),
        ("retire", _retire, "store and judge no further records of a device"),
        ("release", _release, "accept the boot of a device's quarantined record"),
    ):
        one = act(name, run, text)
        one.add_argument("device", help="id of the device, 16 hexadecimal digits")
        if name == "move":
            one.add_argument("site", help="site that the device belongs to from now on")
        if name == "mute":
            one.add_argument("--days", type=float, default=7, help="days without alerts, default 7")
        if name in ("mute", "retire"):
            one.add_argument("--note", help="reason, shown on the device's page")
    add = act(
        "add-gateway", _add_gateway, "add or change a gateway and the sites that it speaks for"
    )
    add.add_argument("gateway", help="common name of the gateway's certificate")
    add.add_argument(
        "--site",
        action="append",
        required=True,
        dest="sites",
        help="site that it speaks for, repeatable",
    )
    add.add_argument("--owner", help="owner of the gateway and its sites")
    add.add_argument(
        "--token-sha256", help="SHA-256 of the gateway's token for HTTPS, 64 hexadecimal digits"
    )
    act("remove-gateway", _remove_gateway, "refuse the messages of a gateway").add_argument(
        "gateway", help="name of the gateway"
    )
    return added


def _connected(args: argparse.Namespace, run: Callable[..., None]) -> None:
    import psycopg

    from tcuq_fleet.store.registry import Registry

    try:
        with psycopg.connect(args.database, autocommit=True) as connection:
            run(args, Registry(connection))
    except psycopg.Error as error:
        raise InputError(f"the database: {str(error).strip()}") from None


def _enrol(args: argparse.Namespace, registry: "Registry") -> None:
    count = registry.enrol(read_enrolments(Path(args.file)))
    print_result(args, {"enrolled": count}, f"{count:,} devices are enrolled")


def read_enrolments(path: Path) -> "list[Enrolment]":
    """Read a CSV file of devices; InputError names the line and the value."""
    from tcuq_fleet.store.registry import Enrolment

    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(f"{path} must have at most {MAX_FILE_BYTES} bytes: split it")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="more", restval="")
        header = tuple(reader.fieldnames or ())
        if not {"device", "site"} <= set(header) <= set(COLUMNS):
            raise InputError(
                f"{path}, line 1 must name the columns device,site and optionally name,owner,"
                f" got {','.join(header)[:MAX_TEXT]!r}"
            )
        rows = {}
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if "more" in row:
                raise InputError(f"{where} must have {len(header)} values, got more")
            fields = {name: _checked(where, name, row[name].strip()) for name in header}
            device = int(fields.pop("device"), 16)
            if device in rows:
                raise InputError(f"{where}: device {row['device'].strip()} is in the file twice")
            rows[device] = Enrolment(device, **fields)
    return list(rows.values())


def _checked(where: str, column: str, value: str) -> str:
    if column == "device" and not _DEVICE.fullmatch(value):
        raise InputError(f"{where}: device must be 16 digits of 0-9a-f, got {value[:64]!r}")
    if column == "site" and not _SITE.fullmatch(value):
        raise InputError(f"{where}: site must be 1 to 32 of a-z, 0-9 and -, got {value[:64]!r}")
    if len(value) > MAX_TEXT or not value.isprintable():
        raise InputError(
            f"{where}: {column} must be at most {MAX_TEXT} printable characters, got {value[:64]!r}"
        )
    return value


def _device(args: argparse.Namespace) -> int:
    return int(_checked("registry", "device", args.device), 16)


def _list(args: argparse.Namespace, registry: "Registry") -> None:
    entries = registry.list(args.site, args.limit)
    lines = []
    for entry in entries:
        muted = f"muted until {entry.muted_until:%Y-%m-%d %H:%M}" if entry.muted_until else ""
        boot = entry.quarantined_boot
        quarantine = "" if boot is None else f"boot {boot} in quarantine"
        columns = (entry.device, entry.site or "", entry.state, entry.name or "", muted, quarantine)
        lines.append("  ".join(filter(None, columns)))
    result: list[dict[str, Any]] = [entry._asdict() for entry in entries]
    for row in result:
        row["muted_until"] = row["muted_until"] and row["muted_until"].isoformat()
    print_result(args, {"devices": result}, "\n".join(lines) or "the registry lists no device")


def _move(args: argparse.Namespace, registry: "Registry") -> None:
    registry.move(_device(args), _checked("registry", "site", args.site))
    print_result(args, {"site": args.site}, f"{args.device} belongs to {args.site}")


def _mute(args: argparse.Namespace, registry: "Registry") -> None:
    if not 0 < args.days <= 3650:
        raise InputError(f"days must lie in (0, 3650], got {args.days:g}")
    until = datetime.now(UTC) + timedelta(days=args.days)
    registry.mute(_device(args), until, args.note)
    text = f"no alerts about {args.device} until {until:%Y-%m-%d %H:%M} UTC"
    print_result(args, {"muted_until": until.isoformat()}, text)


def _retire(args: argparse.Namespace, registry: "Registry") -> None:
    registry.retire(_device(args), args.note)
    print_result(args, {"state": "retired"}, f"{args.device} is retired")


def _release(args: argparse.Namespace, registry: "Registry") -> None:
    boot = registry.release(_device(args))
    print_result(args, {"boot": boot}, f"{args.device} may report boots up to {boot}")


def _add_gateway(args: argparse.Namespace, registry: "Registry") -> None:
    from tcuq_fleet.wire import records_topic

    for site in args.sites:
        records_topic(site, args.gateway)  # checks both names
    if args.token_sha256 is not None and not _TOKEN.fullmatch(args.token_sha256):
        raise InputError("token-sha256 must be 64 digits of 0-9a-f: printf %s TOKEN | sha256sum")
    token = bytes.fromhex(args.token_sha256) if args.token_sha256 else None
    registry.add_gateway(args.gateway, args.sites, args.owner, token)
    print_result(args, {"sites": args.sites}, f"{args.gateway} speaks for {', '.join(args.sites)}")


def _remove_gateway(args: argparse.Namespace, registry: "Registry") -> None:
    registry.remove_gateway(args.gateway)
    print_result(args, {"removed": args.gateway}, f"{args.gateway} is removed")
