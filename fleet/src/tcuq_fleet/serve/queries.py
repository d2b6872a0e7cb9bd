# SPDX-License-Identifier: Apache-2.0
"""Queries of the dashboard for the whole fleet: judgements, hours, firmware versions, profiles.

They read roll-ups, never one row per device of the fleet.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import Group
from tcuq_fleet.wire import ProfileId

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
_ADOPTION: LiteralString = """
SELECT hour, firmware, sum(records)::bigint AS records FROM hours
WHERE hour > now() - %(hours)s * interval '1 hour'
    AND (%(owners)s::integer[] IS NULL OR owner = ANY(%(owners)s))
GROUP BY hour, firmware ORDER BY hour, firmware
"""
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
