# SPDX-License-Identifier: Apache-2.0
"""A monitor on a server, read by Prometheus and OpenTelemetry."""

import threading
import urllib.request

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families

import tcuq
from tcuq.adapters.opentelemetry import observe_monitor
from tcuq.adapters.prometheus import COUNTERS, GAUGES, MonitorCollector, MonitorReader


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
            telemetry = dict(monitor.engine.telemetry())
            for name in COUNTERS:
                assert samples[f"tcuq_{name}_total"] == telemetry[name]
            assert samples["tcuq_alarm_stands"] == 1
            assert samples["tcuq_epoch_evidence_bits"] == monitor.epoch_evidence_bits
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert monitor.engine.telemetry()["steps"] == len(faulty)


def test_a_scrape_while_another_thread_ran_the_monitor_failed(
    profile: tcuq.Profile, faulty: tcuq.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A monitor in use gives the figures read last, for every metric, and no error."""
    monitor = tcuq.Monitor(profile)
    monitor.run(faulty)
    reader = MonitorReader(monitor)
    before = reader.read()

    def busy(_: tcuq.Monitor) -> float:
        raise RuntimeError("this monitor is in use by another thread")

    with monkeypatch.context() as patch:
        patch.setattr(tcuq.Monitor, "epoch_evidence_bits", property(busy))
        monitor.run(faulty)
        assert reader.read() == before
    assert reader.read()["steps"] == 2 * len(faulty) == 2 * before["steps"]


def test_scrapes_during_a_long_run(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """Scrapes from another thread succeed all the while, and the last one sees every step."""
    monitor, registry = tcuq.Monitor(profile), CollectorRegistry()
    registry.register(MonitorCollector(monitor))
    thread = threading.Thread(target=lambda: [monitor.run(faulty) for _ in range(20)])
    thread.start()
    while thread.is_alive():
        assert b"tcuq_steps_total" in generate_latest(registry)
    assert f"tcuq_steps_total {20.0 * len(faulty)}" in generate_latest(registry).decode()


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
    assert {f"tcuq.{name}" for name in (*COUNTERS, *GAUGES)} == set(points)
    telemetry = dict(monitor.engine.telemetry())
    for name in COUNTERS:
        point = points[f"tcuq.{name}"]
        assert point.value == telemetry[name]  # type: ignore[union-attr]
        assert point.attributes == {"model": "kws"}
    provider.shutdown()
