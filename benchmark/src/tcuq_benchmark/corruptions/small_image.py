# SPDX-License-Identifier: Apache-2.0
"""Nine faults of a camera with 8 × 8 pixels, on float32 (n, 8, 8) from 0 to 16.

A batch is one camera: the place of dirt and the order of failing columns are drawn once per call.
Severity 3 is the fault as named; 1 and 2 are weaker, 4 and 5 stronger. Readings stay in 0..16.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from tcuq_benchmark.corruptions.suite import Array, Corruption, Floats, Suite

SIDE, BRIGHTEST = 8, 16.0
DIMMED = (0.8, 0.7, 0.6, 0.45, 0.3)
BRIGHTER = (1.2, 1.4, 1.6, 2.0, 2.5)
BLUR_WEIGHT, BLUR_PASSES = (1 / 3, 2 / 3, 1.0, 1.0, 1.0), (1, 1, 1, 2, 3)
MOVED_PIXELS = (1 / 3, 2 / 3, 1.0, 1.5, 2.0)
COLUMN_GAIN, DEAD_COLUMNS = (2 / 3, 1 / 3, 0.0, 0.0, 0.0), (1, 1, 1, 2, 3)
HUM_ROWS = 4  # per cycle


def dimmed(x: Floats, severity: int, _rng: Generator) -> Array:
    """Lose light: 0.6 of it is left."""
    return x * DIMMED[severity - 1]


def brighter(x: Floats, severity: int, _rng: Generator) -> Array:
    """Gain light, 1.6 times; bright pixels saturate."""
    return x * BRIGHTER[severity - 1]


def noise(x: Floats, severity: int, rng: Generator) -> Array:
    """Add independent normal noise with a standard deviation of 3."""
    return x + severity * rng.standard_normal(x.shape)


def occluded(x: Floats, severity: int, rng: Generator) -> Array:
    """Cover a block of 3 × 3 pixels, as dirt does."""
    out = x.copy()
    top, left = rng.integers(2, SIDE - 2, 2) - severity // 2
    out[:, max(top, 0) : top + severity, max(left, 0) : left + severity] = 0
    return out


def offset(x: Floats, severity: int, _rng: Generator) -> Array:
    """Add 3 to every pixel."""
    return x + severity


def blur(x: Floats, severity: int, _rng: Generator) -> Array:
    """Replace each pixel by the mean of 3 × 3."""
    blurred: Array = x
    for _ in range(BLUR_PASSES[severity - 1]):
        blurred = ndimage.uniform_filter(blurred, (0, 3, 3), mode="nearest")
    mixed: Array = x + BLUR_WEIGHT[severity - 1] * (blurred - x)
    return mixed


def moved(x: Floats, severity: int, _rng: Generator) -> Array:
    """Move the image one pixel to the right; dark pixels follow."""
    shift: Array = ndimage.shift(x, (0, 0, MOVED_PIXELS[severity - 1]), order=1)
    return shift


def dead_column(x: Floats, severity: int, rng: Generator) -> Array:
    """Let one column, not at the edge, read 0."""
    out = x.copy()
    columns = 1 + rng.permutation(SIDE - 2)[: DEAD_COLUMNS[severity - 1]]
    out[:, :, columns] *= COLUMN_GAIN[severity - 1]
    return out


def hum(x: Floats, severity: int, rng: Generator) -> Array:
    """Add a sine of amplitude 3 along the rows, with a random phase in each image."""
    phase = rng.uniform(0, 2 * np.pi, (len(x), 1, 1))
    rows = np.arange(SIDE).reshape(1, SIDE, 1)
    added: Array = severity * np.sin(2 * np.pi * rows / HUM_ROWS + phase)
    return x + added


def on_readings(change: Callable[[Floats, int, Generator], Array]) -> Corruption:
    """Make a corruption of float32 images whose readings stay in range."""

    def corruption(batch: Array, severity: int, rng: Generator) -> Floats:
        if batch.dtype != np.float32 or batch.shape[1:] != (SIDE, SIDE):
            raise ValueError(f"images must be float32 (n, 8, 8), got {batch.dtype} {batch.shape}")
        return np.clip(change(batch, severity, rng), 0, BRIGHTEST).astype(np.float32)

    return corruption


SUITE: Suite = {
    fault.__name__: on_readings(fault)
    for fault in (
        dimmed, brighter, noise, occluded, offset, blur, moved, dead_column, hum,
    )
}  # fmt: skip
