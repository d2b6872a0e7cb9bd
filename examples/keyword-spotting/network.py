# SPDX-License-Identifier: Apache-2.0
"""Run the keyword network, network.cpp, on this computer, one clip at a time."""

import ctypes
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
CLASSES, FEATURES = 10, 64


def run(inputs: NDArray[np.int8]) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Return posteriors in 1/256 and features in `feature_scale()`, as the device computes them."""
    library = ctypes.CDLL(str(HERE / "build/network.so"))
    posteriors = np.empty((len(inputs), CLASSES), np.uint8)
    features = np.empty((len(inputs), FEATURES), np.int8)
    for clip, posterior, row in zip(
        np.ascontiguousarray(inputs), posteriors, features, strict=True
    ):
        library.network_run(*(ctypes.c_void_p(a.ctypes.data) for a in (clip, posterior, row)))
    return posteriors, features


def feature_scale() -> float:
    """Return the value of one code of a feature."""
    match = re.search(r"#define FEATURE_SCALE (\S+)", (HERE / "weights.h").read_text("utf-8"))
    assert match is not None  # noqa: S101 - train.py writes it
    return float(match[1])
