# SPDX-License-Identifier: Apache-2.0
"""A monitor on a server, read by Prometheus and OpenTelemetry."""

import urllib.request

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.parser import text_string_to_metric_families

import tcuq
from tcuq.adapters.opentelemetry import observe_monitor
from tcuq.adapters.prometheus import HELP, MonitorCollector, counters


def test_prometheus_scrapes_the_counters(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """Every scrape over HTTP has the monitor's counters of that moment."""
    monitor, registry = tcuq.Monitor(profile), CollectorRegistry()
    registry.register(MonitorCollector(monitor, {"model": "kws"}))
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        for part in faulty.recordings():
            monitor.run(part)
            address = f"http://127.0.0.1:{server.server_port}/metrics"
            with urllib.request.urlopen(address) as answer:
                families = text_string_to_metric_families(answer.read().decode())
            samples = {s.name: s.value for family in families for s in family.samples}
            for name, count in counters(monitor).items():
                assert samples[f"tcuq_{name}_total"] == count
            assert samples["tcuq_alarm_stands"] == 1
            assert samples["tcuq_epoch_evidence_bits"] == monitor.epoch_evidence_bits
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert counters(monitor)["steps"] == len(faulty)


def test_opentelemetry_reads_the_counters(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """What the SDK exports are the monitor's counters, with the attributes given."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monitor = tcuq.Monitor(profile)
    observe_monitor(monitor, provider.get_meter("test"), {"model": "kws"})
    monitor.run(faulty)
    data = reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    points = {metric.name: metric.data.data_points[0] for metric in scope.metrics}
    assert {f"tcuq.{name}" for name in HELP} < set(points)
    for name, count in counters(monitor).items():
        point = points[f"tcuq.{name}"]
        assert point.value == count  # type: ignore[union-attr]
        assert point.attributes == {"model": "kws"}
    provider.shutdown()
