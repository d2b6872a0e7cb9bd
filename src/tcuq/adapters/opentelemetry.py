# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry: a monitor's counters as observable instruments. Extra `opentelemetry`."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tcuq._extras import import_extra
from tcuq.adapters.prometheus import HELP, counters
from tcuq.monitor import Monitor


def observe_monitor(
    monitor: Monitor,
    meter: Any = None,  # noqa: ANN401 - opentelemetry.metrics.Meter
    attributes: Mapping[str, str] | None = None,
) -> None:
    """Create observable counters of a monitor, read whenever the SDK exports.

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

    def reader(read: Callable[[], float]) -> list[Callable[[Any], list[Any]]]:
        return [lambda _: [metrics.Observation(read(), attributes)]]

    def count(name: str) -> float:
        return counters(monitor)[name]

    for name, text in HELP.items():
        callbacks = reader(partial(count, name))
        meter.create_observable_counter(f"tcuq.{name}", callbacks, description=text)
    meter.create_observable_gauge(
        "tcuq.epoch_evidence",
        reader(lambda: monitor.epoch_evidence_bits),
        unit="bit",
        description="Evidence of the running epoch against calibration.",
    )
