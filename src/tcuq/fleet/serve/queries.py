# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboard: roll-ups, and single devices by their key; never the whole fleet."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.serve.database import Session
from tcuq.fleet.serve.identifiers import Group
from tcuq.telemetry import cause_text

PAGE = 50  # rows per page of a list
MAX_PAGE = 200
MAX_CHOICES = 500  # in a filter
MIN_JUDGEMENTS = 30  # in a chart


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """A row of the table `judgements`."""

    judgement: int
    judged: datetime
    level: float
    devices: int
    silent: int
    judgeable: int
    discovered: int
    cutoff_q8: int | None
    gone: int = 0
    all_groups: bool = True  # whether every group is stored, not only the notable ones


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A judged group; evidence is None for a group that was not judged as one.

    A drifted group is named unless another group's devices explain it.
    """

    profile: int | None
    firmware: int | None
    site: str | None
    devices: int
    silent: int
    judgeable: int
    discovered: int
    evidence: float | None
    drifted: bool
    named: bool

    @property
    def group(self) -> Group:
        """The group's identifiers."""
        return Group.of(self.profile, self.firmware, self.site)


@dataclass(frozen=True, slots=True)
class Hour:
    """Sums over the records stored in one hour; the last hour is not whole."""

    hour: datetime
    records: int
    steps: int
    abstained: int
    denied: int
    alarms: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A device on the judge's list of suspects."""

    device: int
    profile: int
    firmware: int
    site: str
    evidence_q8: int


@dataclass(frozen=True, slots=True)
class AlarmRow:
    """A row of the table `alarms`, active or closed."""

    alarm: int
    kind: str
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


@dataclass(frozen=True, slots=True)
class _EvidenceCounts:
    evidence_q8: list[int]
    devices: list[int]


@dataclass(frozen=True, slots=True)
class _GroupCount:
    groups: int


@dataclass(frozen=True, slots=True)
class _DeviceCount:
    devices: int


@dataclass(frozen=True, slots=True)
class _DiscoveredRow:
    profile: int | None
    firmware: int | None
    site: str | None
    devices: int


