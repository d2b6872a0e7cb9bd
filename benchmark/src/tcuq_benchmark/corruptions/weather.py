# SPDX-License-Identifier: Apache-2.0
"""Fog, frost, snow and spatter on float images (n, height, width, channels) in 0..1."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from tcuq_benchmark.corruptions import blur
from tcuq_benchmark.corruptions.suite import Array, Bytes, Floats

FIELDS_AT_ONCE = 64  # fractals of 256 × 256 take half a megabyte each
MUD = np.array([63, 42, 20]) / 255
WATER = np.array([175, 238, 238]) / 255
LUMA = np.array([0.299, 0.587, 0.114])


def fractal(n: int, size: int, decay: float, rng: Generator) -> Array:
    """Return fields (n, size, size) in 0..1 by the diamond-square algorithm on a torus."""
    field = np.zeros((n, size, size))
    step, rough = size, 100.0

    def midpoint(four: Array) -> Array:
        # The published generators add rough times a value within ±rough: rough squared.
        return four / 4 + rough**2 * rng.uniform(-1, 1, four.shape)

    while step >= 2:
        half = step // 2
        corner = field[:, ::step, ::step]
        pair = corner + np.roll(corner, -1, 1)
        centre = midpoint(pair + np.roll(pair, -1, 2))
        field[:, half::step, half::step] = centre
        across = centre + np.roll(centre, 1, 1) + corner + np.roll(corner, -1, 2)
        along = centre + np.roll(centre, 1, 2) + corner + np.roll(corner, -1, 1)
        field[:, ::step, half::step] = midpoint(across)
        field[:, half::step, ::step] = midpoint(along)
        step, rough = half, rough / decay
    field -= field.min(axis=(1, 2), keepdims=True)
    changed: Array = field / field.max(axis=(1, 2), keepdims=True)
    return changed


def fog(x: Floats, weight: float, decay: float, size: int, rng: Generator) -> Array:
    """Add the corner of a fractal field, and scale the brightness back."""
    side = x.shape[1]
    fields = [
        fractal(min(FIELDS_AT_ONCE, len(x) - begin), size, decay, rng)[:, :side, :side]
        for begin in range(0, len(x), FIELDS_AT_ONCE)
    ]
    brightest = x.max(axis=(1, 2, 3), keepdims=True)
    changed: Array = (
        (x + weight * np.concatenate(fields)[..., None]) * brightest / (brightest + weight)
    )
    return changed


def frost(
    x: Floats, image: float, ice: float, photographs: Sequence[Bytes], rng: Generator
) -> Array:
    """Add a random piece of a photograph of frost."""
    side = x.shape[1]
    pieces = np.empty_like(x)
    for i in range(len(x)):
        photograph = photographs[int(rng.integers(len(photographs)))]
        top, left = (int(rng.integers(0, size - side)) for size in photograph.shape[:2])
        pieces[i] = photograph[top : top + side, left : left + side]
    return image * x + ice * pieces / 255


def snow(x: Floats, c: tuple[float, ...], rng: Generator) -> Array:
    """Add flakes with a trail, and make the image paler.

    c: mean and spread of the flakes' field, enlargement, threshold, radius and sigma of the
    trail, share of the image that keeps its colour.
    """
    field = rng.normal(c[0], c[1], (*x.shape[:3], 1))
    flakes = blur.magnified(field, c[2])
    flakes = np.clip(np.where(flakes < c[3], 0, flakes), 0, 1)
    flakes = blur.motion(flakes, int(c[4]), c[5], rng.uniform(-135, -45, len(x)))
    pale = np.maximum(x, (x @ LUMA)[..., None] * 1.5 + 0.5)
    changed: Array = c[6] * x + (1 - c[6]) * pale + flakes + flakes[:, ::-1, ::-1]
    return changed


def liquid(x: Floats, c: tuple[float, ...], rng: Generator) -> Array:
    """Return drops: a smoothed normal field above a threshold, else 0; (n, height, width).

    c: mean, spread, sigma of the smoothing, threshold.
    """
    field = blur.gaussian(rng.normal(c[0], c[1], (*x.shape[:3], 1)), c[2])[..., 0]
    return np.where(field < c[3], 0, field)


def mud(x: Floats, drops: Array, sigma: float, colour: Array) -> Array:
    """Add opaque drops of a colour, their edges softened."""
    cover = blur.gaussian((drops > 0).astype(np.float64)[..., None], sigma)
    cover = np.where(cover < 0.8, 0, cover)
    changed: Array = x * (1 - cover) + colour * cover
    return changed


def water(x: Floats, drops: Array, strength: float) -> Array:
    """Add glistening drops of pale turquoise.

    The light comes from the distance to the drops' edges, equalised and embossed. The published
    code finds the edges with Canny's detector; on a thresholded field they are its boundary.
    """
    wet = drops > 0
    edge = wet & ~ndimage.binary_erosion(wet, np.ones((1, 3, 3)), border_value=1)
    # A large distance between images, so that one transform handles the whole stack.
    distance = ndimage.distance_transform_edt(~edge, sampling=(1e6, 1, 1))
    distance = ndimage.uniform_filter(np.minimum(distance, 20), (0, 3, 3), mode="mirror")
    emboss = np.array([[[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]])
    light = ndimage.correlate(_equalised(distance.astype(np.uint8)), emboss, mode="mirror")
    light = ndimage.uniform_filter(np.clip(light, 0, 255), (0, 3, 3), mode="mirror")
    shine = drops * light
    shine /= np.maximum(shine.max(axis=(1, 2), keepdims=True), 1e-9)
    changed: Array = x + strength * shine[..., None] * WATER
    return changed


def _equalised(images: Bytes) -> Array:
    """Equalise the histogram of each image, 0..255."""
    n, pixels = len(images), images[0].size
    place = np.arange(n)[:, None] * 256 + images.reshape(n, -1)
    count = np.bincount(place.ravel(), minlength=n * 256).reshape(n, 256).cumsum(axis=1)
    first = np.where(count > 0, count, pixels).min(axis=1, keepdims=True)
    level = np.rint(np.clip(count - first, 0, None) / np.maximum(pixels - first, 1) * 255)
    changed: Array = level.ravel()[place].reshape(images.shape)
    return changed
