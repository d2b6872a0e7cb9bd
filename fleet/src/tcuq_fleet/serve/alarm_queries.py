# SPDX-License-Identifier: Apache-2.0
"""Queries of alarms, with what their devices are and run."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from tcuq_fleet.judge.alerts import ALARM_COLUMNS, ALARM_TABLES, TICKETS, Alarm, State
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group
from tcuq_fleet.serve.queries import PAGE


class AlarmRow(Alarm):
    """An alarm of the dashboard, active or closed."""

    alarm: int
    raised_epochs: int
    acknowledged: datetime | None
    acknowledged_by: str | None
    muted_until: datetime | None  # in the future

    @property
    def group(self) -> Group:
        """The group of a group's alarm."""
        return Group(self.profile, self.firmware, self.site)


@dataclass(frozen=True, slots=True)
class AlarmCount:
    """How many alarms of a kind and a state are active."""

    kind: str
    state: State
    alarms: int


_ALARMS: LiteralString = (
    "SELECT"
    + ALARM_COLUMNS
    + """, alarm, raised_epochs, acknowledged, acknowledged_by,
    CASE WHEN muted_until > now() THEN muted_until END AS muted_until
"""
    + ALARM_TABLES
    + "WHERE (%(owners)s::integer[] IS NULL OR owners.owner = ANY(%(owners)s))"
)
_VISIBLE: LiteralString = """
FROM alarms WHERE alarms.state <> 'closed' AND (%(owners)s::integer[] IS NULL
    OR coalesce(alarms.owner, (SELECT owner FROM sites WHERE sites.site = (
        SELECT site FROM devices WHERE devices.device = alarms.device))) = ANY(%(owners)s))
"""
_ORDER: LiteralString = """
ORDER BY alarms.kind IN ('device', 'group'), alarms.kind = 'silent', alarms.device IS NOT NULL,
    alarms.state DESC, alarms.evidence DESC, alarm
"""
# The page is chosen before the joins: a late page would join every row that it skips.
_ACTIVE_ALARMS: LiteralString = (
    "WITH page AS MATERIALIZED (SELECT alarm"
    + _VISIBLE
    + "AND (%(kind)s::text IS NULL OR alarms.kind = %(kind)s::alarm_kind)"
    + _ORDER
    + "LIMIT %(limit)s OFFSET %(offset)s)"
    + _ALARMS
    + " AND alarm IN (TABLE page)"
    + _ORDER
)
_DEVICE_ALARMS: LiteralString = (
    _ALARMS + " AND alarms.device = %(device)s ORDER BY alarm DESC LIMIT %(limit)s"
)
_GROUP_ALARMS: LiteralString = (
    _ALARMS
    + """
    AND alarms.state <> 'closed' AND kind IN ('changed', 'group') AND alarms.device IS NULL
    AND alarms.profile IS NOT DISTINCT FROM %(profile)s::integer
    AND alarms.firmware IS NOT DISTINCT FROM %(firmware)s::integer
    AND sites.name IS NOT DISTINCT FROM %(site)s::text
"""
)
_ALARM_COUNTS: LiteralString = (
    "SELECT kind::text, state::text, count(*) AS alarms"
    + _VISIBLE
    + "GROUP BY kind, state ORDER BY kind, state"
)


def alarm_counts(session: Session) -> list[AlarmCount]:
    """Return the number of active alarms by kind and state."""
    rows = session.sums("alarm_counts", _ALARM_COUNTS, {}, 2)
    return [AlarmCount(*row) for row in sorted(rows)]


def alarms(session: Session, kind: str | None, page: int, limit: int = PAGE) -> list[AlarmRow]:
    """Return active alarms: those that page first, then tickets; groups and critical ones first."""
    values = {"kind": kind, "limit": limit, "offset": (page - 1) * limit}
    return session.page(AlarmRow, "alarms", _ACTIVE_ALARMS, values, _order)


def _order(row: AlarmRow) -> tuple[bool, bool, bool, bool, float, int]:
    """Return what `_ORDER` sorts by."""
    is_device, is_open = row.device is not None, row.state == "open"
    silent = row.kind == "silent"
    return row.kind in TICKETS, silent, is_device, is_open, -row.evidence, row.alarm


def alarms_of_device(session: Session, device: int) -> list[AlarmRow]:
    """Return a device's alarms, the newest first."""
    values = {"device": device, "limit": 20}
    return session.rows(AlarmRow, "alarms_of_device", _DEVICE_ALARMS, values)


def alarms_of_group(session: Session, group: Group) -> list[AlarmRow]:
    """Return the active alarms of exactly this group."""
    return session.rows(AlarmRow, "alarms_of_group", _GROUP_ALARMS, group.numbers)
