# SPDX-License-Identifier: Apache-2.0
"""What a worker tells of itself, for Prometheus: lag, batches, commits, refusals by reason."""

import time

from tcuq.errors import MissingExtraError
from tcuq.fleet.ingest.intake import Taken
from tcuq.telemetry import Reason

ALIVE_S = 60.0  # a loop that has not turned for so long hangs


class Gauges:
    """A worker's figures in a registry of their own."""

    def __init__(self) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError:
            raise MissingExtraError("prometheus-client", "fleet") from None
        self.registry = own = CollectorRegistry()
        self.records = Counter("tcuq_ingest_records", "Stored, or known already.", registry=own)
        self.refused = Counter(
            "tcuq_ingest_refused", "Refused, by reason.", ["reason"], registry=own
        )
        for reason in Reason:
            if reason != Reason.FINE:
                self.refused.labels(reason.name.lower())
        self.batch = Histogram(
            "tcuq_ingest_batch_records",
            "Records of a transaction.",
            buckets=(1, 10, 100, 1_000, 5_000, 10_000, 20_000, 50_000),
            registry=own,
        )
        self.commit = Histogram(
            "tcuq_ingest_commit_seconds", "From the first statement to COMMIT.", registry=own
        )
        self.lag = Gauge(
            "tcuq_ingest_lag_seconds",
            "Age of the last batch's oldest message when it was stored.",
            registry=own,
        )
        self.failures = Counter(
            "tcuq_ingest_failures", "Lost servers, by which.", ["server"], registry=own
        )
        self.broker = Gauge("tcuq_ingest_broker_connected", "1 while it is there.", registry=own)
        self.database = Gauge(
            "tcuq_ingest_database_connected", "1 while it is there.", registry=own
        )
        self.turned = time.monotonic()

    def count(self, taken: Taken, records: int) -> dict[str, int]:
        """Count what was taken; returns what was refused, by reason."""
        refused = {reason.name.lower(): count for reason, count in taken.refused.items()}
        for reason, count in refused.items():
            self.refused.labels(reason).inc(count)
        self.records.inc(records)
        return refused

    @property
    def alive(self) -> bool:
        """Whether the worker's loop turns."""
        return time.monotonic() - self.turned < ALIVE_S

    @property
    def ready(self) -> bool:
        """Whether what comes now would be stored."""
        connected = self.registry.get_sample_value
        return bool(
            connected("tcuq_ingest_broker_connected")
            and connected("tcuq_ingest_database_connected")
        )
