# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboard: roll-ups, and single devices by their key; never the whole fleet."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group, device_number
from tcuq_fleet.wire import DeviceId, FirmwareId, ProfileId, firmware_name, profile_name

PAGE = 50  # rows per page of a list
MAX_PAGE = 200
MAX_CHOICES = 500  # in a filter
MIN_JUDGEMENTS = 30  # in a chart
MAX_PROFILES = 100  # listed


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
    gone: int
    all_groups: bool  # whether every group is stored, not only the notable ones
    compared: int  # devices whose change could be judged
    changed: int


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """What a judgement says of one owner's devices; 0: sites without an owner."""

    owner: int
    judgeable: int
    discovered: int
    cutoff_q8: int | None


class GroupRow(BaseModel):
    """A judged group of one owner's devices, or the sum over several owners'.

    `discovered` counts its devices at the level in question. Evidence is None for a group that was
    not judged as one. A drifted group is named unless another
    group's devices explain it.
    """

    profile: ProfileId | None = None
    firmware: FirmwareId | None = None
    site: str | None = None
    owner: str | None = None  # None: sites without an owner, or of several
    devices: int
    silent: int
    judgeable: int
    discovered: int
    evidence_bits: float | None = None
    drifted: bool = False
    named: bool = False
    explained: bool = False  # within a group that is named

    @property
    def group(self) -> Group:
        """The group's identifiers."""
        return Group(self.profile, self.firmware, self.site)

    @property
    def share(self) -> float:
        """The discovered share of the judgeable devices."""
        return self.discovered / self.judgeable if self.judgeable else 0.0


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


class Suspect(BaseModel):
    """A device on the judge's list of suspects."""

    device: DeviceId
    profile: ProfileId
    firmware: FirmwareId
    site: str
    evidence_bits: float
    name: str | None  # in the registry


class ProfileUse(BaseModel):
    """Devices whose newest record names one profile, and their share of all devices."""

    profile: ProfileId
    devices: int
    silent: int
    share: float


