# SPDX-License-Identifier: Apache-2.0
"""Real models to tap, and inputs for them."""

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

os.environ.setdefault(
    "KERAS_BACKEND", "torch"
)  # before Keras is imported; TensorFlow is not needed

Array = NDArray[Any]


@pytest.fixture(scope="session")
def pictures() -> Array:
    """Forty pictures of 32 by 32 in 0..255: blots, each a little moved from the one before."""
    rng = np.random.default_rng(4)
    x, y = np.meshgrid(np.arange(32), np.arange(32))
    parts = []
    for step in range(40):
        blot = np.exp(-(((x - 8 - step / 3) ** 2 + (y - 16) ** 2) / 40))
        parts.append(blot[..., None] * [220, 140, 60] + rng.normal(0, 8, (32, 32, 3)) + 16)
    return np.clip(np.rint(parts), 0, 255).astype(np.uint8)
