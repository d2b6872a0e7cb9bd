# SPDX-License-Identifier: Apache-2.0
"""Five faults of a vibration sensor, on float32 (n, samples, 1), relative to each window."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from tcuq_benchmark.corruptions.suite import Array, Corruption, Floats, Suite

SNR_DB = (20.0, 15.0, 10.0, 5.0, 0.0)
FACTOR = (1.25, 1.5, 2.0, 3.0, 4.0)
RANGE = (0.8, 0.6, 0.45, 0.3, 0.2)  # share of the window's largest reading
LOST = (0.05, 0.1, 0.2, 0.3, 0.5)  # share of the samples, one gap per window
HOLD_SAMPLES = (2, 3, 4, 6, 8)  # samples for which a slow sensor repeats one reading


def noise(x: Floats, severity: int, rng: Generator) -> Array:
    """Add white noise at a ratio to the window's power."""
    level = np.sqrt(np.mean(x**2, axis=(1, 2), keepdims=True)) * 10 ** (-SNR_DB[severity - 1] / 20)
    noisy: Array = x + level * rng.standard_normal(x.shape)
    return noisy


def gain(x: Floats, severity: int, _rng: Generator) -> Array:
    """Multiply every reading."""
    return x * FACTOR[severity - 1]


def saturation(x: Floats, severity: int, _rng: Generator) -> Array:
    """Clip readings beyond a share of the window's largest."""
    limit = RANGE[severity - 1] * np.abs(x).max(axis=(1, 2), keepdims=True)
    return np.clip(x, -limit, limit)


def dropout(x: Floats, severity: int, rng: Generator) -> Array:
    """Lose one gap of samples in each window, which read 0."""
    length = round(LOST[severity - 1] * x.shape[1])
    first = rng.integers(0, x.shape[1] - length + 1, (len(x), 1))
    at = np.arange(x.shape[1])
    lost = (at >= first) & (at < first + length)
    return np.where(lost[..., None], 0, x)


def hold(x: Floats, severity: int, _rng: Generator) -> Array:
    """Repeat each reading until the next, as a slow sensor does."""
    every = HOLD_SAMPLES[severity - 1]
    return x[:, np.arange(x.shape[1]) // every * every]


def on_signals(change: Callable[[Floats, int, Generator], Array]) -> Corruption:
    """Make a corruption that keeps float32."""

    def corruption(batch: Array, severity: int, rng: Generator) -> Floats:
        return change(batch, severity, rng).astype(np.float32)

    return corruption


SUITE: Suite = {
    fault.__name__: on_signals(fault) for fault in (noise, gain, saturation, dropout, hold)
}
