# SPDX-License-Identifier: Apache-2.0
"""The fleet's figures for Prometheus, read when they are asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString

from tcuq.fleet.serve import queries
from tcuq.fleet.serve.identity import EVERYBODY
from tcuq.telemetry import Reason

if TYPE_CHECKING:
    from prometheus_client.registry import CollectorRegistry

    from tcuq.fleet.serve.database import Reader, Session

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_LETTERS: LiteralString = """
SELECT reason, count(*) AS letters FROM dead_letters WHERE stored > now() - interval '1 hour'
GROUP BY reason
"""


@dataclass(frozen=True, slots=True)
class _Letters:
    reason: int
    letters: int


class Timings:
    """How long queries take, by name."""

    def __init__(self, registry: "CollectorRegistry") -> None:
        from prometheus_client import Histogram

        self._seconds = Histogram(
            "tcuq_fleet_query_seconds",
            "Seconds of the dashboard's queries",
            ["query"],
            registry=registry,
            buckets=BUCKETS,
        )

    def observed(self, name: str, seconds: float) -> None:
        """Add one."""
        self._seconds.labels(name).observe(seconds)


class Fleet:
    """A collector: no figure is kept between two scrapes."""

    def __init__(self, reader: "Reader") -> None:
        self._reader = reader

    def collect(self) -> Iterator[Any]:
        """All figures, or that the database does not answer."""
        from prometheus_client.core import GaugeMetricFamily
        from psycopg import Error
        from psycopg_pool import PoolTimeout

        try:
            with self._reader.session() as session:
                found = [*_judged(session), *_hour(session), *_letters(session)]
            answers = 1
        except (Error, PoolTimeout):
            found, answers = [], 0
        yield GaugeMetricFamily(
            "tcuq_fleet_database_up", "1 if the database answers the dashboard", value=answers
        )
        yield from found


def _judged(session: "Session") -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    newest = queries.newest(session)
    if newest is None:
        return
    devices = GaugeMetricFamily(
        "tcuq_fleet_devices", "Devices by what the last judgement said", labels=["state"]
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
        "Groups that drift as a whole, and are not explained by another",
        value=queries.named(session, newest.judgement),
    )
    standing = GaugeMetricFamily("tcuq_fleet_alarms", "Alarms that stand", labels=["kind", "state"])
    counts = {(row.kind, row.state): row.alarms for row in queries.standing(session)}
    for kind in ("device", "group", "silent"):
        for state in ("open", "escalated"):
            standing.add_metric([kind, state], counts.get((kind, state), 0))
    yield standing


def _hour(session: "Session") -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    whole = queries.hours(session, EVERYBODY, 2)[:-1][-1:]
    for name, what in (
        ("records", "Records stored"),
        ("steps", "Steps that devices counted"),
        ("abstained", "Steps abstained"),
        ("denied", "Steps denied"),
        ("alarms", "Alarms that devices counted"),
    ):
        yield GaugeMetricFamily(
            f"tcuq_fleet_hour_{name}",
            f"{what} in the last whole hour",
            value=sum(getattr(hour, name) for hour in whole),
        )


def _letters(session: "Session") -> Iterator[Any]:
    from prometheus_client.core import GaugeMetricFamily

    letters = GaugeMetricFamily(
        "tcuq_fleet_hour_dead_letters", "Letters refused in the last hour", labels=["reason"]
    )
    found = {r.reason: r.letters for r in session.rows(_Letters, "letters", _LETTERS, {})}
    for reason in Reason:
        if reason != Reason.FINE:
            letters.add_metric([reason.name.lower()], found.get(int(reason), 0))
    yield letters
