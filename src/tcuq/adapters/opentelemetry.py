# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry: a monitor's counters as observable instruments. Extra `opentelemetry`."""

from collections.abc import Callable, Mapping
from typing import Any

from tcuq._extras import import_extra
from tcuq.adapters.prometheus import COUNTERS, GAUGES, MonitorReader
from tcuq.monitor import Monitor


def observe_monitor(
    monitor: Monitor,
    meter: Any = None,  # noqa: ANN401 - opentelemetry.metrics.Meter
    attributes: Mapping[str, str] | None = None,
) -> None:
    """Create observable counters and gauges of a monitor, read whenever the SDK exports.

    Parameters
    ----------
    monitor
        The monitor whose counters are read.
    meter
        From ``opentelemetry.metrics.get_meter``; None takes the global provider's.
    attributes
        Names and values that tell several monitors apart, such as ``{"model": "kws"}``.
    """
    metrics = import_extra("opentelemetry.metrics", "opentelemetry")
    meter = metrics.get_meter("tcuq") if meter is None else meter

    reader = MonitorReader(monitor)

    def callbacks(name: str) -> list[Callable[[Any], list[Any]]]:
        return [lambda _: [metrics.Observation(reader.read()[name], attributes)]]

    for name, text in COUNTERS.items():
        meter.create_observable_counter(f"tcuq.{name}", callbacks(name), description=text)
    for name, text in GAUGES.items():
        meter.create_observable_gauge(f"tcuq.{name}", callbacks(name), description=text)
