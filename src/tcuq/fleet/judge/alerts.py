# SPDX-License-Identifier: Apache-2.0
"""Alerts: format alarms as a webhook's JSON and as Alertmanager's alerts.

Groups come first; of many devices the first are listed and the rest counted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from tcuq.fleet.wire import device_name, firmware_name, profile_name
from tcuq.telemetry import cause_text

Json = dict[str, Any]

MAX_LISTED = 100  # devices per message
SEVERITIES = {"open": "warning", "escalated": "critical"}
MANY_SUFFIX = "ManyDevices"


@dataclass(frozen=True, slots=True)
class AlarmNotice:
    """A stored alarm, and whether its state is new to the receiver."""

    kind: str
    state: str
    device: int | None
    profile: int | None
    firmware: int | None
    site: str | None
    opened: datetime
    changed: datetime
    evidence: float
    cause: int | None
    health_names: list[str] | None
    new: bool

    @property
    def subject(self) -> dict[str, str]:
        """The device or group of the alarm, by readable names."""
        names: dict[str, str] = {}
        if self.device is not None:
            names["device"] = device_name(self.device % 2**64)
        if self.profile is not None:
            names["profile"] = profile_name(self.profile)
        if self.firmware is not None:
            names["firmware"] = firmware_name(self.firmware)
        if self.site is not None:
            names["site"] = self.site
        return names

    @property
    def cause_text(self) -> str:
        """The cause of the device's own last alarm in words, or ""."""
        return cause_text(self.cause or 0, self.health_names or ())

    @property
    def text(self) -> str:
        """The alarm in a few words."""
        subject = ", ".join(f"{kind} {name}" for kind, name in self.subject.items())
        if self.state == "closed":
            return f"{subject or 'the fleet'}: over"
        if self.kind == "silent" and self.device is None:
            return f"{subject or 'the fleet'}: {self.evidence:,.0f} devices do not report"
        if self.kind == "silent":
            return f"{subject}: silent for {self.evidence:.0f} hours"
        own = self.cause_text
        because = f", last alarm of its own: {own}" if own else ""
        return f"{subject}: drifted, {self.evidence:.0f} bits of evidence{because}"


def webhook_message(alarms: list[AlarmNotice], judged: datetime) -> Json | None:
    """Return the changed alarms as JSON, with a `text` for chat servers; None without alarms."""
    if not alarms:
        return None
    listed, more = _listed(alarms)
    lines = [f"[{alarm.state}] {alarm.text}" for alarm in listed]
    lines += [f"and {count:,} more of kind {kind}" for kind, count in more.items()]
    return {
        "schema": "tcuq.alarms/1",
        "judged": judged.isoformat(),
        "text": "\n".join(lines),
        "alarms": [
            {
                "kind": alarm.kind,
                "state": alarm.state,
                **alarm.subject,
                "opened": alarm.opened.isoformat(),
                "changed": alarm.changed.isoformat(),
                "evidence": alarm.evidence,
                "cause": alarm.cause_text,
                "text": alarm.text,
            }
            for alarm in listed
        ],
        "more": more,
    }


def alertmanager_alerts(alarms: list[AlarmNotice], now: datetime, lasting_s: float) -> list[Json]:
    """Return active alarms as alerts that end `lasting_s` from now, and newly closed ones as ended.

    Labels identify an alert, so an escalated alarm is a new alert and the old one ends.
    """
    until = now + timedelta(seconds=lasting_s)
    listed, more = _listed(alarms)
    alerts = [alert for alarm in listed for alert in _alerts(alarm, until)]
    for kind, count in more.items():
        labels = {"alertname": _name(kind) + MANY_SUFFIX, "severity": "warning", "kind": kind}
        alerts.append(_alert(labels, f"{count:,} more devices than are listed", now, until))
    return alerts


def _alerts(alarm: AlarmNotice, until: datetime) -> Iterator[Json]:
    """Yield an alarm's one or two alerts."""
    labels = {"alertname": _name(alarm.kind), "kind": alarm.kind, **alarm.subject}
    for state, severity in SEVERITIES.items():
        active = alarm.state == state
        starts = alarm.changed if active else alarm.opened
        if active or (alarm.new and alarm.state != "open" and alarm.opened < alarm.changed):
            ends = until if active else alarm.changed
            yield _alert({**labels, "severity": severity}, alarm.text, starts, ends)


def _name(kind: str) -> str:
    return "TcuqSilent" if kind == "silent" else "TcuqDrift"


def _alert(labels: dict[str, str], text: str, starts: datetime, ends: datetime) -> Json:
    return {
        "labels": labels,
        "annotations": {"summary": text},
        "startsAt": starts.isoformat(),
        "endsAt": ends.isoformat(),
    }


def _listed(alarms: list[AlarmNotice]) -> tuple[list[AlarmNotice], dict[str, int]]:
    """Return all groups and the first devices, and the number of devices left out by kind."""
    groups = [alarm for alarm in alarms if alarm.device is None]
    devices = (alarm for alarm in alarms if alarm.device is not None)
    listed = groups + list(islice(devices, MAX_LISTED))
    return listed, dict(Counter(alarm.kind for alarm in devices))
