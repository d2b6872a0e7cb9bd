# SPDX-License-Identifier: Apache-2.0
"""Queries of alarms, with what their devices are and run."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, LiteralString

from tcuq.telemetry import cause_text
from tcuq_fleet.judge.alerts import SEVERITIES
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group
from tcuq_fleet.serve.queries import PAGE


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """A row of the table `alarms`, active or closed, and what its device is and runs."""

    alarm: int
    kind: Literal["device", "group", "silent"]
    state: str
    device: int | None
    profile: int | None
    firmware: int | None
    site: str | None
    opened: datetime
    changed: datetime
    raised_epochs: int
    evidence: float
    cause: int | None
    health_names: list[str] | None
    acknowledged: datetime | None
    acknowledged_by: str | None
    muted_until: datetime | None  # in the future
    name: str | None  # the device's, in the registry
    at: str | None  # the device's site
    owner: str | None  # of the site
    runs: int | None  # the device's firmware

    @property
    def severity(self) -> str:
        """`warning` or `critical`; `closed` for a closed alarm."""
        return SEVERITIES.get(self.state, self.state)

    @property
    def cause_text(self) -> str:
        """The cause of the device's own last alarm in words, or ""."""
        return cause_text(self.cause or 0, self.health_names or ())

    @property
    def group(self) -> Group:
        """The group of a group's alarm."""
        return Group.of(self.profile, self.firmware, self.site)


@dataclass(frozen=True, slots=True)
class AlarmCount:
    """How many alarms of a kind and a state are active."""

    kind: str
    state: str
    alarms: int


_ALARMS: LiteralString = """
SELECT alarm, kind::text, alarms.state::text, alarms.device, alarms.profile, alarms.firmware,
    CASE WHEN alarms.site IS NOT NULL THEN sites.name END AS site, opened, alarms.changed,
    raised_epochs, alarms.evidence, alarms.cause,
    (SELECT health_names FROM profiles WHERE profiles.profile = devices.profile) AS health_names,
    acknowledged, acknowledged_by,
    CASE WHEN muted_until > now() THEN muted_until END AS muted_until, registry.name,
    CASE WHEN alarms.device IS NOT NULL THEN sites.name END AS at, owners.name AS owner,
    devices.firmware AS runs
FROM alarms LEFT JOIN devices USING (device) LEFT JOIN registry USING (device)
    LEFT JOIN sites ON sites.site = coalesce(alarms.site, devices.site)
    LEFT JOIN owners USING (owner)
WHERE (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
"""
_VISIBLE: LiteralString = """
FROM alarms WHERE alarms.state <> 'closed' AND (%(owners)s::integer[] IS NULL OR (
        SELECT owner FROM sites WHERE sites.site = coalesce(alarms.site, (
            SELECT site FROM devices WHERE devices.device = alarms.device))) = ANY(%(owners)s))
"""
_ORDER: LiteralString = """
ORDER BY alarms.kind = 'group' DESC, alarms.state DESC, alarms.kind, alarms.evidence DESC, alarm
"""
# The page is chosen before the joins: a late page would join every row that it skips.
_ACTIVE_ALARMS: LiteralString = (
    "WITH page AS MATERIALIZED (SELECT alarm"
    + _VISIBLE
    + "AND (%(kind)s::text IS NULL OR alarms.kind = %(kind)s::alarm_kind)"
    + _ORDER
    + "LIMIT %(limit)s OFFSET %(offset)s)"
    + _ALARMS
    + "AND alarm IN (TABLE page)"
    + _ORDER
)
_DEVICE_ALARMS: LiteralString = (
    _ALARMS + "AND alarms.device = %(device)s ORDER BY alarm DESC LIMIT %(limit)s"
)
_GROUP_ALARMS: LiteralString = (
    _ALARMS
    + """
    AND alarms.state <> 'closed' AND kind = 'group'
    AND alarms.profile IS NOT DISTINCT FROM %(profile)s::integer
    AND alarms.firmware IS NOT DISTINCT FROM %(firmware)s::integer
    AND CASE WHEN alarms.site IS NOT NULL THEN sites.name END IS NOT DISTINCT FROM %(site)s::text
"""
)
_ALARM_COUNTS: LiteralString = (
    "SELECT kind::text, state::text, count(*) AS alarms"
    + _VISIBLE
    + "GROUP BY kind, state ORDER BY kind, state"
)


def alarm_counts(session: Session) -> list[AlarmCount]:
    """Return the number of active alarms by kind and state."""
    return session.rows(AlarmCount, "alarm_counts", _ALARM_COUNTS, {})


def alarms(session: Session, kind: str | None, page: int, limit: int = PAGE) -> list[AlarmRow]:
    """Return active alarms, groups' and critical ones first."""
    values = {"kind": kind, "limit": limit, "offset": (page - 1) * limit}
    return session.rows(AlarmRow, "alarms", _ACTIVE_ALARMS, values)


def alarms_of_device(session: Session, device: int) -> list[AlarmRow]:
    """Return a device's alarms, the newest first."""
    values = {"device": device, "limit": 20}
    return session.rows(AlarmRow, "alarms_of_device", _DEVICE_ALARMS, values)


def alarms_of_group(session: Session, group: Group) -> list[AlarmRow]:
    """Return the active alarms of exactly this group."""
    return session.rows(AlarmRow, "alarms_of_group", _GROUP_ALARMS, group.numbers)
