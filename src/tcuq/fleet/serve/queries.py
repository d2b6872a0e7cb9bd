# SPDX-License-Identifier: Apache-2.0
"""What the dashboard asks: roll-ups, and single devices by their key; never the whole fleet."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.serve.database import Session
from tcuq.fleet.serve.identity import Group

PAGE = 50  # rows of a list
MAX_PAGE = 200
CHOICES = 500  # of a filter
JUDGEMENTS = 30  # of a chart, at least


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found, and when."""

    judgement: int
    judged: datetime
    level: float
    devices: int
    silent: int
    judgeable: int
    discovered: int
    cutoff_q8: int | None


@dataclass(frozen=True, slots=True)
class Tally:
    """A group as the judge saw it; evidence is None of a group that was not judged as one.

    A group that drifted is named if not another's devices explain it.
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
        """Its name."""
        return Group.of(self.profile, self.firmware, self.site)


@dataclass(frozen=True, slots=True)
class Hour:
    """What cohorts did in an hour."""

    hour: datetime
    records: int
    steps: int
    abstained: int
    denied: int
    alarms: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A device with much evidence."""

    device: int
    profile: int
    firmware: int
    site: str
    evidence_q8: int


@dataclass(frozen=True, slots=True)
class Alarm:
    """A standing or closed alarm."""

    alarm: int
    kind: str
    state: str
    device: int | None
    profile: int | None
    firmware: int | None
    site: str | None
    opened: datetime
    changed: datetime
    seen: int
    evidence: float

    @property
    def group(self) -> Group:
        """Of a group's alarm: which."""
        return Group.of(self.profile, self.firmware, self.site)


@dataclass(frozen=True, slots=True)
class Standing:
    """How many alarms of a kind stand."""

    kind: str
    state: str
    alarms: int


@dataclass(frozen=True, slots=True)
class _Counts:
    evidence_q8: list[int]
    devices: list[int]


@dataclass(frozen=True, slots=True)
class _Named:
    groups: int


@dataclass(frozen=True, slots=True)
class _Found:
    profile: int | None
    firmware: int | None
    site: str | None
    devices: int


