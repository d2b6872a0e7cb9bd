# SPDX-License-Identifier: Apache-2.0
"""Blur on float images (n, height, width, channels) in 0..1."""

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from tcuq_benchmark.corruptions.suite import Array, Floats


def gaussian(x: Array, sigma: float) -> Array:
    """Blur by a Gaussian, edges repeated."""
    blurred: Array = ndimage.gaussian_filter(x, (0, sigma, sigma, 0), mode="nearest")
    return blurred


def glass(x: Floats, sigma: float, reach: int, rounds: int, rng: Generator, *, grey: bool) -> Array:
    """Blur, swap neighbouring pixels, blur again.

    As published: on grey images half of the pixels swap with a neighbour; on colour images each
    pixel copies its neighbour's colour, because the published swap of two views only copies.
    """
    blurred = np.floor(gaussian(x, sigma) * 255) / 255
    n, side = len(x), x.shape[1]
    image = np.arange(n)
    for _ in range(rounds):
        for row in range(side - reach, reach, -1):
            for column in range(side - reach, reach, -1):
                move = rng.integers(-reach, reach, (2, n))
                if grey:
                    move *= rng.integers(0, 2, n)
                other = (image, row + move[0], column + move[1])
                here = blurred[:, row, column].copy()
                blurred[:, row, column] = blurred[other]
                if grey:
                    blurred[other] = here
    return gaussian(blurred, sigma)


def motion(x: Array, radius: int, sigma: float, degrees: Array) -> Array:
    """Add a one-sided trail, half a Gaussian of 2 radius + 1 pixels, in a direction per image.

    This is ImageMagick's motion blur, which the published sets use: offsets rounded to whole
    pixels, edges repeated.
    """
    n, height, width, _ = x.shape
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    angle = np.radians(degrees)[:, None, None]
    image = np.arange(n)[:, None, None]
    rows, columns = np.arange(height)[:, None], np.arange(width)
    out = np.zeros_like(x)
    for step, weight in zip(steps, weights, strict=True):
        down = np.ceil(step * np.sin(angle) - 0.5).astype(int)
        right = np.ceil(step * np.cos(angle) - 0.5).astype(int)
        row = np.clip(rows + down, 0, height - 1)
        column = np.clip(columns + right, 0, width - 1)
        out += np.asarray(weight, x.dtype) * x[image, row, column]
    return out


def defocus(x: Floats, radius: float, soft: float) -> Array:
    """Blur by a disc of this radius, itself blurred by a Gaussian of three pixels."""
    reach = np.arange(-3, 4)
    disc = (reach[:, None] ** 2 + reach**2 <= radius**2).astype(np.float64)
    side = np.exp(-1 / (2 * soft**2))
    line = np.array([side, 1, side]) / (1 + 2 * side)
    kernel = ndimage.correlate(disc / disc.sum(), np.outer(line, line), mode="constant")
    blurred: Array = ndimage.correlate(x, kernel[None, :, :, None].astype(x.dtype), mode="mirror")
    return blurred


def magnified(x: Array, factor: float) -> Array:
    """Enlarge the middle of each image by this factor to the whole size, linearly."""
    weights = _enlarging(x.shape[1], factor).astype(x.dtype)
    enlarged: Array = weights @ x.transpose(0, 3, 1, 2) @ weights.T
    return enlarged.transpose(0, 2, 3, 1)


def _enlarging(side: int, factor: float) -> Array:
    """Return weights (side, side) from source to target pixels along one axis."""
    middle = int(np.ceil(side / factor))
    large = round(middle * factor)
    source = (np.arange(side) + (large - side) // 2) * (middle - 1) / (large - 1)
    tents = np.maximum(1 - np.abs(source[:, None] - np.arange(middle)), 0)
    weights = np.zeros((side, side))
    top = (side - middle) // 2
    weights[:, top : top + middle] = tents
    return weights


def zoom(x: Floats, largest: float) -> Array:
    """Average the image and its enlargements by 1.00, 1.01 and so on to the largest."""
    factors = np.arange(1, largest + 0.005, 0.01)
    total = x.copy()
    for factor in factors:
        total += magnified(x, float(factor))
    return total / (len(factors) + 1)
