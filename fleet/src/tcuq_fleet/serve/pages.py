# SPDX-License-Identifier: Apache-2.0
"""The pages fleet, group, device, suspects and alarms: each fills a template from a few queries."""

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

from tcuq_fleet.judge.light import MEANINGS
from tcuq_fleet.serve import (
    accuracy_queries,
    alarm_queries,
    change_queries,
    charts,
    group_queries,
    levels,
    queries,
    registry_queries,
    wording,
)
from tcuq_fleet.serve import device as devices
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES, DEVICE, Group, device_number
from tcuq_fleet.serve.view import HOURS, Page, View, parse_view
from tcuq_fleet.serve.viewer import Viewer
from tcuq_fleet.version import __version__

REFRESH_S = 30
STATIC = (("tcuq_fleet.serve", "static"), ("tcuq.charts", "static"))  # packages and folders
SHOWN = 10  # suspects and alarms on other pages than their own
ALARM_KINDS = (
    ("changed", "changed"), ("silent", "silent"), ("group", "groups unlike calibration"),
    ("device", "devices unlike calibration"),
)  # fmt: skip

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
QueryView = Annotated[View, Depends(parse_view)]


def open_session(request: Request) -> Iterator[Session]:
    """Open a database session for one request."""
    with request.app.state.reader.session(request.state.viewer.groups) as session:
        request.state.away = session.away
        yield session


OpenSession = Annotated[Session, Depends(open_session)]


@cache
def templates() -> Jinja2Templates:
    """Load the templates; values are escaped, and a missing value is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tcuq_fleet.serve"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "short": wording.short,
        "ago": wording.ago,
        "signed": wording.signed,
        "utc": lambda when: f"{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
    }
    environment.globals |= {
        "percent": wording.percent,
        "drifted": wording.drifted,
        "share": wording.share,
        "static": _static(),
        "version": __version__,
        "refresh_s": REFRESH_S,
        "all_hours": HOURS,
        "alarm_kinds": ALARM_KINDS,
        "light_meanings": MEANINGS,
        "estimate_error": wording.ESTIMATE_ERROR,
        "power_text": wording.power(wording.USUAL_STEPS, 1),
    }
    for name in environment.list_templates():
        environment.get_template(name)  # compiled now, not at the first view
    return Jinja2Templates(env=environment)


def _static() -> dict[str, str]:
    """Return each file's URL with its content's digest, so that browsers can cache it for ever."""
    return {
        file.name: f"/static/{file.name}?v={hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
        for package, folder in STATIC
        for file in (files(package) / folder).iterdir()
    }


def _page(request: Request, name: str, view: View, status: int = 200, **more: Any) -> Response:  # noqa: ANN401
    context = {
        "view": view,
        "link": view.link,
        "now": datetime.now(UTC),
        "viewer": getattr(request.state, "viewer", Viewer()),
        "away": getattr(request.state, "away", []),
        "path": request.url.path,
        **more,
    }
    return templates().TemplateResponse(request, name, context, status)


def error(request: Request, status: int, text: str) -> Response:
    """Return a page that says what went wrong and what to do."""
    return _page(request, "error.html", View(), status, code=status, text=text)


class Overview:
    """What the pages of the fleet and of a group share, queried once."""

    def __init__(self, session: Session, view: View) -> None:
        self.session, self.view = session, view
        self.judgements = queries.judgements(session, view.hours)
        self.judged = self.judgements[0] if self.judgements else None
        self.hours = queries.hours(session, view.group, view.hours)
        self.finding = (
            None if self.judged is None else levels.finding_at(session, self.judged, view.level)
        )

    def context(self, ranked: group_queries.GroupRow | None) -> dict[str, Any]:
        """Return the template's values; `ranked` holds the group's figures."""
        now = datetime.now(UTC)
        rows, count = self.hours, self.view.hours
        whole = [row for row in rows if (now - row.hour).total_seconds() >= charts.HOUR_S]
        hour_charts = {
            "records": charts.records(rows, count, now),
            "shares": charts.shares(rows, count, now) if len(rows) > 1 else None,
            "device_alarms": charts.device_alarms(rows, count, now),
        }
        more: dict[str, Any] = {
            "choices": [], "findings": [], "suspects": [], "meaning": "", "truncated_to": 0,
            "difference": "", "change_meaning": "",
            "changed": change_queries.changed(self.session, self.view.group, limit=SHOWN),
        }  # fmt: skip
        if self.judged is not None and self.finding is not None:
            more["choices"] = group_queries.choices(self.session, self.judged.judgement)
            more["findings"] = levels.findings(self.session, self.judged, self.finding)
            more["suspects"] = self.suspects(1, SHOWN)
            more["truncated_to"] = levels.truncated_to(self.session, self.judged, self.finding)
            count, level = self.finding.discovered, self.finding.level
            more["meaning"] = wording.level_meaning(count, level)
            more["difference"] = wording.difference(count, self.judged.judgeable, level)
            more["change_meaning"] = wording.change_meaning(
                self.judged.changed, self.judged.compared, self.judged.level
            )
        return {
            "judged": self.judged, "finding": self.finding, "ranked": ranked, "rows": rows,
            "last": whole[-1] if whole else None, "charts": hour_charts,
            "power": wording.power(whole[-1].steps, whole[-1].records) if whole else "", **more,
        }  # fmt: skip

    def suspects(self, page: int, limit: int) -> list[group_queries.Suspect]:
        """Return discovered devices of the group."""
        if self.judged is None or self.finding is None:
            return []
        number, cutoffs = self.judged.judgement, self.finding.cutoffs_q8
        return group_queries.suspects(
            self.session, number, cutoffs, self.view.group, page=page, limit=limit
        )

    def ranked(self, group: Group) -> group_queries.GroupRow | None:
        """Return the group's own figures."""
        if self.judged is None or self.finding is None:
            return None
        row = group_queries.judged_group(self.session, self.judged, group)
        if row is None:
            return None
        return levels.count_discoveries(self.session, self.judged, self.finding, [row])[0]


