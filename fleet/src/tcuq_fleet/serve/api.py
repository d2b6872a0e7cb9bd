# SPDX-License-Identifier: Apache-2.0
"""The dashboard's figures as JSON, described by /openapi.json."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from pydantic import BaseModel

from tcuq_fleet.serve import (
    accuracy_queries,
    alarm_queries,
    change_queries,
    group_queries,
    levels,
    queries,
    registry_queries,
)
from tcuq_fleet.serve import device as devices
from tcuq_fleet.serve.identifiers import (
    ALL_DEVICES,
    DEVICE,
    FIRMWARE,
    PROFILE,
    SITE,
    Group,
    device_number,
)
from tcuq_fleet.serve.pages import OpenSession
from tcuq_fleet.serve.view import HOURS, Level, Page


class Problem(BaseModel):
    """Why a request failed."""

    detail: str


class FleetHealth(BaseModel):
    """The fleet at its last judgement; `judged` is null before the first.

    Two verdicts: `changed` of the `compared` devices differ from their own past, and `different` of
    the `judgeable` ones from calibration.
    """

    judged: datetime | None = None
    level: float | None = None
    devices: int = 0
    silent: int = 0
    judgeable: int = 0
    different: int = 0
    cutoff_bits: float | None = None
    compared: int = 0
    changed: int = 0
    alarms: dict[str, int]
    hours: list[queries.Hour]
    databases_away: list[int] = []  # of several: their devices are missing in `alarms` and `hours`


class DeviceDetail(devices.DeviceState):
    """A device's latest state and its last epochs; `change` is null before its first epoch."""

    different: bool
    change: change_queries.ChangeState | None
    epochs: list[devices.Epoch]


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
    away = [place.place + 1 for place in session.away]
    if judged is None:
        return FleetHealth(alarms=counts, hours=rows, databases_away=away)
    finding = levels.finding_at(session, judged, level)
    return FleetHealth(
        judged=judged.judged,
        level=finding.level,
        devices=judged.devices,
        silent=judged.silent,
        judgeable=judged.judgeable,
        different=finding.discovered,
        compared=judged.compared,
        changed=judged.changed,
        cutoff_bits=None if finding.least_q8 is None else finding.least_q8 / 256,
        alarms=counts,
        hours=rows,
        databases_away=away,
    )


@router.get("/groups")
def groups(session: OpenSession, level: Level = None) -> list[group_queries.GroupRow]:
    """Return groups with discovered devices, ranked; an identifier that is null means any."""
    judged = queries.newest(session)
    if judged is None:
        return []
    return levels.drifting(session, judged, levels.finding_at(session, judged, level))


@router.get("/profiles")
def profiles(session: OpenSession) -> list[queries.ProfileUse]:
    """Return how many devices run which profile, the most frequent first."""
    return queries.profiles_in_use(session)


@router.get("/accuracy/devices")
def least_accurate(
    session: OpenSession, group: QueryGroup, page: Page = 1
) -> list[accuracy_queries.LeastAccurate]:
    """Return devices, the lowest estimated accuracy of their last epoch first."""
    return accuracy_queries.least_accurate(session, group, page=page)


@router.get("/accuracy/firmware")
def firmware_accuracy(session: OpenSession) -> list[accuracy_queries.FirmwareAccuracy]:
    """Return firmware versions, the lowest mean of their devices' estimated accuracy first."""
    return accuracy_queries.firmware_accuracy(session)


@router.get("/accuracy/trend")
def accuracy_trend(
    session: OpenSession, hours: Annotated[int, Query(ge=1, le=HOURS[-1])] = HOURS[0]
) -> list[accuracy_queries.AccuracyHour]:
    """Return the mean estimated accuracy of each firmware version by the hour."""
    return accuracy_queries.accuracy_trend(session, hours)


@router.get("/suspects")
def suspects(
    session: OpenSession, group: QueryGroup, level: Level = None, page: Page = 1
) -> list[group_queries.Suspect]:
    """Return discovered devices, those with the most evidence first."""
    judged = queries.newest(session)
    finding = None if judged is None else levels.finding_at(session, judged, level)
    if judged is None or finding is None:
        return []
    return group_queries.suspects(session, judged.judgement, finding.cutoffs_q8, group, page=page)


@router.get("/changed")
def changed(
    session: OpenSession, group: QueryGroup, page: Page = 1
) -> list[change_queries.ChangedDevice]:
    """Return the devices that changed since their past, those with the most evidence first."""
    return change_queries.changed(session, group, page=page)


@router.get("/alarms")
def alarms(session: OpenSession, page: Page = 1) -> list[alarm_queries.AlarmRow]:
    """Return active alarms, groups' and critical ones first; an identifier that is null: any."""
    return alarm_queries.alarms(session, None, page)


@router.get("/quarantine")
def quarantine(session: OpenSession) -> list[registry_queries.QuarantinedRecord]:
    """Return devices with a record in quarantine, the latest first."""
    return registry_queries.quarantined(session)


@router.get("/devices/{device}", responses={404: {"model": Problem}})
def device(
    session: OpenSession, device: Annotated[str, Path(pattern=DEVICE)], level: Level = None
) -> DeviceDetail:
    """Return one device and its last epochs."""
    session = session.of(device_number(device))
    judged = queries.newest(session)
    finding = None if judged is None else levels.finding_at(session, judged, level)
    state = devices.state(session, device_number(device), judged.judgement if judged else None)
    if state is None:
        raise HTTPException(404, f"no record of device {device} was stored")
    return DeviceDetail.model_construct(
        **dict(state),
        change=change_queries.change_of(session, device_number(device)),
        different=finding is not None and state.is_discovered(finding.cutoffs_q8),
        epochs=devices.history(session, state),
    )
