# SPDX-License-Identifier: Apache-2.0
"""Other detectors on one signal: river's ADWIN, Page-Hinkley and KSWIN, and a CUSUM chart.

river has no CUSUM with a calibrated mean: its Page-Hinkley learns the mean as it goes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from river.drift import ADWIN, KSWIN, PageHinkley

from tcuq_benchmark.detectors.detector import Bools, DetectorInput

Floats = NDArray[np.float64]
RATIO = 1.1  # of neighbouring limits


class OnlineDetector(Protocol):
    """The common interface of river's detectors; they restart by themselves."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last value raised an alarm."""

    def update(self, x: float) -> object:
        """Take one value."""


# Compiled or untyped, so they have no types of their own.
make_adwin: Callable[..., OnlineDetector] = ADWIN
make_kswin: Callable[..., OnlineDetector] = KSWIN


def limit_grid(low: float, high: float) -> tuple[float, ...]:
    """Return limits from `low` to at least `high`, with equal ratios."""
    count = int(np.ceil(np.log(high / low) / np.log(RATIO)))
    return tuple((low * RATIO ** np.arange(count + 1)).tolist())


@dataclass(frozen=True, slots=True)
class River:
    """One of river's detectors; `make` builds it from a limit."""

    make: Callable[[float], OnlineDetector]
    signal: str
    default_limit: float
    limits: Sequence[float]

    def fit(self, calibration: DetectorInput) -> None:
        """Learn nothing: it adapts to the stream."""

    def alarms(self, stream: DetectorInput, limit: float) -> Bools:
        """Feed the values one by one."""
        values = stream.signals[self.signal].tolist()
        alarms = np.zeros(len(values), np.bool_)
        if np.isinf(limit):
            return alarms
        detector = self.make(limit)
        for step, value in enumerate(values):
            detector.update(value)
            if detector.drift_detected:
                alarms[step] = True
        return alarms


@dataclass(slots=True)
class Cusum:
    """Page's one-sided chart: sums of excesses over the mean plus half a standard deviation.

    Mean and deviation are those of calibration, the limit is in deviations. E. S. Page, Continuous
    inspection schemes, 1954; 0.5 and 5 are the textbooks' values.
    """

    signal: str
    slack: float = 0.5
    default_limit: float = 5.0
    limits: Sequence[float] = limit_grid(1, 1e5)
    mean_: float = field(default=0.0, init=False)
    deviation_: float = field(default=1.0, init=False)

    def fit(self, calibration: DetectorInput) -> None:
        """Estimate mean and deviation."""
        values = calibration.signals[self.signal]
        self.mean_, self.deviation_ = float(values.mean()), float(values.std()) or 1.0

    def alarms(self, stream: DetectorInput, limit: float) -> Bools:
        """Sum deviations beyond the slack."""
        deviations = (stream.signals[self.signal] - self.mean_) / self.deviation_
        return cusum(deviations - self.slack, limit)


def cusum(increments: Floats, limit: float) -> Bools:
    """Return where the sum since its last minimum exceeds the limit; it then restarts from 0."""
    alarms, total = np.zeros(len(increments), np.bool_), 0.0
    for step, value in enumerate(increments.tolist()):
        total = max(0.0, total + value)
        if total > limit:
            alarms[step], total = True, 0.0
    return alarms


def adwin(signal: str) -> River:
    """Return ADWIN (Bifet and Gavaldà 2007); the limit is -log10 of its delta."""
    default_limit = float(-np.log10(0.002))
    return River(
        lambda limit: make_adwin(delta=10**-limit), signal, default_limit, limit_grid(0.1, 250)
    )


def page_hinkley(signal: str) -> River:
    """Return Page and Hinkley's test in river's form; the limit is its threshold."""
    return River(lambda limit: PageHinkley(threshold=limit), signal, 50.0, limit_grid(0.05, 5e3))


def kswin(signal: str) -> River:
    """Return KSWIN (Raab and others 2020); the limit is -log10 of its alpha."""
    default_limit = float(-np.log10(0.005))
    return River(
        lambda limit: make_kswin(alpha=10**-limit, seed=0),
        signal,
        default_limit,
        limit_grid(0.5, 18),
    )
