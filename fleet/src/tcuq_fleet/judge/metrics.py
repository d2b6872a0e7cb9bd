# SPDX-License-Identifier: Apache-2.0
"""The judge's metrics for Prometheus, and its health."""

import time
from functools import partial

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tcuq_fleet.http_server import add_monitoring
from tcuq_fleet.judge.judge import Judgement


class JudgeMetrics:
    """A judge's metrics in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self.judgements = counter("tcuq_judge_judgements", "Judgements written.")
        self.failures = counter("tcuq_judge_failures", "Judgements that the database prevented.")
        self.last = gauge(
            "tcuq_judge_last_timestamp_seconds", "When it last judged, or saw another judge do so."
        )
        self.seconds = Histogram(
            "tcuq_judge_seconds", "Duration of a judgement and of the retention.",
            buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800), registry=self.registry,
        )  # fmt: skip
        self.interval = gauge("tcuq_judge_interval_seconds", "Time between two judgements.")
        self.delivered = gauge(
            "tcuq_judge_delivered_timestamp_seconds",
            "When a receiver last had all alarms.",
            ["receiver"],
        )
        self.devices = gauge("tcuq_judge_devices", "Devices of its last judgement.", ["state"])
        self.database = gauge(
            "tcuq_judge_database_connected", "1 if the last judgement reached the database."
        )

    def observe(self, judgement: Judgement | None, seconds: float) -> None:
        """Count a judgement; None: another judge was faster."""
        self.database.set(1)
        self.last.set(time.time())
        if judgement is not None:
            self.judgements.inc()
            self.seconds.observe(seconds)
            for state in ("devices", "silent", "judgeable", "compared", "changed"):
                self.devices.labels(state).set(getattr(judgement, state))
            self.devices.labels("different").set(judgement.discovered)

    def fail(self) -> None:
        """Count a judgement that the database prevented."""
        self.database.set(0)
        self.failures.inc()

    @property
    def ready(self) -> bool:
        """Readiness: whether the last judgement reached the database."""
        return bool(self.registry.get_sample_value("tcuq_judge_database_connected"))


def create_app(metrics: JudgeMetrics) -> FastAPI:
    """Create the application: `/healthz`, `/readyz`, `/metrics`."""
    app = FastAPI(title="tcuq judge", docs_url=None, redoc_url=None, openapi_url=None)
    add_monitoring(app, metrics.registry, lambda: True, lambda: metrics.ready)
    return app
