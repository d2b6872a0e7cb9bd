# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboard for groups, and for the devices that are discovered in them."""

from collections.abc import Mapping
from typing import LiteralString

from pydantic import BaseModel

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group, device_number
from tcuq_fleet.serve.queries import IN_GROUP, MAX_CHOICES, PAGE, JudgementRow
from tcuq_fleet.wire import DeviceId, FirmwareId, ProfileId, firmware_name, profile_name


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


class Suspect(BaseModel):
    """A device on the judge's list of suspects."""

    device: DeviceId
    profile: ProfileId
    firmware: FirmwareId
    site: str
    evidence_bits: float
    name: str | None  # in the registry


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
    + " ORDER BY named DESC, drifted DESC, groups.devices DESC, profile, firmware, site, owner"
    + " LIMIT %(limit)s"
)
_COHORTS: LiteralString = (
    _GROUPS
    + " AND num_nonnulls(profile, firmware, groups.site) = 3"
    + IN_GROUP
    + " ORDER BY named DESC, drifted DESC, evidence DESC, discovered DESC, profile, firmware, site,"
    " owner LIMIT %(limit)s"
)
_RELEASES: LiteralString = """
SELECT DISTINCT profile, firmware FROM hours WHERE hour > now() - interval '7 days'
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
ORDER BY profile, firmware LIMIT %(limit)s
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
