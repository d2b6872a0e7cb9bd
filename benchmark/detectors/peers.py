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

from benchmark.detectors.detector import Bools, Watched

RATIO = 1.1  # between neighbouring limits
KSWIN_WINDOW, KSWIN_RECENT = 100, 30
KSWIN_NEAR = 0.1  # so near to each other two distributions never alarm


class Updated(Protocol):
    """What river's detectors have in common; they start anew by themselves."""

    @property
    def drift_detected(self) -> bool:
        """Whether the last value made it alarm."""

    def update(self, x: float) -> object:
        """Take one value."""


make_adwin: Callable[..., Updated] = ADWIN  # compiled, so it has no types of its own


def spread(low: float, high: float) -> tuple[float, ...]:
    """Limits from low to at least high, by equal ratios."""
    count = int(np.ceil(np.log(high / low) / np.log(RATIO)))
    return tuple((low * RATIO ** np.arange(count + 1)).tolist())


@dataclass(frozen=True, slots=True)
class River:
    """One of river's detectors; `make` builds it from a limit."""

    make: Callable[[float], Updated]
    signal: str
    usual: float
    limits: Sequence[float]

    def fit(self, calibration: Watched) -> None:
        """It learns from the stream itself."""

    def alarms(self, seen: Watched, limit: float) -> Bools:
        """By its own rule, one value after the other."""
        values = seen.values[self.signal].tolist()
        found = np.zeros(len(values), np.bool_)
        if np.isinf(limit):
            return found
        detector = self.make(limit)
        for step, value in enumerate(values):
            detector.update(value)
            if detector.drift_detected:
                found[step] = True
        return found


@dataclass(slots=True)
class Cusum:
    """Page's one-sided chart: sums of what lies half a standard deviation above the mean.

    Mean and deviation are calibration's, the limit is in deviations. E. S. Page, Continuous
    inspection schemes, 1954; 0.5 and 5 are the textbooks' values.
    """

    signal: str
    slack: float = 0.5
    usual: float = 5.0
    limits: Sequence[float] = spread(1, 1e5)
    mean_: float = field(default=0.0, init=False)
    deviation_: float = field(default=1.0, init=False)

    def fit(self, calibration: Watched) -> None:
        """Mean and deviation."""
        values = calibration.values[self.signal]
        self.mean_, self.deviation_ = float(values.mean()), float(values.std()) or 1.0

    def alarms(self, seen: Watched, limit: float) -> Bools:
        """Where the sum passes the limit; it starts from 0 there."""
        excess = (seen.values[self.signal] - self.mean_) / self.deviation_ - self.slack
        found, total = np.zeros(len(excess), np.bool_), 0.0
        for step, value in enumerate(excess.tolist()):
            total = max(0.0, total + value)
            if total > limit:
                found[step], total = True, 0.0
        return found


class QuickKswin:
    """river's KSWIN, its test of 30 against 30 values looked up: 30 times as fast, else the same.

    The p-value depends on the statistic alone, which has 31 values. After an alarm it starts with
    an empty window and its first random numbers, as river's does.
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
        held = np.array(self._window)
        drawn = self._rng.sample(range(KSWIN_WINDOW - KSWIN_RECENT), KSWIN_RECENT)
        before, recent = np.sort(held[drawn]), np.sort(held[-KSWIN_RECENT:])
        both = np.concatenate([before, recent])
        counts = before.searchsorted(both, "right") - recent.searchsorted(both, "right")
        apart = int(np.abs(counts).max())
        self.p_value = _p_values(KSWIN_RECENT)[apart]
        self.drift_detected = self.p_value <= self.alpha and apart / KSWIN_RECENT > KSWIN_NEAR


@cache
def _p_values(size: int) -> tuple[float, ...]:
    """Of the two-sample test, by how many values the two distributions are apart."""
    some = np.arange(size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # as river does: a fallback is told
        return tuple(float(ks_2samp(some, some + apart).pvalue) for apart in range(size + 1))


def adwin(signal: str) -> River:
    """A. Bifet and R. Gavaldà 2007; the limit is -log10 of its delta, 0.002 by default."""
    usual = float(-np.log10(0.002))
    return River(lambda limit: make_adwin(delta=10**-limit), signal, usual, spread(0.1, 250))


def page_hinkley(signal: str) -> River:
    """River's form with its other settings as they are; the limit is its threshold."""
    return River(lambda limit: PageHinkley(threshold=limit), signal, 50.0, spread(0.05, 5e3))


def kswin(signal: str) -> River:
    """C. Raab and others 2020; the limit is -log10 of its alpha, 0.005 by default."""
    usual = float(-np.log10(0.005))
    return River(lambda limit: QuickKswin(alpha=10**-limit, seed=0), signal, usual, spread(0.5, 18))
