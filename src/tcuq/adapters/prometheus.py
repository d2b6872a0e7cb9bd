# SPDX-License-Identifier: Apache-2.0
"""Prometheus: a monitor that runs on a server, read at every scrape. Extra `prometheus`."""

from collections.abc import Iterator, Mapping
from typing import Any

from tcuq._extras import import_extra
from tcuq.monitor import Monitor

HELP = {
    "steps": "Steps that the monitor decided on.",
    "abstained": "Predictions withheld.",
    "denied": "Predictions that the monitor wanted to withhold after the budget was spent.",
    "exceeded": "Steps whose risk reached the adaptive threshold.",
    "alarms": "Alarms: the stream changed.",
}


def counters(monitor: Monitor) -> dict[str, int]:
    """Return a monitor's counters since its last reset, by name."""
    telemetry = monitor.engine.telemetry()
    return {
        "steps": telemetry["steps"],
        "abstained": telemetry["abstained"],
        "denied": telemetry["denied"],
        "exceeded": telemetry["exceeded"],
        "alarms": telemetry["alarms"],
    }


class MonitorCollector:
    """A collector of `prometheus_client`; register it once per monitor.

    Counters start again when the monitor is reset, which Prometheus' `rate` allows for. Step and
    scrape from one process; a scrape during `run` may see counters of a step that is not finished.

    Parameters
    ----------
    monitor
        The monitor whose counters are read.
    labels
        Names and values that tell several monitors apart, such as ``{"model": "kws"}``.

    Examples
    --------
    >>> from prometheus_client import CollectorRegistry, generate_latest
    >>> from tcuq.demo import demo_profile
    >>> registry = CollectorRegistry()
    >>> registry.register(MonitorCollector(Monitor(demo_profile()), {"model": "kws"}))
    >>> 'tcuq_steps_total{model="kws"} 0.0' in generate_latest(registry).decode()
    True
    """

    def __init__(self, monitor: Monitor, labels: Mapping[str, str] | None = None) -> None:
        self._monitor = monitor
        self._labels = dict(labels or {})
        self._core = import_extra("prometheus_client.core", "prometheus")

    def collect(self) -> Iterator[Any]:
        """Yield the metrics; called by the registry."""
        names, values = list(self._labels), list(self._labels.values())
        for name, count in counters(self._monitor).items():
            metric = self._core.CounterMetricFamily(f"tcuq_{name}", HELP[name], labels=names)
            metric.add_metric(values, count)
            yield metric
        gauges = {
            "alarm_stands": ("1 if an alarm was raised since the last reset.",
                             float(self._monitor.alarm_stands)),
            "epoch_evidence_bits": ("Evidence of the running epoch against calibration, in bits.",
                                    self._monitor.epoch_evidence_bits),
        }  # fmt: skip
        for name, (text, value) in gauges.items():
            metric = self._core.GaugeMetricFamily(f"tcuq_{name}", text, labels=names)
            metric.add_metric(values, value)
            yield metric
