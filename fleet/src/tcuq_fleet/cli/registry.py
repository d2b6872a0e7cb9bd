# SPDX-License-Identifier: Apache-2.0
"""`fleet registry`: enrol devices, and decide about devices, sites and gateways."""

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field
from pydantic_settings import CliPositionalArg

from tcuq.errors import InputError
from tcuq_fleet.cli.configuration import Command, Words
from tcuq_fleet.cli.options import DatabaseOptions

if TYPE_CHECKING:
    from tcuq_fleet.store.registry import Enrolment
    from tcuq_fleet.store.sharded_registry import ShardedRegistry

MAX_FILE_BYTES = 1 << 30
MAX_TEXT = 200


def _matching(pattern: str, rule: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"must be {rule}, got {value[:64]!r}")
        return value

    return check


def _printable(value: str) -> str:
    if len(value) > MAX_TEXT or not value.isprintable():
        raise ValueError(f"must be at most {MAX_TEXT} printable characters, got {value[:64]!r}")
    return value


def _hash(value: str) -> str:
    if not re.fullmatch("[0-9a-f]{64}", value):  # not shown: it may be the token itself
        raise ValueError("must be 64 digits of 0-9a-f: printf %s TOKEN | sha256sum")
    return value


CHECKS = {  # of the columns of a file
    "device": _matching("[0-9a-f]{16}", "16 digits of 0-9a-f"),
    "site": _matching("[a-z0-9-]{1,32}", "1 to 32 of a-z, 0-9 and -"),
    "name": _printable,
    "owner": _printable,
}
NOTE = Field(None, description="reason, shown on the device's page")


class Act(DatabaseOptions, Command):
    """An act on the registry."""

    @classmethod
    def table(cls) -> str:
        """Return the table that all acts share in the file."""
        return "registry"

    def run(self) -> None:
        """Act on the database's registry."""
        import psycopg

        from tcuq_fleet.store.sharded_registry import ShardedRegistry

        try:
            with ShardedRegistry(self.databases) as registry:
                self._act(registry)
        except psycopg.Error as error:
            raise InputError(f"the database: {str(error).strip()}") from None

    def _act(self, registry: "ShardedRegistry") -> None:
        raise NotImplementedError


class DeviceAct(Act):
    """An act on one device."""

    command_line_only: ClassVar[tuple[str, ...]] = ("device",)

    device: CliPositionalArg[Annotated[str, AfterValidator(CHECKS["device"])]] = Field(
        description="id of the device, 16 hexadecimal digits"
    )

    @property
    def number(self) -> int:
        """The device's id as a number."""
        return int(self.device, 16)


class Enrol(Act):
    """Enrol the devices of a CSV file."""

    example: ClassVar[str] = "registry enrol devices.csv"
    command_line_only: ClassVar[tuple[str, ...]] = ("file",)

    file: CliPositionalArg[str] = Field(
        description="CSV with the columns device,site and optionally name,owner"
    )

    def _act(self, registry: "ShardedRegistry") -> None:
        count = registry.enrol(read_enrolments(Path(self.file)))
        self.print_result({"enrolled": count}, f"{count:,} devices are enrolled")


class List(Act):
    """List devices that are enrolled, named, muted, retired or quarantined."""

    example: ClassVar[str] = "registry list --site berlin"

    site: str | None = Field(None, description="list the devices of this site only")
    limit: int = Field(1000, ge=0, description="most devices to list")

    def _act(self, registry: "ShardedRegistry") -> None:
        lines, devices = [], list[dict[str, Any]]()
        for entry in registry.list(self.site, self.limit):
            until, boot = entry.muted_until, entry.quarantined_boot
            muted = f"muted until {until:%Y-%m-%d %H:%M}" if until else None
            quarantine = None if boot is None else f"boot {boot} in quarantine"
            texts = (entry.device, entry.site, entry.state, entry.name, muted, quarantine)
            lines.append("  ".join(filter(None, texts)))
            devices.append(entry._asdict() | {"muted_until": until and until.isoformat()})
        self.print_result({"devices": devices}, "\n".join(lines) or "the registry lists no device")


