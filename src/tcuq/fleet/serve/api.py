# SPDX-License-Identifier: Apache-2.0
"""The same figures as JSON, described by /openapi.json."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query
from pydantic import BaseModel, ConfigDict

from tcuq.fleet.serve import device as devices
from tcuq.fleet.serve import levels, queries
from tcuq.fleet.serve.database import Session
from tcuq.fleet.serve.identity import (
    DEVICE,
    EVERYBODY,
    FIRMWARE,
    PROFILE,
    SITE,
    Group,
    device_number,
    device_text,
)
from tcuq.fleet.serve.pages import session
from tcuq.fleet.serve.sentences import BITS
from tcuq.fleet.serve.view import HOURS, Level, Page

Open = Annotated[Session, Depends(session)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True)


class Problem(_Strict):
    """Why there is no answer."""

    detail: str


class Hour(_Strict):
    """Sums over an hour of storing; the last is not whole."""

    hour: datetime
    records: int
    steps: int
    abstained: int
    denied: int
    alarms: int


class Fleet(_Strict):
    """The fleet at its last judgement; `judged` is null before the first."""

    judged: datetime | None = None
    level: float | None = None
    devices: int = 0
    silent: int = 0
    judgeable: int = 0
    discovered: int = 0
    cutoff_bits: float | None = None
    alarms: dict[str, int]
    hours: list[Hour]


class GroupFound(_Strict):
    """A group with discoveries; a name that is null means any."""

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


class SuspectFound(_Strict):
    """A device that is discovered at the level."""

    device: str
    profile: str
    firmware: str
    site: str
    evidence_bits: float


class EpochSeen(_Strict):
    """What an epoch added; the last may be the present one, not yet whole."""

    epoch: int
    boot: int
    stored: datetime
    whole: bool
    evidence_bits: float
    steps: int
    abstained: int
    denied: int
    alarms: int
    risk_histogram: list[int]


class DeviceSeen(_Strict):
    """A device's latest state and its last epochs."""

    device: str
    profile: str
    firmware: str
    site: str
    seen: datetime
    boot: int
    sequence: int
    epoch: int
    threshold: float
    discovered: bool
    epochs: list[EpochSeen]


router = APIRouter(prefix="/api", responses={422: {"model": Problem}, 503: {"model": Problem}})


def filtered(
    profile: Annotated[str | None, Query(pattern=PROFILE)] = None,
    firmware: Annotated[str | None, Query(pattern=FIRMWARE)] = None,
    site: Annotated[str | None, Query(pattern=SITE)] = None,
) -> Group:
    """Devices by their names."""
    return Group(profile, firmware, site)


Filtered = Annotated[Group, Depends(filtered)]


@router.get("/fleet")
def fleet(
    session: Open, level: Level = None, hours: Annotated[int, Query(ge=1, le=HOURS[-1])] = HOURS[0]
) -> Fleet:
    """Health at a glance."""
    judged = queries.newest(session)
    counts: dict[str, int] = {}
    for row in queries.standing(session):
        counts[row.kind] = counts.get(row.kind, 0) + row.alarms
    rows = [
        Hour.model_validate(h, from_attributes=True)
        for h in queries.hours(session, EVERYBODY, hours)
    ]
    if judged is None:
        return Fleet(alarms=counts, hours=rows)
    found = levels.finding(session, judged, level)
    return Fleet(
        judged=judged.judged,
        level=found.level,
        devices=judged.devices,
        silent=judged.silent,
        judgeable=judged.judgeable,
        discovered=found.discovered,
        cutoff_bits=_bits(found.cutoff_q8),
        alarms=counts,
        hours=rows,
    )


@router.get("/groups")
def groups(session: Open, level: Level = None) -> list[GroupFound]:
    """Groups with discoveries, ranked."""
    judged = queries.newest(session)
    if judged is None:
        return []
    found = levels.finding(session, judged, level)
    return [
        GroupFound(
            profile=row.tally.group.profile,
            firmware=row.tally.group.firmware,
            site=row.tally.group.site,
            devices=row.tally.devices,
            silent=row.tally.silent,
            judgeable=row.tally.judgeable,
            discovered=row.discovered,
            evidence_bits=row.tally.evidence,
            drifted=row.tally.drifted,
            named=row.tally.named,
        )
        for row in levels.drifting(session, judged, found)
    ]


@router.get("/suspects")
def suspects(
    session: Open, group: Filtered, level: Level = None, page: Page = 1
) -> list[SuspectFound]:
    """Discovered devices, those with the most evidence first."""
    judged = queries.newest(session)
    found = None if judged is None else levels.finding(session, judged, level)
    if judged is None or found is None or found.cutoff_q8 is None:
        return []
    rows = queries.suspects(session, judged.judgement, found.cutoff_q8, group, page=page)
    return [
        SuspectFound(
            device=device_text(row.device),
            evidence_bits=row.evidence_q8 / BITS,
            **Group.of(row.profile, row.firmware, row.site).parts,
        )
        for row in rows
    ]


@router.get("/devices/{device}", responses={404: {"model": Problem}})
def device(
    session: Open, device: Annotated[str, Path(pattern=DEVICE)], level: Level = None
) -> DeviceSeen:
    """One device and its last epochs."""
    judged = queries.newest(session)
    found = None if judged is None else levels.finding(session, judged, level)
    state = devices.state(session, device_number(device), judged.judgement if judged else None)
    if state is None:
        raise HTTPException(404, f"no record of device {device} was stored")
    cutoff = found.cutoff_q8 if found else None
    epochs = [
        EpochSeen(
            epoch=e.epoch, boot=e.boot, stored=e.stored, whole=e.whole,
            evidence_bits=e.evidence_q8 / BITS, steps=e.steps, abstained=e.abstained,
            denied=e.denied, alarms=e.alarms, risk_histogram=e.histogram.tolist(),
        )
        for e in devices.history(session, state)
    ]  # fmt: skip
    return DeviceSeen(
        device=device, seen=state.stored, boot=state.boot, sequence=state.sequence,
        epoch=state.epoch, threshold=state.threshold / 16384, epochs=epochs,
        discovered=state.is_discovered(cutoff),
        **state.group.parts,
    )  # fmt: skip


def _bits(q8: int | None) -> float | None:
    return None if q8 is None else q8 / BITS