@router.get("/")
def fleet(request: Request, session: OpenSession, view: QueryView) -> Response:
    """Return the fleet's page; a filter in the URL redirects to the group's page."""
    if view.group.parts:
        return RedirectResponse(view.link("/group"), 303)
    overview = Overview(session, view)
    whole, groups = None, []
    fleet_charts: dict[str, Any] = {}
    if overview.judged is not None and overview.finding is not None:
        judged = overview.judged
        whole = group_queries.GroupRow(
            devices=judged.devices, silent=judged.silent, judgeable=judged.judgeable,
            discovered=overview.finding.discovered,
        )  # fmt: skip
        groups = levels.drifting(session, judged, overview.finding)
        if len(overview.judgements) > 1:
            fleet_charts["discoveries"] = charts.discoveries(overview.judgements)
    context = overview.context(whole)
    now = datetime.now(UTC)
    versions = queries.adoption(session, view.hours)
    trend = accuracy_queries.accuracy_trend(session, view.hours)
    legends = {}
    if len({row.hour for row in versions}) > 1:
        fleet_charts["adoption"], legends["adoption"] = charts.adoption(versions, view.hours, now)
    if len({row.hour for row in trend}) > 1:
        fleet_charts["accuracy"], legends["accuracy"] = charts.accuracy(trend, view.hours, now)
    context["charts"] |= fleet_charts
    return _page(
        request, "fleet.html", view, groups=groups, legends=legends,
        profiles=queries.profiles_in_use(session),
        least_accurate=accuracy_queries.least_accurate(session, ALL_DEVICES, limit=SHOWN),
        firmware_accuracy=accuracy_queries.firmware_accuracy(session),
        alarm_counts=alarm_queries.alarm_counts(session),
        alarms=alarm_queries.alarms(session, None, 1, SHOWN), **context,
    )  # fmt: skip


@router.get("/group")
def group(request: Request, session: OpenSession, view: QueryView) -> Response:
    """Return the page of a profile, a firmware, a site, or several of these."""
    if not view.group.parts:
        return RedirectResponse(view.link("/"), 303)
    overview = Overview(session, view)
    ranked = overview.ranked(view.group)
    if ranked is None and not overview.hours:
        raise HTTPException(404, f"There is no device of {str(view.group).lower()}.")
    cohorts = []
    judged, finding = overview.judged, overview.finding
    if judged is not None and finding is not None and len(view.group.parts) < 3:
        rows = group_queries.cohorts(session, judged.judgement, view.group)
        cohorts = levels.count_discoveries(session, judged, finding, rows)
    return _page(
        request, "group.html", view, cohorts=cohorts,
        least_accurate=accuracy_queries.least_accurate(session, view.group, limit=SHOWN),
        alarms=alarm_queries.alarms_of_group(session, view.group),
        changed_count=change_queries.count_changed(session, view.group),
        **overview.context(ranked),
    )  # fmt: skip