class Move(DeviceAct):
    """Move a device to another site."""

    example: ClassVar[str] = "registry move 00000000000000a1 berlin"
    command_line_only: ClassVar[tuple[str, ...]] = ("device", "site")

    site: CliPositionalArg[Annotated[str, AfterValidator(CHECKS["site"])]] = Field(
        description="site that the device belongs to from now on"
    )

    def _act(self, registry: "ShardedRegistry") -> None:
        registry.move(self.number, self.site)
        self.print_result({"site": self.site}, f"{self.device} belongs to {self.site}")


class Mute(DeviceAct):
    """Send no alerts about a device for some days."""

    example: ClassVar[str] = "registry mute 00000000000000a1 --days 2 --note repair"

    days: float = Field(7, gt=0, le=3650, description="days without alerts")
    note: str | None = NOTE

    def _act(self, registry: "ShardedRegistry") -> None:
        until = datetime.now(UTC) + timedelta(days=self.days)
        registry.mute(self.number, until, self.note)
        text = f"no alerts about {self.device} until {until:%Y-%m-%d %H:%M} UTC"
        self.print_result({"muted_until": until.isoformat()}, text)


class Retire(DeviceAct):
    """Store and judge no further records of a device."""

    example: ClassVar[str] = "registry retire 00000000000000a1 --note scrapped"

    note: str | None = NOTE

    def _act(self, registry: "ShardedRegistry") -> None:
        registry.retire(self.number, self.note)
        self.print_result({"state": "retired"}, f"{self.device} is retired")


class Release(DeviceAct):
    """Accept the boot of a device's quarantined record."""

    example: ClassVar[str] = "registry release 00000000000000a1"

    def _act(self, registry: "ShardedRegistry") -> None:
        boot = registry.release(self.number)
        self.print_result({"boot": boot}, f"{self.device} may report boots up to {boot}")


class AddGateway(Act):
    """Add or change a gateway and the sites that it speaks for."""

    example: ClassVar[str] = "registry add-gateway gate-1 --site berlin --owner acme"
    command_line_only: ClassVar[tuple[str, ...]] = ("gateway",)

    gateway: CliPositionalArg[str] = Field(description="common name of the gateway's certificate")
    site: Words = Field(description="site that it speaks for, repeatable")
    owner: str | None = Field(None, description="owner of the gateway and its sites")
    token_sha256: Annotated[str, AfterValidator(_hash)] | None = Field(
        None,
        repr=False,
        description="SHA-256 of the gateway's token for HTTPS, 64 hexadecimal digits",
    )

    def _act(self, registry: "ShardedRegistry") -> None:
        from tcuq_fleet.wire import records_topic

        for site in self.site:
            records_topic(site, self.gateway)  # checks both names
        token = bytes.fromhex(self.token_sha256) if self.token_sha256 else None
        registry.add_gateway(self.gateway, self.site, self.owner, token)
        text = f"{self.gateway} speaks for {', '.join(self.site)}"
        self.print_result({"sites": self.site}, text)


class RemoveGateway(Act):
    """Refuse the messages of a gateway."""

    example: ClassVar[str] = "registry remove-gateway gate-1"
    command_line_only: ClassVar[tuple[str, ...]] = ("gateway",)

    gateway: CliPositionalArg[str] = Field(description="name of the gateway")

    def _act(self, registry: "ShardedRegistry") -> None:
        registry.remove_gateway(self.gateway)
        self.print_result({"removed": self.gateway}, f"{self.gateway} is removed")


ACTS = (Enrol, List, Move, Mute, Retire, Release, AddGateway, RemoveGateway)


def read_enrolments(path: Path) -> "list[Enrolment]":
    """Read a CSV file of devices; InputError names the line and the value."""
    from tcuq_fleet.store.registry import Enrolment

    if path.stat().st_size > MAX_FILE_BYTES:
        raise InputError(f"{path} must have at most {MAX_FILE_BYTES} bytes: split it")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, restkey="more", restval="")
        header = tuple(reader.fieldnames or ())
        if not {"device", "site"} <= set(header) <= set(CHECKS):
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
    try:
        return CHECKS[column](value)
    except ValueError as error:
        raise InputError(f"{where}: {column} {error}") from None
