# SPDX-License-Identifier: Apache-2.0
"""MNIST-C's changes by lines on float images (n, 28, 28, 1): stripes, dots, zigzags, edges.

Severity is the share, severity / 5, of the published change.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from tcuq_benchmark.corruptions.suite import Array, Floats

if TYPE_CHECKING:
    from collections.abc import Callable

SIDE = 28
WIDTH = 2.3  # pixels above and below a line at which it ends
STRIPES = slice(0, 7), slice(21, SIDE)
AMPLITUDE, QUARTER = 2.0, 2.0  # of the zigzag: height, and a quarter of its period
FIRST, LAST = 2, 25  # columns of the zigzag


def stripe(x: Floats, severity: int, _rng: Generator) -> Array:
    """Invert the left and the right quarter."""
    out = x.copy()
    for columns in STRIPES:
        out[:, :, columns] += severity / 5 * (1 - 2 * x[:, :, columns])
    return out


def dotted_line(x: Floats, severity: int, rng: Generator) -> Array:
    """Draw a line from edge to edge without every second pair of columns."""
    left, right = rng.integers(0, 27, (2, len(x))).astype(np.float64)
    ends = (np.zeros(len(x)), left), (np.full(len(x), 27.0), right)
    dots = _segment(*ends) * (np.arange(SIDE) // 2 % 2 == 1)
    changed: Array = x + severity / 5 * dots[..., None]
    return changed


def zigzag(x: Floats, severity: int, rng: Generator) -> Array:
    """Draw a bright zigzag across the image, sloping a little."""
    start = rng.integers(0, 27, len(x)).astype(np.float64)
    slope = np.arctan(rng.integers(-5, 5, len(x)) / (LAST - FIRST))
    length = (LAST - FIRST) / np.cos(slope)
    along: list[Array] = [np.zeros(len(x))]
    aside: list[Array] = [np.zeros(len(x))]
    for corner in range(int((LAST - FIRST - QUARTER) // (2 * QUARTER)) + 1):
        along.append(np.full(len(x), (2 * corner + 1) * QUARTER))
        aside.append(np.full(len(x), (-1) ** corner * AMPLITUDE))
    rest = length - 2 * QUARTER * (length // (2 * QUARTER))
    along.append(length)
    aside.append(aside[-1] / (2 * rest))
    column = FIRST + np.cos(slope) * along - np.sin(slope) * aside
    row = start + np.sin(slope) * along + np.cos(slope) * aside
    ink = np.zeros(x.shape[:3])
    for i in range(1, len(along)):
        ink += _segment((column[i - 1], row[i - 1]), (column[i], row[i]))
    return x + severity / 5 * np.minimum(ink, 1)[..., None]


def canny_edges(x: Floats, severity: int, _rng: Generator) -> Array:
    """Leave nothing but the edges (Canny 1986)."""
    from skimage import feature

    detect: Callable[[Array], Array] = feature.canny
    edges = np.stack([detect(image[..., 0]) for image in x])[..., None]
    return x + severity / 5 * (edges - x)


def _segment(begin: tuple[Array, Array], end: tuple[Array, Array]) -> Array:
    """Return soft lines (n, 28, 28) from (column, row) to (column, row), one per image."""
    place = np.arange(SIDE, dtype=np.float64)
    (first, low), (last, high) = ((c[:, None, None], r[:, None, None]) for c, r in (begin, end))
    height = (high - low) / (last - first) * (place - first) + low
    distance = np.minimum(np.abs(place[:, None] - height), WIDTH - 1e-10)
    ink = np.clip(np.log(1 - distance / WIDTH) + 1, 0, 1)
    changed: Array = ink * ((place >= np.floor(first)) & (place < np.ceil(last)))
    return changed
