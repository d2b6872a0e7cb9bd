# SPDX-License-Identifier: Apache-2.0
"""Noise on float images in 0..1."""

import numpy as np
from numpy.random import Generator

from tcuq_benchmark.corruptions.suite import Array, Floats


def gaussian(x: Floats, sigma: float, rng: Generator) -> Array:
    """Add independent normal noise."""
    return x + sigma * rng.standard_normal(x.shape, np.float32)


def speckle(x: Floats, sigma: float, rng: Generator) -> Array:
    """Add normal noise in proportion to the value."""
    return x + x * sigma * rng.standard_normal(x.shape, np.float32)


def shot(x: Floats, photons: float, rng: Generator) -> Array:
    """Draw Poisson counts, `photons` at full brightness."""
    return rng.poisson(x * photons) / photons


def impulse(x: Floats, amount: float, rng: Generator) -> Array:
    """Replace this share of the values by salt and pepper, half each."""
    hit = rng.random(x.shape, np.float32) < amount
    salt = rng.random(x.shape, np.float32) < 0.5
    return np.where(hit, salt, x)
