# SPDX-License-Identifier: Apache-2.0
"""The dashboard's figures as JSON, described by /openapi.json."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from pydantic import BaseModel, ConfigDict

from tcuq_fleet.serve import alarm_queries, levels, queries, registry_queries
from tcuq_fleet.serve import device as devices
from tcuq_fleet.serve.adoption import profiles_in_use
from tcuq_fleet.serve.identifiers import (
    ALL_DEVICES,
    DEVICE,
    FIRMWARE,
    PROFILE,
    SITE,
    Group,
    device_number,
    device_text,
)
from tcuq_fleet.serve.pages import OpenSession
from tcuq_fleet.serve.view import HOURS, Level, Page
from tcuq_fleet.serve.wording import HALF_BITS, UNITS_PER_BIT
from tcuq_fleet.wire import firmware_name, profile_name


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class Problem(_Model):
    """Why a request failed."""

    detail: str


class FleetHealth(_Model):
    """The fleet at its last judgement; `judged` is null before the first."""

    judged: datetime | None = None
    level: float | None = None
    devices: int = 0
    silent: int = 0
    judgeable: int = 0
    discovered: int = 0
    cutoff_bits: float | None = None
    alarms: dict[str, int]
    hours: list[queries.Hour]


class GroupDiscoveries(_Model):
    """A group with discovered devices; an identifier that is null means any."""

    profile: str | None
    firmware: str | None
    site: str | None
    devices: int
    silent: int
    judgeable: int
    discovered: int
    evidence_bits: float | None
    drifted: bool
    named: bool


class ProfileAdoption(_Model):
    """Devices whose newest record names one profile, and their share of all devices."""

    profile: str
    devices: int
    silent: int
    share: float


class SuspectDevice(_Model):
    """A device that is discovered at the level."""

    device: str
    profile: str
    firmware: str
    site: str
    evidence_bits: float


class ActiveAlarm(_Model):
    """An active alarm; a group's identifiers that are null mean any."""

    alarm: int
    kind: Literal["device", "group", "silent"]
    severity: Literal["warning", "critical"]
    device: str | None
    name: str | None
    profile: str | None
    firmware: str | None
    site: str | None
    owner: str | None
    evidence: float
    cause: str
    opened: datetime
    changed: datetime
    acknowledged: datetime | None
    acknowledged_by: str | None
    muted_until: datetime | None


class QuarantinedDevice(_Model):
    """A device whose last record waits because its boot is far ahead of the stored one."""

    device: str
    name: str | None
    site: str
    boot: int
    stored_boot: int
    records: int
    last: datetime


class EpochIncrement(_Model):
    """What an epoch added to the counters; `closed` is false for the running epoch.

    A device counts its steps into epochs of a number that its profile sets.
    """

    epoch: int
    boot: int
    stored: datetime
    closed: bool
    evidence_bits: float
    steps: int
    abstained: int
    denied: int
    alarms: int
    risk_histogram: list[int]


class DeviceDetail(_Model):
    """A device's latest state and its last epochs."""

    device: str
    name: str | None
    owner: str | None
    state: Literal["active", "retired"]
    muted_until: datetime | None
    quarantined_boot: int | None
    profile: str
    firmware: str
    site: str
    last_seen: datetime
    boot: int
    sequence: int
    epoch: int
    threshold: float
    evidence_bits: float | None
    discovered: bool
    cause: str
    epochs: list[EpochIncrement]


router = APIRouter(prefix="/api", responses={422: {"model": Problem}, 503: {"model": Problem}})


def parse_group(
    profile: Annotated[str | None, Query(pattern=PROFILE)] = None,
    firmware: Annotated[str | None, Query(pattern=FIRMWARE)] = None,
    site: Annotated[str | None, Query(pattern=SITE)] = None,
) -> Group:
    """Read a group from a URL's query."""
    return Group(profile, firmware, site)


QueryGroup = Annotated[Group, Depends(parse_group)]


@router.get("/fleet")
def fleet(
    session: OpenSession,
    level: Level = None,
    hours: Annotated[int, Query(ge=1, le=HOURS[-1])] = HOURS[0],
) -> FleetHealth:
    """Return the fleet's health at a glance."""
    judged = queries.newest(session)
    counts: dict[str, int] = {}
    for row in alarm_queries.alarm_counts(session):
        counts[row.kind] = counts.get(row.kind, 0) + row.alarms
    rows = queries.hours(session, ALL_DEVICES, hours)
    if judged is None:
        return FleetHealth(alarms=counts, hours=rows)
    finding = levels.finding_at(session, judged, level)
    return FleetHealth(
        judged=judged.judged,
        level=finding.level,
        devices=judged.devices,
        silent=judged.silent,
        judgeable=judged.judgeable,
        discovered=finding.discovered,
        cutoff_bits=_bits(finding.cutoff_q8),
        alarms=counts,
        hours=rows,
    )


