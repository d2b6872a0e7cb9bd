# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry: a monitor's counters as observable instruments. Extra `opentelemetry`."""

from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from tcuq._extras import import_extra
from tcuq.adapters.prometheus import COUNTERS, GAUGES, MonitorReader
from tcuq.errors import InputError
from tcuq.monitor import Monitor

_OBSERVED: WeakKeyDictionary[Any, list[tuple[MonitorReader, dict[str, str]]]] = WeakKeyDictionary()


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
    observed = _OBSERVED.setdefault(meter, [])
    own = dict(attributes or {})
    if any(own == others for _, others in observed):
        raise InputError(
            f"attributes must tell the monitors of one meter apart, got {own} twice: pass for"
            ' example attributes={"model": "keywords"}'
        )
    observed.append((MonitorReader(monitor), own))
    if len(observed) > 1:  # the SDK keeps the callbacks of an instrument's first creation alone
        return

    def callbacks(name: str) -> list[Callable[[Any], list[Any]]]:
        return [lambda _: [metrics.Observation(one.read()[name], its) for one, its in observed]]

    for name, text in COUNTERS.items():
        meter.create_observable_counter(f"tcuq.{name}", callbacks(name), description=text)
    for name, text in GAUGES.items():
        meter.create_observable_gauge(f"tcuq.{name}", callbacks(name), description=text)
