# SPDX-License-Identifier: Apache-2.0
"""The pages: fleet, group, device, suspects, alarms; each a template over a few queries."""

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

import jinja2
from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from tcuq.fleet.serve import charts, levels, queries, sentences
from tcuq.fleet.serve import device as devices
from tcuq.fleet.serve.database import Session
from tcuq.fleet.serve.identity import (
    DEVICE,
    EVERYBODY,
    Group,
    device_number,
    device_text,
    firmware_text,
    profile_text,
)
from tcuq.fleet.serve.view import HOURS, Page, View, view
from tcuq.version import __version__

REFRESH_S = 30
STATIC = (("tcuq.fleet.serve", "static"), ("tcuq._charts", "static"))  # packages and folders
SHOWN = 10  # suspects and alarms on a page that is not their own

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
Viewed = Annotated[View, Depends(view)]


def session(request: Request) -> Iterator[Session]:
    """A snapshot for one request."""
    with request.app.state.reader.session() as opened:
        yield opened


Open = Annotated[Session, Depends(session)]


@cache
def templates() -> Jinja2Templates:
    """The templates; what they are given is escaped, what they are not given is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tcuq.fleet.serve"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "device": device_text,
        "firmware": firmware_text,
        "profile": profile_text,
        "short": sentences.short,
        "ago": sentences.ago,
        "bits": lambda q8: sentences.signed(q8 / sentences.BITS),
        "signed": sentences.signed,
        "utc": lambda when: f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
    }
    environment.globals |= {
        "percent": sentences.percent,
        "drifted": sentences.drifted,
        "share": sentences.share,
        "static": _static(),
        "version": __version__,
        "refresh_s": REFRESH_S,
        "all_hours": HOURS,
    }
    for name in environment.list_templates():
        environment.get_template(name)  # compiled now, not at the first view
    return Jinja2Templates(env=environment)


def _static() -> dict[str, str]:
    """The address of each file, with its content's digest: browsers keep it until it changes."""
    return {
        file.name: f"/static/{file.name}?v={hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
        for package, folder in STATIC
        for file in (files(package) / folder).iterdir()
    }


def _page(request: Request, name: str, seen: View, status: int = 200, **more: Any) -> Response:  # noqa: ANN401
    context = {
        "view": seen,
        "link": seen.link,
        "now": datetime.now(UTC),
        "user": getattr(request.state, "user", None),
        "path": request.url.path,
        **more,
    }
    return templates().TemplateResponse(request, name, context, status)


def error(request: Request, status: int, text: str) -> Response:
    """A page that says what went wrong and what to do."""
    return _page(request, "error.html", View(), status, code=status, text=text)


class Overview:
    """What the fleet's and a group's page share, asked for once."""

    def __init__(self, session: Session, seen: View) -> None:
        self.session, self.seen = session, seen
        self.judgements = queries.judgements(session, seen.hours)
        self.judged = self.judgements[0] if self.judgements else None
        self.hours = queries.hours(session, seen.group, seen.hours)
        self.found = (
            None if self.judged is None else levels.finding(session, self.judged, seen.level)
        )

    def context(self, tally: levels.Ranked | None) -> dict[str, Any]:
        """For the template; figures come from the group's tally."""
        now = datetime.now(UTC)
        rows, count = self.hours, self.seen.hours
        whole = [row for row in rows if (now - row.hour).total_seconds() >= charts.HOUR_S]
        drawn = {
            "records": charts.records(rows, count, now),
            "shares": charts.shares(rows, count, now),
            "device_alarms": charts.device_alarms(rows, count, now),
        }
        more: dict[str, Any] = {"choices": [], "steps": [], "suspects": [], "meaning": "", "cut": 0}
        if self.judged is not None and self.found is not None:
            more["choices"] = queries.choices(self.session, self.judged.judgement)
            more["steps"] = levels.steps(self.session, self.judged, self.found)
            more["suspects"] = self.suspects(1, SHOWN)
            more["cut"] = levels.cut(self.session, self.judged, self.found)
            more["meaning"] = sentences.level_meaning(self.found.discovered, self.found.level)
        return {
            "judged": self.judged, "found": self.found, "tally": tally, "rows": rows,
            "last": whole[-1] if whole else None, "charts": drawn, **more,
        }  # fmt: skip

    def suspects(self, page: int, limit: int) -> list[queries.Suspect]:
        """Discovered devices of the group."""
        if self.judged is None or self.found is None or self.found.cutoff_q8 is None:
            return []
        number, cutoff = self.judged.judgement, self.found.cutoff_q8
        return queries.suspects(
            self.session, number, cutoff, self.seen.group, page=page, limit=limit
        )

    def ranked(self, group: Group) -> levels.Ranked | None:
        """The group's own figures."""
        if self.judged is None or self.found is None:
            return None
        found = queries.tally(self.session, self.judged.judgement, group)
        if found is None:
            return None
        return levels.counted(self.session, self.judged, self.found, [found])[0]


