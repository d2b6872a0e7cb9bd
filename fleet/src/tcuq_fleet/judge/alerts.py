# SPDX-License-Identifier: Apache-2.0
"""Alerts: format alarms as a webhook's JSON and as Alertmanager's alerts.

Groups come first; of many devices the first are listed and the rest counted. An alarm of a change
or of silence pages: its severity is `warning`, and `critical` once it escalated. An alarm of
devices unlike calibration is a `ticket`: such a device may be healthy, and wants a recalibration.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Literal, LiteralString
from urllib.parse import urlencode

from pydantic import BaseModel, Field, computed_field

from tcuq.causes import NO_LABEL, meaning
from tcuq.telemetry import EIGHTHS, cause_text
from tcuq_fleet.judge.change_words import moved_words
from tcuq_fleet.judge.light import Light, light_of
from tcuq_fleet.wire import DeviceId, FirmwareId, ProfileId

Json = dict[str, Any]

MAX_LISTED = 100  # devices per message
Kind = Literal["changed", "device", "group", "silent"]  # device and group: unlike calibration
State = Literal["open", "escalated", "closed"]
Severity = Literal["ticket", "warning", "critical", "closed"]
PAGING: dict[State, Severity] = {"open": "warning", "escalated": "critical", "closed": "closed"}
TICKETS = ("device", "group")
NAMES = {"changed": "TcuqChanged", "silent": "TcuqSilent"}
TICKET_NAME = "TcuqDifferent"
MANY_SUFFIX = "ManyDevices"
# What to do next, by kind and whether the alarm is a device's.
NEXT_STEPS = {
    ("changed", True): "Look at the device: its sensors, its place, its user.",
    ("changed", False): "Look for what they share: a new firmware, the site, the weather.",
    ("device", True): "If this use is right, record it: tcuq recalibrate.",
    ("group", False): "If these inputs are right, record some: tcuq recalibrate.",
    ("silent", True): "Check its power and its network.",
    ("silent", False): "Check the gateway and the network that they share.",
}


def severity_of(kind: str, state: State) -> Severity:
    """Return what an alarm asks of people."""
    return "ticket" if kind in TICKETS and state != "closed" else PAGING[state]


# Of the table `alarms` and what belongs to its device or group, for a model that extends `Alarm`.
ALARM_COLUMNS: LiteralString = """
    kind::text, alarms.state::text, alarms.device, alarms.profile,
    coalesce(alarms.firmware, devices.firmware) AS firmware, sites.name AS site,
    owners.name AS owner, registry.name, opened, alarms.changed, alarms.evidence,
    alarms.cause AS cause_code, alarms.moved,
    devices.change AS change_eighths, devices.label AS last_label,
    devices.cause AS last_cause, devices.alarms_added AS new_alarms,
    (SELECT health_names FROM profiles WHERE profiles.profile = devices.profile) AS health_names
"""
ALARM_TABLES: LiteralString = """
FROM alarms LEFT JOIN devices USING (device) LEFT JOIN registry USING (device)
    LEFT JOIN sites ON sites.site = coalesce(alarms.site, devices.site)
    LEFT JOIN owners ON owners.owner = coalesce(alarms.owner, sites.owner)
"""


class Alarm(BaseModel):
    """A stored alarm of a device or a group; an identifier that is None means any."""

    kind: Kind
    state: State
    device: DeviceId | None
    profile: ProfileId | None
    firmware: FirmwareId | None  # the group's, or what the device runs
    site: str | None  # the group's, or the device's
    owner: str | None  # of the site
    name: str | None  # of the device, in the registry
    opened: datetime
    changed: datetime
    evidence: float
    moved: int | None = Field(exclude=True)
    cause_code: int | None = Field(exclude=True)
    change_eighths: int | None = Field(exclude=True)
    last_label: int | None = Field(exclude=True)
    last_cause: int | None = Field(exclude=True)
    new_alarms: int | None = Field(exclude=True)
    health_names: list[str] | None = Field(exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def severity(self) -> Severity:
        """What the alarm asks of people."""
        return severity_of(self.kind, self.state)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def change(self) -> str:
        """What moved most in a changed device, or ""."""
        return moved_words(self.moved)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def next_step(self) -> str:
        """What to do next."""
        return NEXT_STEPS.get((self.kind, self.device is not None), "")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def light(self) -> Light | None:
        """What the device's last record says itself; None for a group."""
        if self.device is None or self.last_cause is None:
            return None
        return light_of(self.last_cause, self.new_alarms or 0)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def runbook(self) -> str:
        """The section of the runbook."""
        return f"/runbook#{_name(self.kind)}"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cause(self) -> str:
        """The cause of the device's own last alarm in words, or ""."""
        return cause_text(self.cause_code or 0, self.health_names or ())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def meaning(self) -> str:
        """What that alarm means, in a sentence, or ""."""
        label = NO_LABEL if self.last_label is None else self.last_label
        return meaning(self.cause, (self.change_eighths or 0) / EIGHTHS, label)


