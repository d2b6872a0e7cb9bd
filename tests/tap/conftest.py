# SPDX-License-Identifier: Apache-2.0
"""Real models to tap, and inputs for them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

os.environ.setdefault(
    "KERAS_BACKEND", "torch"
)  # before Keras is imported; TensorFlow is not needed

Array = NDArray[Any]
MLPERF = "mlperf-tiny"
ROOT = Path(__file__).parents[2]  # a relative $TCUQ_DATA starts here, wherever a test stands


@pytest.fixture(scope="session")
def mlperf() -> Callable[[str], Path]:
    """A model of MLPerf Tiny in `$TCUQ_DATA`; that it is missing fails the test."""

    def find(name: str) -> Path:
        path = ROOT / os.environ.get("TCUQ_DATA", "../shared/data") / MLPERF / f"{name}.tflite"
        if not path.is_file():
            pytest.fail(f"{path} is missing: TCUQ_DATA must name the folder of the data sets")
        return path

    return find


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