_IN_GROUP: LiteralString = """
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
    AND (%(site)s::text IS NULL OR sites.name = %(site)s)
"""
_JUDGEMENTS: LiteralString = """
SELECT judgement, judged, level, devices, silent, judgeable, discovered, cutoff_q8, gone, all_groups
FROM judgements ORDER BY judgement DESC LIMIT %(limit)s
"""
_EVIDENCE: LiteralString = """
SELECT coalesce(array_agg(evidence_q8 ORDER BY evidence_q8), '{}') AS evidence_q8,
    coalesce(array_agg(devices ORDER BY evidence_q8), '{}') AS devices
FROM evidence WHERE judgement = %(judgement)s
"""
_GROUPS: LiteralString = """
SELECT profile, firmware, sites.name AS site, devices, silent, judgeable, discovered, evidence,
    drifted, named
FROM groups LEFT JOIN sites USING (site) WHERE judgement = %(judgement)s
"""
# A group that was judged as one, and one that is summed over its cohorts.
_JUDGED_GROUP: LiteralString = (
    _GROUPS
    + """
    AND profile IS NOT DISTINCT FROM %(profile)s::integer
    AND firmware IS NOT DISTINCT FROM %(firmware)s::integer
    AND sites.name IS NOT DISTINCT FROM %(site)s::text
"""
)
_SUMMED_GROUP: LiteralString = (
    """
SELECT %(profile)s::integer AS profile, %(firmware)s::integer AS firmware, %(site)s::text AS site,
    coalesce(sum(devices), 0)::bigint AS devices, coalesce(sum(silent), 0)::bigint AS silent,
    coalesce(sum(judgeable), 0)::bigint AS judgeable,
    coalesce(sum(discovered), 0)::bigint AS discovered,
    NULL::double precision AS evidence, false AS drifted, false AS named
FROM groups JOIN sites USING (site)
WHERE judgement = %(judgement)s AND profile IS NOT NULL AND firmware IS NOT NULL
"""
    + _IN_GROUP
)
_SITE_COUNTS: LiteralString = """
SELECT NULL::integer AS profile, NULL::integer AS firmware, name AS site, devices, silent,
    judgeable, discovered, NULL::double precision AS evidence, false AS drifted, false AS named
FROM site_counts JOIN sites USING (site) WHERE name = %(site)s
"""
_SINGLE_GROUPS: LiteralString = (
    _GROUPS
    + " AND num_nonnulls(profile, firmware, groups.site) = 1"
    + " ORDER BY named DESC, drifted DESC, groups.devices DESC LIMIT %(limit)s"
)
_COHORTS: LiteralString = (
    _GROUPS
    + " AND num_nonnulls(profile, firmware, groups.site) = 3"
    + _IN_GROUP
    + " ORDER BY named DESC, drifted DESC, evidence DESC, discovered DESC LIMIT %(limit)s"
)
_NAMED_GROUPS: LiteralString = """
SELECT count(*) AS groups FROM groups WHERE judgement = %(judgement)s AND named
"""
# Only of stored groups: a fleet of many sites has more cohorts than a page can list. A number above
# all others stands for "any", because a join by IS NOT DISTINCT FROM compares all pairs.
_DISCOVERED: LiteralString = """
WITH counted AS (
    SELECT coalesce(profile, 1::bigint << 40) AS profile, coalesce(firmware, 1::bigint << 40)
        AS firmware, coalesce(site, 1::bigint << 40) AS site, count(*) AS devices
    FROM suspects WHERE judgement = %(judgement)s AND evidence_q8 >= %(cutoff_q8)s
    GROUP BY GROUPING SETS ((profile), (firmware), (site), (profile, firmware, site))
)
SELECT g.profile, g.firmware, sites.name AS site, counted.devices
FROM groups AS g JOIN counted ON counted.profile = coalesce(g.profile, 1::bigint << 40)
    AND counted.firmware = coalesce(g.firmware, 1::bigint << 40)
    AND counted.site = coalesce(g.site, 1::bigint << 40)
    LEFT JOIN sites ON sites.site = g.site
WHERE judgement = %(judgement)s
"""
_SUSPECT_COUNT: LiteralString = (
    """
SELECT count(*) AS devices FROM suspects JOIN sites USING (site)
WHERE judgement = %(judgement)s AND evidence_q8 >= %(cutoff_q8)s
"""
    + _IN_GROUP
)
_SUSPECTS: LiteralString = (
    """
SELECT device, profile, firmware, sites.name AS site, evidence_q8
FROM suspects JOIN sites USING (site)
WHERE judgement = %(judgement)s AND evidence_q8 >= %(cutoff_q8)s
"""
    + _IN_GROUP
    + "ORDER BY evidence_q8 DESC, device LIMIT %(limit)s OFFSET %(offset)s"
)
# Sums over all sites are rows of their own; a site's are summed over its cohorts.
_HOURS: LiteralString = """
SELECT hour, sum(records)::bigint AS records, sum(steps)::bigint AS steps,
    sum(abstained)::bigint AS abstained, sum(denied)::bigint AS denied,
    sum(alarms)::bigint AS alarms
FROM hours
WHERE hour > now() - %(hours)s * interval '1 hour'
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
GROUP BY hour ORDER BY hour
"""
_SITE_HOURS: LiteralString = """
SELECT hour, sum(records)::bigint AS records, sum(steps)::bigint AS steps,
    sum(abstained)::bigint AS abstained, sum(denied)::bigint AS denied,
    sum(alarms)::bigint AS alarms
FROM cohorts
WHERE hour > now() - %(hours)s * interval '1 hour'
    AND site = (SELECT site FROM sites WHERE name = %(site)s)
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
GROUP BY hour ORDER BY hour
"""
_ALARMS: LiteralString = """
SELECT alarm, kind::text, state::text, device, profile, firmware, sites.name AS site, opened,
    changed, raised_epochs, evidence, cause,
    (SELECT health_names FROM devices JOIN profiles USING (profile)
     WHERE devices.device = alarms.device) AS health_names
FROM alarms LEFT JOIN sites USING (site)
"""
_ACTIVE_ALARMS: LiteralString = (
    _ALARMS
    + """
WHERE state <> 'closed' AND (%(kind)s::text IS NULL OR alarms.kind = %(kind)s::alarm_kind)
ORDER BY alarms.kind = 'group' DESC, alarms.state DESC, alarms.kind, evidence DESC, alarm
LIMIT %(limit)s OFFSET %(offset)s
"""
)
_DEVICE_ALARMS: LiteralString = (
    _ALARMS + "WHERE device = %(device)s ORDER BY alarm DESC LIMIT %(limit)s"
)
_GROUP_ALARMS: LiteralString = (
    _ALARMS
    + """
WHERE state <> 'closed' AND kind = 'group'
    AND profile IS NOT DISTINCT FROM %(profile)s::integer
    AND firmware IS NOT DISTINCT FROM %(firmware)s::integer
    AND sites.name IS NOT DISTINCT FROM %(site)s::text
"""
)
_ALARM_COUNTS: LiteralString = """
SELECT kind::text, state::text, count(*) AS alarms FROM alarms WHERE state <> 'closed'
GROUP BY kind, state ORDER BY kind, state
"""


def newest(session: Session) -> JudgementRow | None:
    """Return the last judgement, or None before the first."""
    return session.row(JudgementRow, "newest", _JUDGEMENTS, {"limit": 1})


def judgements(session: Session, hours: int) -> list[JudgementRow]:
    """Return the last judgements, the newest first: one per hour, for a fleet judged hourly."""
    values = {"limit": max(hours, MIN_JUDGEMENTS)}
    return session.rows(JudgementRow, "judgements", _JUDGEMENTS, values)