class AlarmNotice(Alarm):
    """An alarm to send, and whether its state is new to the receiver."""

    new: bool

    @property
    def details(self) -> dict[str, str]:
        """The device's name and firmware, which may change while the alarm is active."""
        return {} if self.device is None else self._present("name", "firmware")

    @property
    def subject(self) -> dict[str, str]:
        """The device or group of the alarm, by readable names."""
        if self.device is None:
            return self._present("profile", "firmware", "site", "owner")
        return self._present("device", "site", "owner")

    @property
    def path(self) -> str:
        """The dashboard's page of the alarm's subject."""
        if self.device is not None:
            return f"/device/{self.device}"
        group = self._present("profile", "firmware", "site")
        return f"/group?{urlencode(group)}" if group else f"/alarms?kind={self.kind}"

    def _present(self, *names: str) -> dict[str, str]:
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def text(self) -> str:
        """The alarm in a few words."""
        subject = ", ".join(
            f"{kind} {name}" for kind, name in (self.subject | self.details).items()
        )
        if self.state == "closed":
            return f"{subject or 'the fleet'}: over"
        if self.kind == "silent" and self.device is None:
            return f"{subject or 'the fleet'}: {self.evidence:,.0f} devices do not report"
        if self.kind == "silent":
            return f"{subject}: silent for {self.evidence:.0f} hours"
        because = f". {self.meaning}" if self.cause else ""
        if self.kind == "changed" and self.device is None:
            return f"{subject or 'the fleet'}: {self.evidence:,.0f} devices changed, half or more"
        if self.kind == "changed":
            return f"{subject}: changed since its past, {self.change}{because}"
        return f"{subject}: unlike calibration, {self.evidence:.0f} bits of evidence{because}"


def webhook_message(
    alarms: list[AlarmNotice], judged: datetime, dashboard: str | None = None
) -> Json | None:
    """Return the changed alarms as JSON, with a `text` for chat servers; None without alarms.

    `dashboard` is the dashboard's URL, for links.
    """
    if not alarms:
        return None
    listed, more = _listed(alarms)
    lines = [f"[{a.severity}] {a.text}{_link_suffix(a, dashboard)}" for a in listed]
    lines += [f"and {count:,} more of kind {kind}" for kind, count in more.items()]
    return {
        "schema": "tcuq.alarms/1",
        "judged": judged.isoformat(),
        "text": "\n".join(lines),
        "alarms": [
            alarm.model_dump(mode="json", exclude={"new"}, exclude_none=True)
            | _link(alarm, dashboard)
            | {"text": alarm.text}
            for alarm in listed
        ],
        "more": more,
    }


def alertmanager_alerts(
    alarms: list[AlarmNotice], now: datetime, lasting_s: float, dashboard: str | None = None
) -> list[Json]:
    """Return active alarms as alerts that end `lasting_s` from now, and newly closed ones as ended.

    Labels identify an alert, so an escalated alarm is a new alert and the old one ends.
    """
    until = now + timedelta(seconds=lasting_s)
    listed, more = _listed(alarms)
    alerts = [alert for alarm in listed for alert in _alerts(alarm, until, dashboard)]
    for kind, count in more.items():
        severity = severity_of(kind, "open")
        labels = {"alertname": _name(kind) + MANY_SUFFIX, "severity": severity, "kind": kind}
        summary = {"summary": f"{count:,} more devices than are listed"}
        alerts.append(_alert(labels, summary, now, until))
    return alerts


def _alerts(alarm: AlarmNotice, until: datetime, dashboard: str | None) -> Iterator[Json]:
    """Yield an alarm's one or two alerts."""
    labels = {"alertname": _name(alarm.kind), "kind": alarm.kind, **alarm.subject}
    link = _link(alarm, dashboard)
    step = {"next_step": alarm.next_step} if alarm.next_step else {}
    annotations = {"summary": alarm.text, **step, **alarm.details, **link}
    if dashboard is not None:
        annotations["runbook_url"] = dashboard.rstrip("/") + alarm.runbook
    for severity, active in _severities(alarm):
        starts = alarm.changed if active and severity != "ticket" else alarm.opened
        if active or (alarm.new and alarm.state != "open" and alarm.opened < alarm.changed):
            ends = until if active else alarm.changed
            alert = _alert({**labels, "severity": severity}, annotations, starts, ends)
            yield alert | ({"generatorURL": link["link"]} if link else {})


def _severities(alarm: AlarmNotice) -> list[tuple[Severity, bool]]:
    """Return the severities that an alarm has or had, and whether it has each now."""
    if alarm.kind in TICKETS:
        return [("ticket", alarm.state != "closed")]
    states: tuple[State, ...] = ("open", "escalated")
    return [(PAGING[state], alarm.state == state) for state in states]


def _link(alarm: AlarmNotice, dashboard: str | None) -> dict[str, str]:
    return {} if dashboard is None else {"link": dashboard.rstrip("/") + alarm.path}


def _link_suffix(alarm: AlarmNotice, dashboard: str | None) -> str:
    return "".join(f" {link}" for link in _link(alarm, dashboard).values())


def _name(kind: str) -> str:
    return NAMES.get(kind, TICKET_NAME)


def _alert(
    labels: dict[str, str], annotations: dict[str, str], starts: datetime, ends: datetime
) -> Json:
    return {
        "labels": labels,
        "annotations": annotations,
        "startsAt": starts.isoformat(),
        "endsAt": ends.isoformat(),
    }


def _listed(alarms: list[AlarmNotice]) -> tuple[list[AlarmNotice], dict[str, int]]:
    """Return all groups and the first devices, and the number of devices left out by kind."""
    groups = [alarm for alarm in alarms if alarm.device is None]
    devices = (alarm for alarm in alarms if alarm.device is not None)
    listed = groups + list(islice(devices, MAX_LISTED))
    return listed, dict(Counter(alarm.kind for alarm in devices))
