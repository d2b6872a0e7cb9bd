# SPDX-License-Identifier: Apache-2.0
"""The fleet's metrics for Prometheus, queried at each scrape."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, LiteralString

from prometheus_client.registry import CollectorRegistry

from tcuq.telemetry import Reason
from tcuq_fleet.judge.alerts import SEVERITIES
from tcuq_fleet.serve import alarm_queries, queries
from tcuq_fleet.serve.database import Reader, Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_DEAD_LETTERS: LiteralString = """
SELECT reason, count(*) AS dead_letters FROM dead_letters WHERE stored > now() - interval '1 hour'
GROUP BY reason
"""


@dataclass(frozen=True, slots=True)
class _DeadLetterCount:
    reason: int
    dead_letters: int


class QueryTimer:
    """A histogram of query durations by name."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Histogram

        self._seconds = Histogram(
            "tcuq_fleet_query_seconds",
            "Seconds of the dashboard's queries",
            ["query"],
            registry=registry,
            buckets=BUCKETS,
        )

    def observe(self, name: str, seconds: float) -> None:
        """Add one query's duration."""
        self._seconds.labels(name).observe(seconds)


class FleetCollector:
    """A Prometheus collector; it stores no figure between two scrapes."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def collect(self) -> Iterator[Any]:
        """Yield all metrics, or only that the database does not answer."""
        from prometheus_client.core import GaugeMetricFamily
        from psycopg import Error
        from psycopg_pool import PoolTimeout

        try:
            with self._reader.session() as session:
                families = [*_judgement(session), *_hour(session), *_dead_letters(session)]
            database_up = 1
        except (Error, PoolTimeout):
            families, database_up = [], 0
        yield GaugeMetricFamily(
            "tcuq_fleet_database_up", "1 if the database answers the dashboard", value=database_up
        )
        yield from families


def _judgement(session: "Session") -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    newest = queries.newest(session)
    if newest is None:
        return
    devices = GaugeMetricFamily(
        "tcuq_fleet_devices", "Devices by their state in the last judgement", labels=["state"]
    )
    devices.add_metric(["all"], newest.devices)
    devices.add_metric(["silent"], newest.silent)
    devices.add_metric(["judgeable"], newest.judgeable)
    devices.add_metric(["discovered"], newest.discovered)
    yield devices
    yield GaugeMetricFamily(
        "tcuq_fleet_judged_timestamp_seconds",
        "When the fleet was last judged",
        value=newest.judged.timestamp(),
    )
    yield GaugeMetricFamily(
        "tcuq_fleet_drifted_groups",
        "Groups that drift as a whole and are not explained by another group",
        value=queries.named_groups(session, newest.judgement),
    )
    alarms = GaugeMetricFamily("tcuq_fleet_alarms", "Active alarms", labels=["kind", "severity"])
    counts = {(row.kind, row.state): row.alarms for row in alarm_queries.alarm_counts(session)}
    for kind in ("device", "group", "silent"):
        for state in ("open", "escalated"):
            alarms.add_metric([kind, SEVERITIES[state]], counts.get((kind, state), 0))
    yield alarms


def _hour(session: "Session") -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    whole = queries.hours(session, ALL_DEVICES, 2)[:-1][-1:]
    for name, help_text in (
        ("records", "Records stored"),
        ("steps", "Steps that devices counted"),
        ("abstained", "Steps abstained"),
        ("denied", "Steps denied"),
        ("alarms", "Alarms that devices counted"),
    ):
        yield GaugeMetricFamily(
            f"tcuq_fleet_hour_{name}",
            f"{help_text} in the last whole hour",
            value=sum(getattr(hour, name) for hour in whole),
        )


def _dead_letters(session: "Session") -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(
        "tcuq_fleet_hour_dead_letters", "Dead letters in the last hour", labels=["reason"]
    )
    rows = session.rows(_DeadLetterCount, "dead_letters", _DEAD_LETTERS, {})
    counts = {row.reason: row.dead_letters for row in rows}
    for reason in Reason:
        if reason != Reason.FINE:
            family.add_metric([reason.name.lower()], counts.get(int(reason), 0))
    yield family
