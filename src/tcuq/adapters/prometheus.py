# SPDX-License-Identifier: Apache-2.0
"""Prometheus: a monitor that runs on a server, read at every scrape. Extra `prometheus`."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from tcuq._extras import import_extra
from tcuq.monitor import Monitor

COUNTERS = {
    "steps": "Steps that the monitor decided on.",
    "abstained": "Predictions withheld.",
    "denied": "Predictions that the monitor wanted to withhold after the budget was spent.",
    "exceeded": "Steps whose risk reached the adaptive threshold.",
    "alarms": "Alarms: the stream changed.",
}
GAUGES = {
    "alarm_stands": "1 if an alarm was raised and not acknowledged since.",
    "epoch_evidence_bits": "Evidence of the running epoch against calibration, in bits.",
}


class MonitorReader:
    """Reads a monitor's figures; while another thread runs the monitor, the last ones read."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._last = self._figures()

    def read(self) -> dict[str, float]:
        """Return every counter since the monitor's last reset and every gauge, by name."""
        with suppress(RuntimeError):  # in use by another thread
            self._last = self._figures()
        return self._last

    def _figures(self) -> dict[str, float]:
        telemetry: dict[str, Any] = dict(self._monitor.engine.telemetry())
        gauges = {name: float(getattr(self._monitor, name)) for name in GAUGES}
        return {name: telemetry[name] for name in COUNTERS} | gauges


class MonitorCollector:
    """A collector of `prometheus_client`; register it once per monitor.

    Counters start again when the monitor is reset, which Prometheus' `rate` allows for. Step and
    scrape from one process; a scrape during `run` gets the figures of the scrape before it.

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
        self._reader = MonitorReader(monitor)
        self._labels = dict(labels or {})
        self._core = import_extra("prometheus_client.core", "prometheus")

    def collect(self) -> Iterator[Any]:
        """Yield the metrics; called by the registry."""
        names, values = list(self._labels), list(self._labels.values())
        figures = self._reader.read()
        for texts, family in (
            (COUNTERS, self._core.CounterMetricFamily),
            (GAUGES, self._core.GaugeMetricFamily),
        ):
            for name, text in texts.items():
                metric = family(f"tcuq_{name}", text, labels=names)
                metric.add_metric(values, figures[name])
                yield metric