@router.get("/suspects")
def suspects(request: Request, session: OpenSession, view: QueryView, page: Page = 1) -> Response:
    """Return the list of discovered devices, those with the most evidence first."""
    overview = Overview(session, view)
    rows = overview.suspects(page, queries.PAGE + 1)
    context = overview.context(None) | {"suspects": rows[: queries.PAGE]}
    more = len(rows) > queries.PAGE and page < queries.MAX_PAGE
    return _page(request, "suspects.html", view, page=page, more=more, **context)


@router.get("/changed")
def changed(request: Request, session: OpenSession, view: QueryView, page: Page = 1) -> Response:
    """Return the list of devices that changed since their own past."""
    limit = queries.PAGE
    rows = change_queries.changed(session, view.group, page=page, limit=limit)
    context = Overview(session, view).context(None) | {"changed": rows}
    more = len(rows) == limit and page < queries.MAX_PAGE
    return _page(request, "changed.html", view, page=page, more=more, **context)


@router.get("/alarms")
def alarms(
    request: Request,
    session: OpenSession,
    view: QueryView,
    kind: Annotated[Literal["", "changed", "device", "group", "silent"], Query()] = "",
    page: Page = 1,
) -> Response:
    """Return the list of active alarms."""
    rows = alarm_queries.alarms(session, kind or None, page, queries.PAGE)
    return _page(
        request, "alarms.html", view, alarms=rows, kind=kind, page=page,
        alarm_counts=alarm_queries.alarm_counts(session),
        more=len(rows) == queries.PAGE and page < queries.MAX_PAGE,
    )  # fmt: skip


@router.get("/device/{device}")
def device(
    request: Request,
    session: OpenSession,
    view: QueryView,
    device: Annotated[str, Path(pattern=DEVICE)],
) -> Response:
    """Return a device's page: its state, its epochs and what its evidence means."""
    session = session.of(device_number(device))
    judged = queries.newest(session)
    state = devices.state(session, device_number(device), judged.judgement if judged else None)
    if state is None:
        raise HTTPException(404, f"No record of device {device} was stored.")
    finding = None if judged is None else levels.finding_at(session, judged, view.level)
    cutoffs = {} if finding is None else finding.cutoffs_q8
    cutoff, level = cutoffs.get(state.owner_number), None if finding is None else finding.level
    epochs = devices.history(session, state)
    change = change_queries.change_of(session, device_number(device))
    meaning = ""
    if state.judged_q8 is None:
        meaning = (
            "Its running epoch began under another firmware: the next epoch is the first judged."
        )
    elif judged is not None and finding is not None:
        among = finding.tested.get(state.owner_number, 0)
        meaning = wording.evidence(state.judged_q8, cutoff, among, finding.level)
    return _page(
        request, "device.html", view, state=state, epochs=epochs, finding=finding, judged=judged,
        change=change, change_text=wording.change(change),
        meaning=meaning, alarms=alarm_queries.alarms_of_device(session, device_number(device)),
        findings=[] if judged is None or finding is None
        else levels.findings(session, judged, finding),
        discovered=state.is_discovered(cutoffs),
        why=wording.why(state.cause, state.meaning, epochs),
        charts={
            "evidence": charts.evidence(epochs, cutoff, level),
            "risk": charts.risk(epochs),
            "decisions": charts.decisions(epochs),
            "accuracy": charts.accuracy_by_epoch(epochs)
            if sum(epoch.estimated_accuracy is not None for epoch in epochs) > 1
            else None,
        },
    )  # fmt: skip


@router.get("/registry")
def registry(request: Request, session: OpenSession, view: QueryView) -> Response:
    """Return the devices that operators named, muted, retired or must release."""
    return _page(
        request, "registry.html", view, entries=registry_queries.entries(session),
        quarantined=registry_queries.quarantined(session),
    )  # fmt: skip


@router.get("/runbook")
def runbook(request: Request, view: QueryView) -> Response:
    """Return what to do about each alert; alerts link here."""
    return _page(request, "runbook.html", view)


@router.get("/search")
def search(
    session: OpenSession,
    view: QueryView,
    q: Annotated[str, Query(max_length=64, pattern=r"^[^\x00]*$")] = "",
) -> Response:
    """Redirect to a device's page by its name in the registry or its id in any usual notation."""
    device = re.sub(r"[\s:_-]|^0x", "", q.strip().lower())
    if not re.fullmatch("[0-9a-f]{16}", device):
        named = devices.by_name(session, q.strip())
        if named is None:
            raise HTTPException(
                404,
                f"No device is named {q.strip()!r}. A device's id has 16 digits of 0-9 and a-f.",
            )
        device = named
    return RedirectResponse(view.link(f"/device/{device}", ALL_DEVICES), 303)
