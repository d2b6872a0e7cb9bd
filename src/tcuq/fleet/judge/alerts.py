# SPDX-License-Identifier: Apache-2.0
"""Alarms in the words of their receivers: a webhook's JSON, and Alertmanager's alerts.

Groups come first; of many devices some are listed and the rest counted.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from tcuq.fleet.wire import device_name, firmware_name

Json = dict[str, Any]

MOST_LISTED = 100  # devices of a message
SEVERITIES = {"open": "warning", "escalated": "critical"}
MANY = "ManyDevices"


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm as the store has it, and whether its receiver knows of this state."""

    kind: str
    state: str
    device: int | None
    profile: int | None
    firmware: int | None
    site: str | None
    opened: datetime
    changed: datetime
    evidence: float
    new: bool

    @property
    def subject(self) -> dict[str, str]:
        """Whom it is about, by the names that people use."""
        named: dict[str, str] = {}
        if self.device is not None:
            named["device"] = device_name(self.device % 2**64)
        if self.profile is not None:
            named["profile"] = f"{self.profile % 2**32:08x}"
        if self.firmware is not None:
            named["firmware"] = firmware_name(self.firmware % 2**32)
        if self.site is not None:
            named["site"] = self.site
        return named

    @property
    def text(self) -> str:
        """In a few words."""
        whom = ", ".join(f"{kind} {name}" for kind, name in self.subject.items())
        if self.state == "closed":
            return f"{whom or 'the fleet'}: over"
        if self.kind == "silent" and self.device is None:
            return f"{whom or 'the fleet'}: {self.evidence:,.0f} devices do not report"
        if self.kind == "silent":
            return f"{whom}: silent for {self.evidence:.0f} hours"
        return f"{whom}: drifted, {self.evidence:.0f} bits of evidence"


def webhook_message(alarms: list[Alarm], judged: datetime) -> Json | None:
    """What changed, as JSON; its `text` is what chat servers show. None: nothing did."""
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
                "text": alarm.text,
            }
            for alarm in listed
        ],
        "more": more,
    }


def alertmanager_alerts(alarms: list[Alarm], now: datetime, lasting_s: float) -> list[Json]:
    """All that stands, up to `lasting_s` from now, and the end of what ended.

    An alert is known by its labels, so an alarm that escalates is a new one, and the old one ends.
    """
    until = now + timedelta(seconds=lasting_s)
    listed, more = _listed(alarms)
    alerts = [alert for alarm in listed for alert in _alerts(alarm, until)]
    for kind, count in more.items():
        labels = {"alertname": _name(kind) + MANY, "severity": "warning", "kind": kind}
        alerts.append(_alert(labels, f"{count:,} more devices than are listed", now, until))
    return alerts


def _alerts(alarm: Alarm, until: datetime) -> Iterator[Json]:
    """An alarm as one or two alerts."""
    labels = {"alertname": _name(alarm.kind), "kind": alarm.kind, **alarm.subject}
    for state, severity in SEVERITIES.items():
        stands = alarm.state == state
        starts = alarm.changed if stands else alarm.opened
        if stands or (alarm.new and alarm.state != "open" and alarm.opened < alarm.changed):
            ends = until if stands else alarm.changed
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


def _listed(alarms: list[Alarm]) -> tuple[list[Alarm], dict[str, int]]:
    """All groups and some devices; and how many devices are not listed, by kind."""
    groups = [alarm for alarm in alarms if alarm.device is None]
    devices = (alarm for alarm in alarms if alarm.device is not None)
    listed = groups + list(islice(devices, MOST_LISTED))
    return listed, dict(Counter(alarm.kind for alarm in devices))