# Every query reads only sites of the viewer's owners; %(owners)s is null for one who sees all.
IN_GROUP: LiteralString = """
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
    AND (%(site)s::text IS NULL OR sites.name = %(site)s)
    AND (%(owners)s::integer[] IS NULL OR sites.owner = ANY(%(owners)s))
"""
_JUDGEMENTS: LiteralString = """
SELECT judgement, judged, level, devices, silent, judgeable, discovered, gone, all_groups,
    coalesce(of_owners.tested, 0)::bigint AS compared,
    coalesce(of_owners.changed, 0)::bigint AS changed
FROM (SELECT * FROM judgements ORDER BY judgement DESC LIMIT %(limit)s) AS newest
    LEFT JOIN LATERAL (SELECT sum(tested) AS tested, sum(changed) AS changed
        FROM change_counts AS c WHERE c.judgement = newest.judgement) AS of_owners ON true
ORDER BY judgement DESC
"""
_OWN_JUDGEMENTS: LiteralString = """
SELECT judgement, judged, level, coalesce(sum(own.devices), 0)::bigint AS devices,
    coalesce(sum(own.silent), 0)::bigint AS silent,
    coalesce(sum(own.judgeable), 0)::bigint AS judgeable,
    coalesce(sum(own.discovered), 0)::bigint AS discovered, 0::bigint AS gone, all_groups,
    coalesce(sum(compared), 0)::bigint AS compared, coalesce(sum(changed), 0)::bigint AS changed
FROM (SELECT * FROM judgements ORDER BY judgement DESC LIMIT %(limit)s) AS newest
    LEFT JOIN (SELECT * FROM owner_counts WHERE owner = ANY(%(owners)s)) AS own USING (judgement)
    LEFT JOIN (SELECT judgement, owner, tested AS compared, changed FROM change_counts) AS changes
        USING (judgement, owner)
GROUP BY judgement, judged, level, all_groups
ORDER BY judgement DESC
"""
_OWNERS: LiteralString = """
SELECT owner, judgeable, discovered, cutoff_q8 FROM owner_counts WHERE judgement = %(judgement)s
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
"""
_EVIDENCE: LiteralString = """
SELECT coalesce(array_agg(owner), '{}'), coalesce(array_agg(evidence_q8), '{}'),
    coalesce(array_agg(devices), '{}')
FROM evidence WHERE judgement = %(judgement)s
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
"""
_FROM_GROUPS: LiteralString = """
FROM groups LEFT JOIN sites USING (site) LEFT JOIN owners ON owners.owner = groups.owner
WHERE judgement = %(judgement)s
    AND (%(owners)s::integer[] IS NULL OR groups.owner = ANY(%(owners)s))
"""
_GROUPS: LiteralString = (
    """
SELECT profile, firmware, sites.name AS site, owners.name AS owner, devices, silent, judgeable,
    discovered, evidence AS evidence_bits, drifted, named
"""
    + _FROM_GROUPS
)
# A group that was judged as one, or as one of each owner, and one that is summed over its cohorts.
_JUDGED_GROUP: LiteralString = (
    """
SELECT profile, firmware, sites.name AS site, sum(devices)::bigint AS devices,
    sum(silent)::bigint AS silent, sum(judgeable)::bigint AS judgeable,
    sum(discovered)::bigint AS discovered, bool_or(drifted) AS drifted, bool_or(named) AS named,
    CASE WHEN count(*) = 1 THEN max(evidence) END AS evidence_bits
"""
    + _FROM_GROUPS
    + """
    AND profile IS NOT DISTINCT FROM %(profile)s::integer
    AND firmware IS NOT DISTINCT FROM %(firmware)s::integer
    AND sites.name IS NOT DISTINCT FROM %(site)s::text
GROUP BY 1, 2, 3
"""
)
_SUMMED_GROUP: LiteralString = (
    """
SELECT %(profile)s::integer AS profile, %(firmware)s::integer AS firmware, %(site)s::text AS site,
    coalesce(sum(devices), 0)::bigint AS devices, coalesce(sum(silent), 0)::bigint AS silent,
    coalesce(sum(judgeable), 0)::bigint AS judgeable,
    coalesce(sum(discovered), 0)::bigint AS discovered
FROM groups JOIN sites USING (site)
WHERE judgement = %(judgement)s AND profile IS NOT NULL AND firmware IS NOT NULL
"""
    + IN_GROUP
)
_SITE_COUNTS: LiteralString = """
SELECT name AS site, devices, silent, judgeable, discovered
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
    + IN_GROUP
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
SELECT count(*) FROM groups WHERE judgement = %(judgement)s AND named
"""
# Each owner's suspects from the owner's cut-off on.
_AT_LEVEL: LiteralString = """
FROM suspects JOIN unnest(%(of)s::integer[], %(cutoffs)s::integer[]) AS least (owner, cutoff_q8)
    ON least.owner = suspects.owner AND evidence_q8 >= cutoff_q8
"""
# Only of stored groups: a fleet of many sites has more cohorts than a page can list. A number above
# all others stands for "any", because a join by IS NOT DISTINCT FROM compares all pairs.
_DISCOVERED: LiteralString = (
    """
WITH counted AS (
    SELECT suspects.owner, coalesce(profile, 1::bigint << 40) AS profile,
        coalesce(firmware, 1::bigint << 40) AS firmware,
        coalesce(site, 1::bigint << 40) AS site, count(*) AS devices
"""
    + _AT_LEVEL
    + """
    WHERE judgement = %(judgement)s GROUP BY suspects.owner,
        GROUPING SETS ((profile), (firmware), (site), (profile, firmware, site))
)
SELECT g.profile, g.firmware, sites.name AS site, owners.name, counted.devices
FROM groups AS g JOIN counted ON counted.profile = coalesce(g.profile, 1::bigint << 40)
    AND counted.firmware = coalesce(g.firmware, 1::bigint << 40)
    AND counted.site = coalesce(g.site, 1::bigint << 40) AND counted.owner = g.owner
    LEFT JOIN sites ON sites.site = g.site LEFT JOIN owners ON owners.owner = g.owner
WHERE judgement = %(judgement)s
    AND (%(owners)s::integer[] IS NULL OR g.owner = ANY(%(owners)s))
"""
)
_SUSPECT_COUNT: LiteralString = (
    "SELECT count(*)"
    + _AT_LEVEL
    + "JOIN sites USING (site) WHERE judgement = %(judgement)s"
    + IN_GROUP
)
_SUSPECTS: LiteralString = (
    """
SELECT device, profile, firmware, sites.name AS site, evidence_q8 / 256.0 AS evidence_bits,
    registry.name
"""
    + _AT_LEVEL
    + """
JOIN sites USING (site) LEFT JOIN registry USING (device) WHERE judgement = %(judgement)s
"""
    + IN_GROUP
    + "ORDER BY evidence_q8 DESC, device LIMIT %(limit)s OFFSET %(offset)s"
)
# Sums over all sites are rows of their own; a site's are summed over its cohorts.
_SUMS: LiteralString = """
SELECT hour, sum(records)::bigint AS records, sum(steps)::bigint AS steps,
    sum(abstained)::bigint AS abstained, sum(denied)::bigint AS denied,
    sum(alarms)::bigint AS alarms
"""
_RECENT: LiteralString = """
WHERE hour > now() - %(hours)s * interval '1 hour'
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
"""
_OF_OWNERS: LiteralString = """
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
"""
_OF_SITE: LiteralString = """
    AND site = (SELECT site FROM sites WHERE name = %(site)s
        AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s)))
"""
_BY_HOUR: LiteralString = "GROUP BY hour ORDER BY hour"
_HOURS: LiteralString = _SUMS + "FROM hours" + _RECENT + _OF_OWNERS + _BY_HOUR
_SITE_HOURS: LiteralString = _SUMS + "FROM cohorts" + _RECENT + _OF_SITE + _BY_HOUR
_PROFILES: LiteralString = """
SELECT profile, sum(devices)::bigint AS devices, sum(silent)::bigint AS silent,
    sum(devices)::float / sum(sum(devices)) OVER () AS share
FROM profile_counts WHERE %(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s)
GROUP BY profile ORDER BY devices DESC, profile LIMIT %(limit)s
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


def owners(session: Session, judgement: int) -> list[OwnerRow]:
    """Return what a judgement says of each visible owner's devices."""
    return session.cached(
        ("owners", judgement),
        lambda: session.rows(OwnerRow, "owners", _OWNERS, {"judgement": judgement}),
    )