@router.get("/groups")
def groups(session: OpenSession, level: Level = None) -> list[GroupDiscoveries]:
    """Return groups with discovered devices, ranked."""
    judged = queries.newest(session)
    if judged is None:
        return []
    finding = levels.finding_at(session, judged, level)
    return [
        GroupDiscoveries(
            profile=ranked.row.group.profile,
            firmware=ranked.row.group.firmware,
            site=ranked.row.group.site,
            devices=ranked.row.devices,
            silent=ranked.row.silent,
            judgeable=ranked.row.judgeable,
            discovered=ranked.discovered,
            evidence_bits=ranked.row.evidence,
            drifted=ranked.row.drifted,
            named=ranked.row.named,
        )
        for ranked in levels.drifting(session, judged, finding)
    ]


@router.get("/profiles")
def profiles(session: OpenSession) -> list[ProfileAdoption]:
    """Return how many devices run which profile, the most frequent first."""
    return [
        ProfileAdoption(
            profile=profile_name(use.profile), devices=use.devices, silent=use.silent,
            share=use.share,
        )
        for use in profiles_in_use(session)
    ]  # fmt: skip


@router.get("/suspects")
def suspects(
    session: OpenSession, group: QueryGroup, level: Level = None, page: Page = 1
) -> list[SuspectDevice]:
    """Return discovered devices, those with the most evidence first."""
    judged = queries.newest(session)
    finding = None if judged is None else levels.finding_at(session, judged, level)
    if judged is None or finding is None or finding.cutoff_q8 is None:
        return []
    rows = queries.suspects(session, judged.judgement, finding.cutoff_q8, group, page=page)
    return [
        SuspectDevice(
            device=device_text(row.device),
            evidence_bits=row.evidence_q8 / UNITS_PER_BIT,
            **Group.of(row.profile, row.firmware, row.site).parts,
        )
        for row in rows
    ]


@router.get("/alarms")
def alarms(session: OpenSession, page: Page = 1) -> list[ActiveAlarm]:
    """Return active alarms, groups' and critical ones first."""
    rows = alarm_queries.alarms(session, None, page)
    return [
        ActiveAlarm(
            alarm=row.alarm, kind=row.kind, name=row.name,
            severity="critical" if row.state == "escalated" else "warning",
            device=None if row.device is None else device_text(row.device),
            profile=row.group.profile, site=row.site or row.at, owner=row.owner,
            firmware=row.group.firmware if row.runs is None else firmware_name(row.runs),
            evidence=row.evidence, cause=row.cause_text, opened=row.opened, changed=row.changed,
            acknowledged=row.acknowledged, acknowledged_by=row.acknowledged_by,
            muted_until=row.muted_until,
        )
        for row in rows
    ]  # fmt: skip


@router.get("/quarantine")
def quarantine(session: OpenSession) -> list[QuarantinedDevice]:
    """Return devices with a record in quarantine, the latest first."""
    return [
        QuarantinedDevice(
            device=device_text(row.device), name=row.name, site=row.site, boot=row.boot,
            stored_boot=row.stored_boot, records=row.count, last=row.last,
        )
        for row in registry_queries.quarantined(session)
    ]  # fmt: skip


@router.get("/devices/{device}", responses={404: {"model": Problem}})
def device(
    session: OpenSession, device: Annotated[str, Path(pattern=DEVICE)], level: Level = None
) -> DeviceDetail:
    """Return one device and its last epochs."""
    judged = queries.newest(session)
    finding = None if judged is None else levels.finding_at(session, judged, level)
    state = devices.state(session, device_number(device), judged.judgement if judged else None)
    if state is None:
        raise HTTPException(404, f"no record of device {device} was stored")
    cutoff = finding.cutoff_q8 if finding else None
    epochs = [
        EpochIncrement(
            epoch=e.epoch, boot=e.boot, stored=e.stored, closed=e.closed,
            evidence_bits=e.evidence / HALF_BITS, steps=e.steps, abstained=e.abstained,
            denied=e.denied, alarms=e.alarms, risk_histogram=e.histogram.tolist(),
        )
        for e in devices.history(session, state)
    ]  # fmt: skip
    return DeviceDetail(
        device=device, name=state.name, owner=state.owner, state=state.state,
        muted_until=state.muted_until, quarantined_boot=state.quarantined_boot,
        last_seen=state.last_seen, boot=state.boot, sequence=state.sequence,
        epoch=state.epoch, threshold=state.threshold / 16384, epochs=epochs,
        evidence_bits=_bits(state.judged_q8), discovered=state.is_discovered(cutoff),
        cause=state.cause_text,
        **state.group.parts,
    )  # fmt: skip


def _bits(q8: int | None) -> float | None:
    return None if q8 is None else q8 / UNITS_PER_BIT
