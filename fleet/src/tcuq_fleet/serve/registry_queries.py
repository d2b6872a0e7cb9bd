# SPDX-License-Identifier: Apache-2.0
"""Queries of the registry: devices that operators named, muted or retired, and the quarantine."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.queries import PAGE

MAX_ENTRIES = 10 * PAGE


@dataclass(frozen=True, slots=True)
class Entry:
    """A device in the registry."""

    device: int
    name: str | None
    site: str | None
    state: str  # "new", "active" or "retired"
    reported: bool  # whether a record of it was ever stored
    muted_until: datetime | None  # in the future
    note: str | None
    changed: datetime
    changed_by: str


@dataclass(frozen=True, slots=True)
class QuarantinedRecord:
    """A device whose last record is held back because its boot is far ahead."""

    device: int
    name: str | None
    site: str
    boot: int
    stored_boot: int
    count: int
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
SELECT device, registry.name, sites.name AS site, quarantined.boot, stored_boot, count, last
FROM quarantined JOIN devices USING (device) JOIN sites ON sites.site = devices.site
    LEFT JOIN registry USING (device)
WHERE (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
ORDER BY last DESC LIMIT %(limit)s
"""


def entries(session: Session) -> list[Entry]:
    """Return the registry's devices, the latest change first."""
    return session.rows(Entry, "registry", _ENTRIES, {"limit": MAX_ENTRIES})


def quarantined(session: Session) -> list[QuarantinedRecord]:
    """Return devices with a record in quarantine, the latest first."""
    return session.rows(QuarantinedRecord, "quarantined", _QUARANTINED, {"limit": PAGE})
