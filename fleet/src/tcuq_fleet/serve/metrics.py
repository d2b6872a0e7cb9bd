# SPDX-License-Identifier: Apache-2.0
"""The fleet's metrics for Prometheus, queried at each scrape."""

import time
from collections.abc import Iterator
from typing import Any, LiteralString

from prometheus_client import Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry
from psycopg import Error
from psycopg_pool import PoolTimeout

from tcuq.telemetry import Reason
from tcuq_fleet.http_server import MONITORING
from tcuq_fleet.judge.alerts import PAGING, TICKETS, State, severity_of
from tcuq_fleet.serve import alarm_queries, group_queries, queries
from tcuq_fleet.serve.database import Reader, Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES

Labelled = dict[tuple[str, ...], float]

PAGED = ("changed", "silent")
ACTIVE: tuple[State, ...] = ("open", "escalated")
BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
HOUR_SUMS = {
    "records": "Records stored",
    "steps": "Steps that devices counted",
    "abstained": "Steps abstained",
    "denied": "Steps denied",
    "alarms": "Alarms that devices counted",
}
_DEAD_LETTERS: LiteralString = """
SELECT reason, count(*) FROM dead_letters WHERE stored > now() - interval '1 hour' GROUP BY reason
"""


def page_timer(registry: CollectorRegistry) -> Histogram:
    """Register a histogram of the durations of requests by page."""
    return Histogram(
        "tcuq_fleet_page_seconds",
        "Seconds until a page or an answer of the API was sent",
        ["page"],
        registry=registry,
        buckets=BUCKETS,
    )


class PageTimer:
    """ASGI middleware that observes the duration of every request to a page or to the API."""

    def __init__(self, app: Any, timer: Histogram) -> None:  # noqa: ANN401 - ASGI
        self._app, self._timer = app, timer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Handle one request."""
        started = time.perf_counter()
        await self._app(scope, receive, send)
        route = scope.get("route")
        if route is not None and route.path not in MONITORING:
            self._timer.labels(route.path).observe(time.perf_counter() - started)


def query_timer(registry: CollectorRegistry) -> Histogram:
    """Register a histogram of query durations by name."""
    return Histogram(
        "tcuq_fleet_query_seconds",
        "Seconds of the dashboard's queries",
        ["query"],
        registry=registry,
        buckets=BUCKETS,
    )


class FleetCollector(Collector):
    """A Prometheus collector; it stores no figure between two scrapes."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield all metrics, or only that the database does not answer."""
        try:
            with self._reader.session() as session:
                families = [*_judgement(session), *_hour(session), _dead_letters(session)]
                away: Labelled = {(str(place.place + 1),): 1 for place in session.away}
            database_up = not away
        except (Error, PoolTimeout):
            families, database_up, away = [], False, {}
        text = "1 if the database, or each of several, answers the dashboard"
        yield _gauge("database_up", text, database_up)
        yield _labelled("database_away", "Of several, those away", ["database"], away)
        yield from families


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"tcuq_fleet_{name}", text, value=value)


def _labelled(name: str, text: str, labels: list[str], values: Labelled) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"tcuq_fleet_{name}", text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _judgement(session: Session) -> Iterator[GaugeMetricFamily]:
    newest = queries.newest(session)
    if newest is None:
        return
    devices: Labelled = {
        ("all",): newest.devices,
        ("silent",): newest.silent,
        ("judgeable",): newest.judgeable,
        ("different",): newest.discovered,
        ("compared",): newest.compared,
        ("changed",): newest.changed,
    }
    yield _labelled("devices", "Devices by state in the last judgement", ["state"], devices)
    judged = newest.judged.timestamp()
    yield _gauge("judged_timestamp_seconds", "When the fleet was last judged", judged)
    named = group_queries.named_groups(session, newest.judgement)
    text = "Groups unlike calibration that no other group explains"
    yield _gauge("different_groups", text, named)
    yield _labelled("alarms", "Active alarms", ["kind", "severity"], _alarms(session))


def _alarms(session: Session) -> Labelled:
    """Return the active alarms by kind and severity, also where there are none."""
    alarms: Labelled = {(kind, "ticket"): 0 for kind in TICKETS}
    alarms |= {(kind, PAGING[state]): 0 for kind in PAGED for state in ACTIVE}
    for row in alarm_queries.alarm_counts(session):
        alarms[row.kind, severity_of(row.kind, row.state)] += row.alarms
    return alarms


def _hour(session: Session) -> Iterator[GaugeMetricFamily]:
    whole = queries.hours(session, ALL_DEVICES, 2)[:-1][-1:]
    for name, text in HOUR_SUMS.items():
        value = sum(getattr(hour, name) for hour in whole)
        yield _gauge(f"hour_{name}", f"{text} in the last whole hour", value)


def _dead_letters(session: Session) -> GaugeMetricFamily:
    counts = dict(session.sums("dead_letters", _DEAD_LETTERS, {}, 1))
    values: Labelled = {
        (reason.name.lower(),): counts.get(int(reason), 0)
        for reason in Reason
        if reason != Reason.FINE
    }
    return _labelled("hour_dead_letters", "Dead letters in the last hour", ["reason"], values)
