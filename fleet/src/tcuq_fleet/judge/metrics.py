# SPDX-License-Identifier: Apache-2.0
"""The judge's metrics for Prometheus, and its health."""

import time

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tcuq_fleet.http_server import add_monitoring
from tcuq_fleet.judge.judge import Judgement


class JudgeMetrics:
    """A judge's metrics in their own registry."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self.judgements = Counter("tcuq_judge_judgements", "Judgements written.", registry=own)
        self.failures = Counter(
            "tcuq_judge_failures", "Judgements that the database prevented.", registry=own
        )
        self.last = Gauge(
            "tcuq_judge_last_timestamp_seconds", "When it last judged, or saw another judge do so.",
            registry=own,
        )  # fmt: skip
        self.seconds = Histogram(
            "tcuq_judge_seconds", "Duration of a judgement and of the retention.",
            buckets=(0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800), registry=own,
        )  # fmt: skip
        self.devices = Gauge(
            "tcuq_judge_devices", "Devices of its last judgement.", ["state"], registry=own
        )
        self.database = Gauge(
            "tcuq_judge_database_connected", "1 if the last judgement reached the database.",
            registry=own,
        )  # fmt: skip

    def observe(self, judgement: Judgement | None, seconds: float) -> None:
        """Count a judgement; None: another judge was faster."""
        self.database.set(1)
        self.last.set(time.time())
        if judgement is not None:
            self.judgements.inc()
            self.seconds.observe(seconds)
            for state in ("devices", "silent", "judgeable", "discovered"):
                self.devices.labels(state).set(getattr(judgement, state))

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