def evidence(session: Session, judgement: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return evidence above 0 in 1/256 bit, ascending, and the number of devices with each."""

    def query() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        (row,) = session.rows(_EvidenceCounts, "evidence", _EVIDENCE, {"judgement": judgement})
        return np.array(row.evidence_q8, np.int64), np.array(row.devices, np.int64)

    return session.cached(("evidence", judgement), query)


def judged_group(session: Session, judgement: JudgementRow, group: Group) -> GroupRow | None:
    """Return a group's row: as judged, as its site was counted, or summed over its cohorts."""
    values = {"judgement": judgement.judgement, **group.numbers}
    if len(group.parts) == 2:
        if not judgement.all_groups:
            return None
        row = session.row(GroupRow, "group", _SUMMED_GROUP, values)
        return row if row is not None and row.devices else None
    row = session.row(GroupRow, "group", _JUDGED_GROUP, values)
    if row is None and group.parts.keys() == {"site"}:
        row = session.row(GroupRow, "site_counts", _SITE_COUNTS, values)
    return row


def single_groups(session: Session, judgement: int) -> list[GroupRow]:
    """Return groups by one identifier: named ones first, then drifted ones, then the largest."""
    values = {"judgement": judgement, "limit": MAX_CHOICES}
    return session.cached(
        ("single_groups", judgement),
        lambda: session.rows(GroupRow, "single_groups", _SINGLE_GROUPS, values),
    )


def named_groups(session: Session, judgement: int) -> int:
    """Return how many groups are named."""
    row = session.row(_GroupCount, "named_groups", _NAMED_GROUPS, {"judgement": judgement})
    return 0 if row is None else row.groups


def cohorts(session: Session, judgement: int, group: Group, limit: int = 10) -> list[GroupRow]:
    """Return the cohorts within a group, ranked by evidence."""
    values = {"judgement": judgement, "limit": limit, **group.numbers}
    return session.cached(
        ("cohorts", judgement, group, limit),
        lambda: session.rows(GroupRow, "cohorts", _COHORTS, values),
    )


def discovered_by_group(session: Session, judgement: int, cutoff_q8: int) -> dict[Group, int]:
    """Return how many suspects of each stored group have at least this evidence."""

    def query() -> dict[Group, int]:
        values = {"judgement": judgement, "cutoff_q8": cutoff_q8}
        rows = session.rows(_DiscoveredRow, "discovered", _DISCOVERED, values)
        return {Group.of(row.profile, row.firmware, row.site): row.devices for row in rows}

    return session.cached(("discovered", judgement, cutoff_q8), query)


def count_suspects(session: Session, judgement: int, cutoff_q8: int, group: Group) -> int:
    """Return how many suspects of a group have at least this evidence."""
    values = {"judgement": judgement, "cutoff_q8": cutoff_q8, **group.numbers}
    row = session.row(_DeviceCount, "suspect_count", _SUSPECT_COUNT, values)
    return 0 if row is None else row.devices


def suspects(
    session: Session, judgement: int, cutoff_q8: int, group: Group, *, page: int, limit: int = PAGE
) -> list[Suspect]:
    """Return suspects with at least this evidence, those with the most first."""
    values = {
        "judgement": judgement,
        "cutoff_q8": cutoff_q8,
        "limit": limit,
        "offset": (page - 1) * limit,
        **group.numbers,
    }
    return session.rows(Suspect, "suspects", _SUSPECTS, values)


def hours(session: Session, group: Group, count: int) -> list[Hour]:
    """Return the last hours, including the current one."""
    values = {"hours": count, **group.numbers}
    if group.site is not None:
        return session.rows(Hour, "site_hours", _SITE_HOURS, values)
    return session.rows(Hour, "hours", _HOURS, values)


def alarm_counts(session: Session) -> list[AlarmCount]:
    """Return the number of active alarms by kind and state."""
    return session.rows(AlarmCount, "alarm_counts", _ALARM_COUNTS, {})


def alarms(session: Session, kind: str | None, page: int, limit: int = PAGE) -> list[AlarmRow]:
    """Return active alarms, groups' and escalated ones first."""
    values = {"kind": kind, "limit": limit, "offset": (page - 1) * limit}
    return session.rows(AlarmRow, "alarms", _ACTIVE_ALARMS, values)


def alarms_of_device(session: Session, device: int) -> list[AlarmRow]:
    """Return a device's alarms, the newest first."""
    values = {"device": device, "limit": 20}
    return session.rows(AlarmRow, "alarms_of_device", _DEVICE_ALARMS, values)


def alarms_of_group(session: Session, group: Group) -> list[AlarmRow]:
    """Return the active alarms of exactly this group."""
    return session.rows(AlarmRow, "alarms_of_group", _GROUP_ALARMS, group.numbers)