@router.get("/")
def fleet(request: Request, session: Open, seen: Viewed) -> Response:
    """Health at a glance; a filter in the address is a group."""
    if seen.group.parts:
        return RedirectResponse(seen.link("/group"), 303)
    known = Overview(session, seen)
    whole, groups, drawn = None, [], {}
    if known.judged is not None and known.found is not None:
        judged = known.judged
        fleetwide = queries.Tally(
            None, None, None, judged.devices, judged.silent, judged.judgeable, judged.discovered,
            None, drifted=False, named=False,
        )  # fmt: skip
        whole = levels.Ranked(fleetwide, known.found.discovered)
        groups = levels.drifting(session, judged, known.found)
        drawn = {"discoveries": charts.discoveries(known.judgements)}
    context = known.context(whole)
    context["charts"] |= drawn
    return _page(
        request, "fleet.html", seen, groups=groups, standing=queries.standing(session),
        alarms=queries.alarms(session, None, 1, SHOWN), **context,
    )  # fmt: skip


@router.get("/group")
def group(request: Request, session: Open, seen: Viewed) -> Response:
    """Devices of a profile, firmware, site, or several of these."""
    if not seen.group.parts:
        return RedirectResponse(seen.link("/"), 303)
    known = Overview(session, seen)
    own = known.ranked(seen.group)
    if own is None and not known.hours:
        raise HTTPException(404, f"There is no device of {str(seen.group).lower()}.")
    parts = []
    if known.judged is not None and known.found is not None and len(seen.group.parts) < 3:
        cohorts = queries.inside(session, known.judged.judgement, seen.group)
        parts = levels.counted(session, known.judged, known.found, cohorts)
    return _page(
        request, "group.html", seen, cohorts=parts,
        alarms=queries.alarms_of_group(session, seen.group), **known.context(own),
    )  # fmt: skip


@router.get("/suspects")
def suspects(request: Request, session: Open, seen: Viewed, page: Page = 1) -> Response:
    """Discovered devices, those with the most evidence first."""
    known = Overview(session, seen)
    rows = known.suspects(page, queries.PAGE + 1)
    context = known.context(None) | {"suspects": rows[: queries.PAGE]}
    more = len(rows) > queries.PAGE and page < queries.MAX_PAGE
    return _page(request, "suspects.html", seen, page=page, more=more, **context)


@router.get("/alarms")
def alarms(
    request: Request,
    session: Open,
    seen: Viewed,
    kind: Annotated[Literal["", "device", "group", "silent"], Query()] = "",
    page: Page = 1,
) -> Response:
    """Alarms that stand."""
    rows = queries.alarms(session, kind or None, page, queries.PAGE)
    return _page(
        request, "alarms.html", seen, alarms=rows, kind=kind, page=page,
        standing=queries.standing(session),
        more=len(rows) == queries.PAGE and page < queries.MAX_PAGE,
    )  # fmt: skip


@router.get("/device/{device}")
def device(
    request: Request, session: Open, seen: Viewed, device: Annotated[str, Path(pattern=DEVICE)]
) -> Response:
    """One device: what it is, what it did, what its evidence means."""
    judged = queries.newest(session)
    state = devices.state(session, device_number(device), judged.judgement if judged else None)
    if state is None:
        raise HTTPException(404, f"No record of device {device} was stored.")
    found = None if judged is None else levels.finding(session, judged, seen.level)
    cutoff, level = (None, None) if found is None else (found.cutoff_q8, found.level)
    epochs = devices.history(session, state)
    meaning = ""
    if state.closed_epoch < 0:
        meaning = (
            "It has not finished an epoch with this firmware: nothing can be said of drift yet."
        )
    elif judged is not None and found is not None:
        meaning = sentences.evidence(
            state.closed_evidence_q8, cutoff, judged.judgeable, found.level
        )
    return _page(
        request, "device.html", seen, state=state, epochs=epochs, found=found, judged=judged,
        meaning=meaning, alarms=queries.alarms_of_device(session, state.device),
        steps=[] if judged is None or found is None else levels.steps(session, judged, found),
        discovered=state.is_discovered(cutoff),
        charts={
            "evidence": charts.evidence(epochs, cutoff, level),
            "risk": charts.risk(epochs, state.threshold),
            "decisions": charts.decisions(epochs),
        },
    )  # fmt: skip


@router.get("/search")
def search(seen: Viewed, q: Annotated[str, Query(max_length=64)] = "") -> Response:
    """To a device by its id, however it was copied."""
    asked = re.sub(r"[\s:_-]|^0x", "", q.strip().lower())
    if not re.fullmatch("[0-9a-f]{16}", asked):
        raise HTTPException(404, "A device is named by 16 digits of 0-9 and a-f.")
    return RedirectResponse(seen.link(f"/device/{asked}", EVERYBODY), 303)