_JUDGEMENTS: LiteralString = """
SELECT judgement, judged, level, devices, silent, judgeable, discovered, cutoff_q8
FROM judgements ORDER BY judgement DESC LIMIT %(limit)s
"""
_EVIDENCE: LiteralString = """
SELECT coalesce(array_agg(evidence_q8 ORDER BY evidence_q8), '{}') AS evidence_q8,
    coalesce(array_agg(devices ORDER BY evidence_q8), '{}') AS devices
FROM evidence WHERE judgement = %(judgement)s
"""
_TALLY: LiteralString = """
SELECT profile, firmware, sites.name AS site, devices, silent, judgeable, discovered, evidence,
    drifted, named
FROM groups LEFT JOIN sites USING (site) WHERE judgement = %(judgement)s
"""
# A group that is judged as one, or the sum over the cohorts in it.
_EXACT: LiteralString = (
    _TALLY
    + """
    AND profile IS NOT DISTINCT FROM %(profile)s::integer
    AND firmware IS NOT DISTINCT FROM %(firmware)s::integer
    AND sites.name IS NOT DISTINCT FROM %(site)s::text
"""
)
_SUM: LiteralString = """
SELECT %(profile)s::integer AS profile, %(firmware)s::integer AS firmware, %(site)s::text AS site,
    coalesce(sum(devices), 0)::bigint AS devices, coalesce(sum(silent), 0)::bigint AS silent,
    coalesce(sum(judgeable), 0)::bigint AS judgeable,
    coalesce(sum(discovered), 0)::bigint AS discovered,
    NULL::double precision AS evidence, false AS drifted, false AS named
FROM groups JOIN sites USING (site)
WHERE judgement = %(judgement)s AND profile IS NOT NULL AND firmware IS NOT NULL
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
    AND (%(site)s::text IS NULL OR sites.name = %(site)s)
"""
_SINGLE: LiteralString = (
    _TALLY
    + " AND num_nonnulls(profile, firmware, groups.site) = 1"
    + " ORDER BY named DESC, drifted DESC, groups.devices DESC LIMIT %(limit)s"
)
_INSIDE: LiteralString = (
    _TALLY
    + """
    AND num_nonnulls(profile, firmware, groups.site) = 3
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
    AND (%(site)s::text IS NULL OR sites.name = %(site)s)
    ORDER BY named DESC, drifted DESC, evidence DESC LIMIT %(limit)s
"""
)
_NAMED: LiteralString = """
SELECT count(*) AS groups FROM groups WHERE judgement = %(judgement)s AND named
"""
_DISCOVERED: LiteralString = """
SELECT profile, firmware, (SELECT name FROM sites WHERE sites.site = found.site) AS site, devices
FROM (
    SELECT profile, firmware, site, count(*) AS devices FROM suspects
    WHERE judgement = %(judgement)s AND evidence_q8 >= %(cutoff_q8)s
    GROUP BY GROUPING SETS ((profile), (firmware), (site), (profile, firmware, site))
) AS found
"""
_SUSPECTS: LiteralString = """
SELECT device, profile, firmware, sites.name AS site, evidence_q8
FROM suspects JOIN sites USING (site)
WHERE judgement = %(judgement)s AND evidence_q8 >= %(cutoff_q8)s
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
    AND (%(site)s::text IS NULL OR sites.name = %(site)s)
ORDER BY evidence_q8 DESC, device LIMIT %(limit)s OFFSET %(offset)s
"""
_HOURS: LiteralString = """
SELECT hour, sum(records)::bigint AS records, sum(steps)::bigint AS steps,
    sum(abstained)::bigint AS abstained, sum(denied)::bigint AS denied,
    sum(alarms)::bigint AS alarms
FROM cohorts
WHERE hour > now() - %(hours)s * interval '1 hour'
    AND (%(profile)s::integer IS NULL OR profile = %(profile)s)
    AND (%(firmware)s::integer IS NULL OR firmware = %(firmware)s)
    AND (%(site)s::text IS NULL OR site = (SELECT site FROM sites WHERE name = %(site)s))
GROUP BY hour ORDER BY hour
"""
_ALARMS: LiteralString = """
SELECT alarm, kind::text, state::text, device, profile, firmware, sites.name AS site, opened,
    changed, seen, evidence
FROM alarms LEFT JOIN sites USING (site)
"""
_STANDING_ALARMS: LiteralString = (
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
_STANDING: LiteralString = """
SELECT kind::text, state::text, count(*) AS alarms FROM alarms WHERE state <> 'closed'
GROUP BY kind, state ORDER BY kind, state
"""


def newest(session: Session) -> Judgement | None:
    """The last judgement, if there was one."""
    return session.row(Judgement, "newest", _JUDGEMENTS, {"limit": 1})


def judgements(session: Session, hours: int) -> list[Judgement]:
    """The last ones, the newest first: as many as hours, for a fleet judged every hour."""
    values = {"limit": max(hours, JUDGEMENTS)}
    return session.rows(Judgement, "judgements", _JUDGEMENTS, values)


def evidence(session: Session, judgement: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Evidence above 0 bits, ascending in 1/256 bit, and how many devices have each."""

    def ask() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        (row,) = session.rows(_Counts, "evidence", _EVIDENCE, {"judgement": judgement})
        return np.array(row.evidence_q8, np.int64), np.array(row.devices, np.int64)

    return session.kept(("evidence", judgement), ask)


def tally(session: Session, judgement: int, group: Group) -> Tally | None:
    """A group as it was judged; of two names, the sum over its cohorts."""
    values = {"judgement": judgement, **group.numbers}
    if len(group.parts) == 2:
        summed = session.row(Tally, "tally", _SUM, values)
        return summed if summed is not None and summed.devices else None
    return session.row(Tally, "tally", _EXACT, values)


def choices(session: Session, judgement: int) -> list[Tally]:
    """Profiles, firmware and sites, each alone: those that drifted, then the largest, first."""
    values = {"judgement": judgement, "limit": CHOICES}
    return session.kept(
        ("choices", judgement), lambda: session.rows(Tally, "choices", _SINGLE, values)
    )


def named(session: Session, judgement: int) -> int:
    """How many groups account for what drifts."""
    row = session.row(_Named, "named", _NAMED, {"judgement": judgement})
    return 0 if row is None else row.groups


def inside(session: Session, judgement: int, group: Group, limit: int = 10) -> list[Tally]:
    """The cohorts within a group, by evidence."""
    values = {"judgement": judgement, "limit": limit, **group.numbers}
    return session.kept(
        ("inside", judgement, group, limit),
        lambda: session.rows(Tally, "inside", _INSIDE, values),
    )


def discovered(session: Session, judgement: int, cutoff_q8: int) -> dict[Group, int]:
    """How many devices of each group have at least so much evidence."""

    def ask() -> dict[Group, int]:
        values = {"judgement": judgement, "cutoff_q8": cutoff_q8}
        rows = session.rows(_Found, "discovered", _DISCOVERED, values)
        return {Group.of(row.profile, row.firmware, row.site): row.devices for row in rows}

    return session.kept(("discovered", judgement, cutoff_q8), ask)


def suspects(
    session: Session, judgement: int, cutoff_q8: int, group: Group, *, page: int, limit: int = PAGE
) -> list[Suspect]:
    """Devices with at least so much evidence, the most first."""
    values = {
        "judgement": judgement,
        "cutoff_q8": cutoff_q8,
        "limit": limit,
        "offset": (page - 1) * limit,
        **group.numbers,
    }
    return session.rows(Suspect, "suspects", _SUSPECTS, values)


def hours(session: Session, group: Group, count: int) -> list[Hour]:
    """The last hours, the present one too, which is not whole."""
    return session.rows(Hour, "hours", _HOURS, {"hours": count, **group.numbers})


def standing(session: Session) -> list[Standing]:
    """Counts of alarms that stand."""
    return session.rows(Standing, "standing", _STANDING, {})


def alarms(session: Session, kind: str | None, page: int, limit: int = PAGE) -> list[Alarm]:
    """Alarms that stand, groups' and escalated ones first."""
    values = {"kind": kind, "limit": limit, "offset": (page - 1) * limit}
    return session.rows(Alarm, "alarms", _STANDING_ALARMS, values)


def alarms_of_device(session: Session, device: int) -> list[Alarm]:
    """A device's, the newest first."""
    values = {"device": device, "limit": 20}
    return session.rows(Alarm, "alarms_of_device", _DEVICE_ALARMS, values)


def alarms_of_group(session: Session, group: Group) -> list[Alarm]:
    """That stand for exactly this group."""
    return session.rows(Alarm, "alarms_of_group", _GROUP_ALARMS, group.numbers)
