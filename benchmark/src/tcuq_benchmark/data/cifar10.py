# SPDX-License-Identifier: Apache-2.0
"""CIFAR-10: small colour photographs (Krizhevsky 2009), as PNG files whose rows are images."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.files import DataDamagedError, checked_files
from tcuq_benchmark.data.idx import image_parts
from tcuq_benchmark.data.samples import Part, Samples

NAME = "cifar10"
SIDE = 32
CALIBRATION = 7_500  # images
BATCH = 10_000  # images per file
CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip


def load() -> dict[Part, Samples]:
    """Return uint8 (n, 32, 32, 3) RGB and labels 0..9: 42,500 / 7,500 / 5,000 / 5,000 images."""
    paths = checked_files(NAME)
    train_x = np.concatenate([_pixels(paths[f"data_batch_{i}.png"]) for i in range(1, 6)])
    test_x = _pixels(paths["test_batch.png"])
    train_y, test_y = (_labels(paths[f"{kind}_lables.json"]) for kind in ("train", "test"))
    return image_parts((train_x, train_y), (test_x, test_y), CLASSES, CALIBRATION)


def _pixels(path: Path) -> NDArray[np.uint8]:
    """Return a picture's rows as images: each row is one of 1,024 RGB pixels."""
    from PIL import Image

    with Image.open(path, formats=["PNG"]) as picture:
        if picture.size != (SIDE * SIDE, BATCH) or picture.mode != "RGB":
            raise DataDamagedError(f"{path} must be RGB 1024 × {BATCH}, got {picture.size}")
        return np.asarray(picture).reshape(BATCH, SIDE, SIDE, 3)


def _labels(path: Path) -> NDArray[np.int64]:
    """Read a JSON list of integers."""
    return np.asarray(json.loads(path.read_text("ascii")), np.int64)
