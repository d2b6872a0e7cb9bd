# SPDX-License-Identifier: Apache-2.0
"""Acts of operators: acknowledge an alarm; mute, retire or release a device. By form and by API.

Only a viewer who may act can, and only from the dashboard's own pages or from a client that is no
browser: a browser says in `Sec-Fetch-Site` or `Origin` from which site a request comes.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, LiteralString
from urllib.parse import urlsplit

from fastapi import APIRouter, Body, Depends, HTTPException, Path, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ConfigDict

from tcuq.errors import InputError
from tcuq_fleet.serve import device as devices
from tcuq_fleet.serve.api import Problem
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import DEVICE, device_number
from tcuq_fleet.serve.pages import OpenSession
from tcuq_fleet.store.connection import Use, connected, database_errors
from tcuq_fleet.store.sharded_registry import ShardedRegistry

ACTS = Use("tcuq-serve-acts", 5)
MAX_MUTE_HOURS = 24 * 366
LOCAL_USER = "local"  # whoever uses this machine, without a proxy

ACKNOWLEDGE: LiteralString = """
UPDATE alarms SET acknowledged = now(), acknowledged_by = %(by)s
WHERE alarm = %(alarm)s AND state <> 'closed' RETURNING alarm
"""

log = logging.getLogger("tcuq_fleet.serve.actions")

DevicePath = Annotated[str, Path(pattern=DEVICE)]
AlarmPath = Annotated[int, Path(ge=1, lt=2**63)]
Hours = Annotated[int, Query(ge=0, le=MAX_MUTE_HOURS)]


class Decision(BaseModel):
    """An act as it was recorded."""

    model_config = ConfigDict(frozen=True)

    subject: str
    act: str
    by: str


class Note(BaseModel):
    """Why an operator acts, for whoever reads the registry later."""

    note: Annotated[str | None, Body(max_length=500, pattern=r"^[^\x00]*$")] = None


class Operator:
    """A viewer who may act, and the acts; each is recorded with who and when."""

    def __init__(self, by: str, session: Session, databases: Sequence[str]) -> None:
        self._by, self._session, self._databases = by, session, databases

    def mute(self, device: str, hours: int, note: Note | None = None) -> Decision:
        """Send no alerts about a device for so many hours; 0 ends a mute."""
        until = datetime.now(UTC) + timedelta(hours=hours)
        act = "mute" if hours else "unmute"
        return self._decide(device, act, lambda r, n: r.mute(n, until, _text(note)))

    def retire(self, device: str, note: Note | None = None) -> Decision:
        """Store and judge no further records of a device."""
        return self._decide(device, "retire", lambda r, n: r.retire(n, _text(note)))

    def release(self, device: str) -> Decision:
        """Accept the boot of a device's quarantined record."""
        return self._decide(device, "release", lambda r, n: r.release(n))

    def acknowledge(self, alarm: int) -> Decision:
        """Stop alerts about an alarm unless it becomes critical."""
        values = {"alarm": alarm, "by": self._by}
        for at, database in enumerate(self._databases):  # an alarm's number is in one of them
            if at in {place.place for place in self._session.away}:
                continue
            with connected(database, ACTS) as connection:
                if connection.execute(ACKNOWLEDGE, values).fetchone() is not None:
                    return self._recorded(str(alarm), "acknowledge")
        raise HTTPException(404, f"There is no active alarm {alarm}.")

    def _decide(
        self, device: str, act: str, decide: Callable[[ShardedRegistry, int], object]
    ) -> Decision:
        number = device_number(device)
        if devices.state(self._session.of(number), number, None) is None:
            raise HTTPException(404, f"No record of device {device} was stored.")
        with database_errors(), ShardedRegistry(self._databases, self._by, ACTS) as registry:
            try:
                decide(registry, int(device, 16))
            except InputError as error:
                raise HTTPException(409, str(error)) from None
        return self._recorded(device, act)

    def _recorded(self, subject: str, act: str) -> Decision:
        log.info("%s: %s %s", self._by, act, subject)
        return Decision(subject=subject, act=act, by=self._by)


def operator(request: Request, session: OpenSession) -> Operator:
    """Return who acts; refuse one who may not, and requests that another site caused."""
    viewer = request.state.viewer
    if not viewer.may_act:
        raise HTTPException(403, "Only operators may do this: see --groups-header, --operators.")
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        own = site == "same-origin"
    elif origin is not None:
        own = urlsplit(origin).netloc == request.headers.get("host")
    else:
        own = request.url.path.startswith("/api/")
    if not own:
        raise HTTPException(403, "This request comes from another site, so nothing was done.")
    return Operator(viewer.user or LOCAL_USER, session, request.app.state.databases)


AnOperator = Annotated[Operator, Depends(operator)]
refusals: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem} for code in (400, 403, 404, 409, 411, 413, 422, 503)
}
router = APIRouter(include_in_schema=False)
api_router = APIRouter(prefix="/api", responses=refusals)


@router.post("/device/{device}/mute")
def mute_by_form(by: AnOperator, device: DevicePath, hours: Hours) -> Response:
    """Mute a device for so many hours, or end its mute, and return to its page."""
    by.mute(device, hours)
    return RedirectResponse(f"/device/{device}", 303)


@router.post("/device/{device}/{act}")
def act_by_form(by: AnOperator, device: DevicePath, act: Literal["retire", "release"]) -> Response:
    """Retire a device, or release its quarantined boot, and return to its page."""
    by.retire(device) if act == "retire" else by.release(device)
    return RedirectResponse(f"/device/{device}", 303)


@router.post("/alarm/{alarm}/acknowledge")
def acknowledge_by_form(by: AnOperator, alarm: AlarmPath) -> Response:
    """Acknowledge an alarm and return to the list."""
    by.acknowledge(alarm)
    return RedirectResponse("/alarms", 303)


@api_router.post("/devices/{device}/mute")
def mute(by: AnOperator, device: DevicePath, hours: Hours, note: Note | None = None) -> Decision:
    """Send no alerts about a device for so many hours; it is judged as before. 0 ends a mute."""
    return by.mute(device, hours, note)


@api_router.post("/devices/{device}/retire")
def retire(by: AnOperator, device: DevicePath, note: Note | None = None) -> Decision:
    """Store and judge no further records of a device."""
    return by.retire(device, note)


@api_router.post("/devices/{device}/release")
def release(by: AnOperator, device: DevicePath) -> Decision:
    """Accept the boot of a device's quarantined record."""
    return by.release(device)


@api_router.post("/alarms/{alarm}/acknowledge")
def acknowledge(by: AnOperator, alarm: AlarmPath) -> Decision:
    """Stop alerts about an alarm unless it becomes critical."""
    return by.acknowledge(alarm)


def _text(note: Note | None) -> str | None:
    return None if note is None else note.note
