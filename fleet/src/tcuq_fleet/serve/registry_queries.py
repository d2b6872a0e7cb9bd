# SPDX-License-Identifier: Apache-2.0
"""Queries of the registry: devices that operators named, muted or retired, and the quarantine."""

from datetime import datetime
from typing import LiteralString

from pydantic import BaseModel

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import device_number
from tcuq_fleet.serve.queries import PAGE
from tcuq_fleet.wire import DeviceId

MAX_ENTRIES = 10 * PAGE


class Entry(BaseModel):
    """A device in the registry."""

    device: DeviceId
    name: str | None
    site: str | None
    state: str  # "new", "active" or "retired"
    reported: bool  # whether a record of it was ever stored
    muted_until: datetime | None  # in the future
    note: str | None
    changed: datetime
    changed_by: str


class QuarantinedRecord(BaseModel):
    """A device whose last record is held back because its boot is far ahead."""

    device: DeviceId
    name: str | None
    site: str
    boot: int
    stored_boot: int
    records: int
    last: datetime


_ENTRIES: LiteralString = """
SELECT registry.device, registry.name, sites.name AS site,
    CASE WHEN state = 'new' AND devices.device IS NOT NULL THEN 'active' ELSE state::text END
        AS state, devices.device IS NOT NULL AS reported,
    CASE WHEN muted_until > now() THEN muted_until END AS muted_until, note, registry.changed,
    changed_by
FROM registry LEFT JOIN devices USING (device)
    LEFT JOIN sites ON sites.site = coalesce(devices.site, registry.site)
WHERE (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
ORDER BY registry.changed DESC, registry.device LIMIT %(limit)s
"""
_QUARANTINED: LiteralString = """
SELECT device, registry.name, sites.name AS site, quarantined.boot, stored_boot,
    count AS records, last
FROM quarantined JOIN devices USING (device) JOIN sites ON sites.site = devices.site
    LEFT JOIN registry USING (device)
WHERE (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
ORDER BY last DESC LIMIT %(limit)s
"""


def entries(session: Session) -> list[Entry]:
    """Return the registry's devices, the latest change first."""
    return session.page(Entry, "registry", _ENTRIES, {"limit": MAX_ENTRIES}, _entries_order)


def _entries_order(entry: Entry) -> tuple[float, int]:
    return -entry.changed.timestamp(), device_number(entry.device)


def quarantined(session: Session) -> list[QuarantinedRecord]:
    """Return devices with a record in quarantine, the latest first."""
    return session.page(
        QuarantinedRecord, "quarantined", _QUARANTINED, {"limit": PAGE},
        lambda record: -record.last.timestamp(),
    )  # fmt: skip
