# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboard: roll-ups, and single devices by their key; never the whole fleet."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group

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
    gone: int
    all_groups: bool  # whether every group is stored, not only the notable ones
    tested: int  # devices of the whole fleet in the e-BH, whatever the viewer sees


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
class FirmwareHour:
    """Records of one firmware version in one hour."""

    hour: datetime
    firmware: int
    records: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A device on the judge's list of suspects."""

    device: int
    profile: int
    firmware: int
    site: str
    evidence_q8: int
    name: str | None  # in the registry


@dataclass(frozen=True, slots=True)
class _EvidenceCounts:
    evidence_q8: list[int]
    devices: list[int]


@dataclass(frozen=True, slots=True)
class _Release:
    profile: int
    firmware: int


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


# Every query reads only sites of the viewer's owners; %(owners)s is null for one who sees all.
_IN_GROUP: LiteralString = """
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
    AND (%(site)s::text IS NULL OR sites.name = %(site)s)
    AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
"""
_JUDGEMENTS: LiteralString = """
SELECT judgement, judged, level, devices, silent, judgeable, discovered, cutoff_q8, gone,
    all_groups, judgeable AS tested
FROM judgements ORDER BY judgement DESC LIMIT %(limit)s
"""
_OWN_JUDGEMENTS: LiteralString = """
SELECT judgement, judged, level, coalesce(sum(own.devices), 0)::bigint AS devices,
    coalesce(sum(own.silent), 0)::bigint AS silent,
    coalesce(sum(own.judgeable), 0)::bigint AS judgeable,
    coalesce(sum(own.discovered), 0)::bigint AS discovered, cutoff_q8, 0::bigint AS gone,
    all_groups, newest.judgeable AS tested
FROM (SELECT * FROM judgements ORDER BY judgement DESC LIMIT %(limit)s) AS newest
    LEFT JOIN (SELECT * FROM owner_counts WHERE owner = ANY(%(owners)s)) AS own USING (judgement)
GROUP BY judgement, judged, level, cutoff_q8, all_groups, newest.judgeable
ORDER BY judgement DESC
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
    AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
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
    AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
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
_RELEASES: LiteralString = """
SELECT DISTINCT profile, firmware FROM hours WHERE hour > now() - interval '7 days'
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
ORDER BY profile, firmware LIMIT %(limit)s
"""
_ADOPTION: LiteralString = """
SELECT hour, firmware, sum(records)::bigint AS records FROM hours
WHERE hour > now() - %(hours)s * interval '1 hour'
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
GROUP BY hour, firmware ORDER BY hour, firmware
"""
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
    AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
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
SELECT device, profile, firmware, sites.name AS site, evidence_q8, registry.name
FROM suspects JOIN sites USING (site) LEFT JOIN registry USING (device)
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
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
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
    AND site = (SELECT site FROM sites WHERE name = %(site)s
        AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s)))
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
GROUP BY hour ORDER BY hour
"""


def newest(session: Session) -> JudgementRow | None:
    """Return the last judgement, or None before the first."""
    return next(iter(_judgements(session, "newest", 1)), None)


def judgements(session: Session, hours: int) -> list[JudgementRow]:
    """Return the last judgements, the newest first: one per hour, for a fleet judged hourly."""
    return _judgements(session, "judgements", max(hours, MIN_JUDGEMENTS))


def _judgements(session: Session, name: str, limit: int) -> list[JudgementRow]:
    query = _JUDGEMENTS if session.sees_all else _OWN_JUDGEMENTS
    return session.rows(JudgementRow, name, query, {"limit": limit})


def evidence(session: Session, judgement: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return evidence above 0 in 1/256 bit, ascending, and the number of devices with each."""

    def query() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        (row,) = session.rows(_EvidenceCounts, "evidence", _EVIDENCE, {"judgement": judgement})
        return np.array(row.evidence_q8, np.int64), np.array(row.devices, np.int64)

    return session.cached(("evidence", judgement), query)


def judged_group(session: Session, judgement: JudgementRow, group: Group) -> GroupRow | None:
    """Return a group's row: as judged, as its site was counted, or summed over its cohorts."""
    values = {"judgement": judgement.judgement, **group.numbers}
    if len(group.parts) == 2 or not (session.sees_all or group.site):
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


def choices(session: Session, judgement: int) -> list[Group]:
    """Return what a filter offers: profiles, firmware versions and sites."""
    sites = [row.group for row in single_groups(session, judgement) if row.site is not None]
    values = {"limit": MAX_CHOICES}
    releases = session.rows(_Release, "releases", _RELEASES, values)
    profiles = dict.fromkeys(Group.of(row.profile, None, None) for row in releases)
    firmwares = dict.fromkeys(Group.of(None, row.firmware, None) for row in releases)
    return [*profiles, *firmwares, *sites]


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


def adoption(session: Session, count: int) -> list[FirmwareHour]:
    """Return the records of each firmware version in the last hours."""
    return session.rows(FirmwareHour, "adoption", _ADOPTION, {"hours": count})