def evidence(session: Session, judgement: int) -> list[NDArray[np.int64]]:
    """Return owners, evidence above 0 in 1/256 bit, and the number of devices with each."""

    def query() -> list[NDArray[np.int64]]:
        (columns,) = session.tuples("evidence", _EVIDENCE, {"judgement": judgement})
        return [np.array(column, np.int64) for column in columns]

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


def choices(session: Session, judgement: int) -> list[Group]:
    """Return what a filter offers: profiles, firmware versions and sites."""
    sites = [row.group for row in single_groups(session, judgement) if row.site is not None]
    releases = session.of_all("releases", _RELEASES, {"limit": MAX_CHOICES})
    profiles = dict.fromkeys(Group(profile=profile_name(profile)) for profile, _ in releases)
    firmwares = dict.fromkeys(Group(firmware=firmware_name(code)) for _, code in releases)
    return [*profiles, *firmwares, *sites]


def named_groups(session: Session, judgement: int) -> int:
    """Return how many groups are named."""
    ((count,),) = session.tuples("named_groups", _NAMED_GROUPS, {"judgement": judgement})
    return int(count)


def cohorts(session: Session, judgement: int, group: Group, limit: int = 10) -> list[GroupRow]:
    """Return the cohorts within a group, ranked by evidence."""
    values = {"judgement": judgement, "limit": limit, **group.numbers}
    return session.cached(
        ("cohorts", judgement, group, limit),
        lambda: session.rows(GroupRow, "cohorts", _COHORTS, values),
    )


def discovered_by_group(
    session: Session, judgement: int, cutoffs_q8: Mapping[int, int]
) -> dict[tuple[str | None, Group], int]:
    """Return how many suspects of each owner's stored groups have at least the evidence given."""

    def query() -> dict[tuple[str | None, Group], int]:
        values = {"judgement": judgement, **_cutoffs(cutoffs_q8)}
        return {
            (owner, Group(
                None if profile is None else profile_name(profile),
                None if firmware is None else firmware_name(firmware),
                site,
            )): devices
            for profile, firmware, site, owner, devices in session.sums(
                "discovered", _DISCOVERED, values, 4
            )
        }  # fmt: skip

    return session.cached(("discovered", judgement, tuple(cutoffs_q8.items())), query)


def _cutoffs(cutoffs_q8: Mapping[int, int]) -> dict[str, object]:
    return {"of": list(cutoffs_q8), "cutoffs": list(cutoffs_q8.values())}


def count_suspects(
    session: Session, judgement: int, cutoffs_q8: Mapping[int, int], group: Group
) -> int:
    """Return how many suspects of a group have at least their owner's evidence."""
    values = {"judgement": judgement, **_cutoffs(cutoffs_q8), **group.numbers}
    ((count,),) = session.sums("suspect_count", _SUSPECT_COUNT, values, 0)
    return int(count)


def suspects(
    session: Session,
    judgement: int,
    cutoffs_q8: Mapping[int, int],
    group: Group,
    *,
    page: int,
    limit: int = PAGE,
) -> list[Suspect]:
    """Return suspects with at least their owner's evidence, those with the most first."""
    values = {
        "judgement": judgement,
        **_cutoffs(cutoffs_q8),
        "limit": limit,
        "offset": (page - 1) * limit,
        **group.numbers,
    }
    return session.page(Suspect, "suspects", _SUSPECTS, values, _suspects_order)


def _suspects_order(suspect: Suspect) -> tuple[float, int]:
    return -suspect.evidence_bits, device_number(suspect.device)


def hours(session: Session, group: Group, count: int) -> list[Hour]:
    """Return the last hours, including the current one."""
    values = {"hours": count, **group.numbers}
    if group.site is not None:
        rows = session.sums("site_hours", _SITE_HOURS, values, 1)
    else:
        rows = session.sums("hours", _HOURS, values, 1)
    return [Hour(*row) for row in sorted(rows)]


def adoption(session: Session, count: int) -> list[FirmwareHour]:
    """Return the records of each firmware version in the last hours."""
    rows = session.sums("adoption", _ADOPTION, {"hours": count}, 2)
    return [FirmwareHour(*row) for row in sorted(rows)]


def profiles_in_use(session: Session) -> list[ProfileUse]:
    """Return the profiles with the most devices, as the newest judgement counted them."""
    return session.rows(ProfileUse, "profiles", _PROFILES, {"limit": MAX_PROFILES})
