# SPDX-License-Identifier: Apache-2.0
"""The 15 corruptions of MNIST-C, regenerated, at five severities.

N. Mu, J. Gilmer: MNIST-C: a robustness benchmark for computer vision, 2019. Constants are its
authors' (repository `mnist-c`); the code is our own. The published set has one severity of each,
PUBLISHED here. Stripe, dotted line, zigzag and Canny edges have no severity there: ours is the
share, severity / 5, of the published change.
"""

import numpy as np
from numpy.random import Generator
from scipy import ndimage

from tcuq_benchmark.corruptions import blur, lines, noise, weather
from tcuq_benchmark.corruptions.suite import Array, Floats, Suite, on_bytes

SIDE = 28
CENTRE = 13.5
SHOT_NOISE = (60, 25, 12, 5, 3)
IMPULSE_NOISE = (0.03, 0.06, 0.09, 0.17, 0.27)
GLASS_BLUR = ((0.7, 1, 2), (0.9, 2, 1), (1.0, 2, 3), (1.1, 3, 2), (1.5, 4, 2))
MOTION_BLUR = ((10, 3.0), (15, 5.0), (15, 8.0), (15, 12.0), (20, 15.0))
SHEAR = (0.2, 0.4, 0.6, 0.8, 1.0)  # radians
SCALE = (0.9, 0.8, 0.7, 0.6, 0.5)
ROTATE = (0.2, 0.4, 0.6, 0.8, 1.0)  # radians
BRIGHTNESS = (0.1, 0.2, 0.3, 0.4, 0.5)
TRANSLATE = (1, 2, 3, 4, 5)  # pixels, in both directions
FOG = ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))
FOG_SIZE = 256
SPATTER = (  # the field's four constants, softness
    (0.65, 0.3, 4.0, 0.69, 0.6),
    (0.65, 0.3, 3.0, 0.68, 0.6),
    (0.65, 0.3, 2.0, 0.68, 0.5),
    (0.65, 0.3, 1.0, 0.65, 1.5),
    (0.67, 0.4, 1.0, 0.65, 1.5),
)
SPATTER_GREY = 63 / 255
# With the published constants these do not move pixels further from severity to severity.
NOT_MONOTONE = {
    "motion_blur": "at severities 4 and 5 the trail is longer than the image",
    "fog": "severities 3 and 4 have the same weight",
    "spatter": "the larger drops of severity 3 cover more than the small ones of 4",
}
PUBLISHED = {
    "shot_noise": 5, "impulse_noise": 4, "glass_blur": 1, "motion_blur": 1, "shear": 2,
    "scale": 3, "rotate": 2, "brightness": 5, "translate": 3, "stripe": 5, "fog": 5,
    "spatter": 4, "dotted_line": 5, "zigzag": 5, "canny_edges": 5,
}  # fmt: skip


def motion_blur(x: Floats, severity: int, rng: Generator) -> Array:
    """Add a trail within 45 degrees of the horizontal."""
    return blur.motion(x, *MOTION_BLUR[severity - 1], rng.uniform(-45, 45, len(x)))


def shear(x: Floats, severity: int, rng: Generator) -> Array:
    """Shear to the left or to the right."""
    angle = SHEAR[severity - 1] * rng.choice([-1, 1], len(x))
    still = np.zeros_like(angle)
    # Rows of the matrix from target (row, column) to source.
    return mapped(x, [[np.cos(angle), still], [-np.sin(angle), still + 1]])


def rotate(x: Floats, severity: int, rng: Generator) -> Array:
    """Rotate to the left or to the right."""
    angle = ROTATE[severity - 1] * rng.choice([-1, 1], len(x))
    return mapped(x, [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def scale(x: Floats, severity: int, _rng: Generator) -> Array:
    """Scale down."""
    factor = np.full(len(x), 1 / SCALE[severity - 1])
    return mapped(x, [[factor, 0 * factor], [0 * factor, factor]])


def translate(x: Floats, severity: int, rng: Generator) -> Array:
    """Shift along a diagonal."""
    one = np.ones(len(x))
    move = TRANSLATE[severity - 1] * rng.choice([-1, 1], (2, len(x)))
    return mapped(x, [[one, 0 * one], [0 * one, one]], move)


def spatter(x: Floats, severity: int, rng: Generator) -> Array:
    """Add grey mud."""
    *field, soft = SPATTER[severity - 1]
    drops = weather.liquid(x, tuple(field), rng)
    return weather.mud(x, drops, soft, np.array([SPATTER_GREY]))


def mapped(x: Floats, matrix: list[list[Array]], move: Array | None = None) -> Array:
    """Apply a linear map about the centre to each image, black outside."""
    place = np.arange(SIDE) - CENTRE
    row, column = place[None, :, None], place[None, None, :]
    shift = np.zeros((2, len(x))) if move is None else move
    places = [
        CENTRE + a[:, None, None] * row + b[:, None, None] * column + by[:, None, None]
        for (a, b), by in zip(matrix, shift, strict=True)
    ]
    image = np.broadcast_to(np.arange(len(x))[:, None, None], places[0].shape)
    mapped: Array = ndimage.map_coordinates(x[..., 0], [image, *places], order=1)
    return mapped[..., None]


SUITE: Suite = {
    "shot_noise": on_bytes(lambda x, s, rng: noise.shot(x, SHOT_NOISE[s - 1], rng)),
    "impulse_noise": on_bytes(lambda x, s, rng: noise.impulse(x, IMPULSE_NOISE[s - 1], rng)),
    "glass_blur": on_bytes(lambda x, s, rng: blur.glass(x, *GLASS_BLUR[s - 1], rng, grey=True)),
    "motion_blur": on_bytes(motion_blur),
    "shear": on_bytes(shear),
    "scale": on_bytes(scale),
    "rotate": on_bytes(rotate),
    "brightness": on_bytes(lambda x, s, _: x + BRIGHTNESS[s - 1]),
    "translate": on_bytes(translate),
    "stripe": on_bytes(lines.stripe),
    "fog": on_bytes(lambda x, s, rng: weather.fog(x, *FOG[s - 1], FOG_SIZE, rng)),
    "spatter": on_bytes(spatter),
    "dotted_line": on_bytes(lines.dotted_line),
    "zigzag": on_bytes(lines.zigzag),
    "canny_edges": on_bytes(lines.canny_edges),
}
