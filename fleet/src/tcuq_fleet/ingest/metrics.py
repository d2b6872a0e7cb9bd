# SPDX-License-Identifier: Apache-2.0
"""A worker's metrics for Prometheus: lag, batches, commits, refusals by reason; and its health."""

import time
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tcuq.telemetry import Reason
from tcuq_fleet.ingest.validation import ValidationResult

ALIVE_S = 120.0  # a worker whose loop has not run for this long is considered hung
OVERDUE_S = 10.0  # a batch that waits longer makes the worker unready
LATE_S = 5.0  # the objective: a message is acknowledged within this time of its arrival


class IngestMetrics:
    """A worker's metrics in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.records = counter("tcuq_ingest_records", "Records stored, or known already.")
        self.refused = counter("tcuq_ingest_refused", "Refused, by reason.", ["reason"])
        for reason in Reason:
            if reason != Reason.FINE:
                self.refused.labels(reason.name.lower())
        self.requests_refused = counter(
            "tcuq_ingest_requests_refused", "HTTP requests of gateways with too many at once."
        )
        self.connections_refused = gauge(
            "tcuq_ingest_connections_refused",
            "HTTP connections that were ended because an address or all had too many.",
        )
        self.batch = histogram(
            "tcuq_ingest_batch_records",
            "Records per transaction.",
            buckets=(1, 10, 100, 1_000, 5_000, 10_000, 20_000, 50_000),
        )
        self.acknowledged = counter(
            "tcuq_ingest_acknowledged", "Messages acknowledged to the broker."
        )
        self.late = counter(
            "tcuq_ingest_late", f"Of these, acknowledged later than {LATE_S:g} s after arrival."
        )
        self.commit = histogram("tcuq_ingest_commit_seconds", "From the first statement to COMMIT.")
        self.lag = gauge(
            "tcuq_ingest_lag_seconds",
            "Age of the oldest message that is not stored yet.",
        )
        self.lag.set_function(lambda: self.lag_s)
        self.failures = counter("tcuq_ingest_failures", "Lost connections, by server.", ["server"])
        self.broker = gauge("tcuq_ingest_broker_connected", "1 while the broker is connected.")
        self.database = gauge(
            "tcuq_ingest_database_connected",
            "1 while the database answers and has the tables of this version.",
        )
        self.databases = gauge(
            "tcuq_ingest_database_up", "Of several databases, 1 if it answers.", ["database"]
        )
        self._away: set[int] = set()
        self._heartbeat = time.monotonic()
        self.oldest: float | None = None  # arrival of the oldest unstored message

    def observe_database(self, place: int, up: bool) -> None:
        """Note whether one of several databases answers; its label is its number in the list."""
        self.databases.labels(str(place + 1)).set(up)
        self._away.discard(place) if up else self._away.add(place)

    @property
    def note(self) -> str:
        """Which of several databases are away, for `/readyz`."""
        return "".join(f"database {place + 1} is away\n" for place in sorted(self._away))

    def count(self, result: ValidationResult, records: int) -> dict[str, int]:
        """Count stored records and refusals; return the refusals by reason."""
        refused = {reason.name.lower(): count for reason, count in result.refused.items()}
        for reason, count in refused.items():
            self.refused.labels(reason).inc(count)
        self.records.inc(records)
        return refused

    def beat(self, oldest: float | None = None) -> None:
        """Note that the worker's loop runs, and when its oldest unstored message arrived."""
        self._heartbeat = time.monotonic()
        self.oldest = oldest

    def stored(self, started: float, messages: int) -> None:
        """Note that a batch whose first message arrived at `started` is acknowledged."""
        self.oldest = None
        self.acknowledged.inc(messages)
        if time.monotonic() - started > LATE_S:
            self.late.inc(messages)

    @property
    def lag_s(self) -> float:
        """Seconds that the oldest unstored message waits; 0 without one."""
        return 0.0 if self.oldest is None else time.monotonic() - self.oldest

    @property
    def alive(self) -> bool:
        """Liveness: whether the worker's loop has run lately."""
        return time.monotonic() - self._heartbeat < ALIVE_S

    @property
    def ready(self) -> bool:
        """Readiness: whether a message that arrives now would be stored."""
        value = self.registry.get_sample_value
        return bool(
            value("tcuq_ingest_broker_connected")
            and value("tcuq_ingest_database_connected")
            and self.lag_s < OVERDUE_S
        )
