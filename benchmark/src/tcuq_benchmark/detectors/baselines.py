# SPDX-License-Identifier: Apache-2.0
"""Other detectors on one signal: river's ADWIN, Page-Hinkley and KSWIN, and a CUSUM chart.

river has no CUSUM with a calibrated mean: its Page-Hinkley learns the mean as it goes.
"""

import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Protocol

import numpy as np
from river.drift import ADWIN, PageHinkley
from scipy.stats import ks_2samp

from tcuq_benchmark.detectors.detector import Bools, DetectorInput

RATIO = 1.1  # of neighbouring limits
KSWIN_WINDOW, KSWIN_RECENT = 100, 30
KSWIN_NEAR = 0.1  # distributions closer than this never alarm


class OnlineDetector(Protocol):
    """The common interface of river's detectors; they restart by themselves."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last value raised an alarm."""

    def update(self, x: float) -> object:
        """Take one value."""


make_adwin: Callable[..., OnlineDetector] = ADWIN  # compiled, so it has no types of its own


def limit_grid(low: float, high: float) -> tuple[float, ...]:
    """Limits from `low` to at least `high`, with equal ratios."""
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
        """Nothing to learn: it adapts to the stream."""

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
        """The steps at which the sum exceeds the limit; it then restarts from 0."""
        excess = (stream.signals[self.signal] - self.mean_) / self.deviation_ - self.slack
        alarms, total = np.zeros(len(excess), np.bool_), 0.0
        for step, value in enumerate(excess.tolist()):
            total = max(0.0, total + value)
            if total > limit:
                alarms[step], total = True, 0.0
        return alarms


class FastKswin:
    """river's KSWIN with its p-values in a table: the same alarms, 30 times as fast.

    The p-value depends only on the statistic, which has 31 values. After an alarm it restarts with
    an empty window and the first random numbers, as river's does.
    """

    def __init__(self, alpha: float, seed: int) -> None:
        self.alpha, self.seed = alpha, seed
        self.drift_detected, self.p_value = True, 0.0

    def update(self, x: float) -> None:
        """Take one value."""
        if self.drift_detected:
            self._window: deque[float] = deque(maxlen=KSWIN_WINDOW)
            self._rng = Random(self.seed)  # noqa: S311 - river's choice
            self.drift_detected, self.p_value = False, 0.0
        self._window.append(x)
        if len(self._window) < KSWIN_WINDOW:
            return
        window = np.array(self._window)
        picks = self._rng.sample(range(KSWIN_WINDOW - KSWIN_RECENT), KSWIN_RECENT)
        before, recent = np.sort(window[picks]), np.sort(window[-KSWIN_RECENT:])
        both = np.concatenate([before, recent])
        counts = before.searchsorted(both, "right") - recent.searchsorted(both, "right")
        distance = int(np.abs(counts).max())
        self.p_value = _p_values(KSWIN_RECENT)[distance]
        self.drift_detected = self.p_value <= self.alpha and distance / KSWIN_RECENT > KSWIN_NEAR


@cache
def _p_values(size: int) -> tuple[float, ...]:
    """p-values of the two-sample test, by the statistic times the sample size."""
    values = np.arange(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # as river does: scipy warns of a fallback
        return tuple(float(ks_2samp(values, values + gap).pvalue) for gap in range(size + 1))


def adwin(signal: str) -> River:
    """A. Bifet and R. Gavaldà 2007; the limit is -log10 of its delta, 0.002 by default."""
    default_limit = float(-np.log10(0.002))
    return River(
        lambda limit: make_adwin(delta=10**-limit), signal, default_limit, limit_grid(0.1, 250)
    )


def page_hinkley(signal: str) -> River:
    """River's form with its default settings; the limit is its threshold."""
    return River(lambda limit: PageHinkley(threshold=limit), signal, 50.0, limit_grid(0.05, 5e3))


def kswin(signal: str) -> River:
    """C. Raab and others 2020; the limit is -log10 of its alpha, 0.005 by default."""
    default_limit = float(-np.log10(0.005))
    return River(
        lambda limit: FastKswin(alpha=10**-limit, seed=0),
        signal,
        default_limit,
        limit_grid(0.5, 18),
    )
