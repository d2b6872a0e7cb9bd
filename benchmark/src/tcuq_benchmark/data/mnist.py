# SPDX-License-Identifier: Apache-2.0
"""MNIST: handwritten digits (LeCun, Cortes, Burges 1998)."""

from tcuq_benchmark.data.files import checked_files, manifest
from tcuq_benchmark.data.idx import image_parts, read_idx
from tcuq_benchmark.data.samples import Part, Samples

NAME = "mnist"
CLASSES = tuple("0123456789")


def load(calibration: int = 10_000) -> dict[Part, Samples]:
    """Uint8 (n, 28, 28) and labels 0..9: 50,000 / 10,000 / 5,000 / 5,000 images."""
    paths = checked_files(manifest()[NAME])
    train, test = (
        (read_idx(paths[f"{kind}-images-idx3-ubyte"]), read_idx(paths[f"{kind}-labels-idx1-ubyte"]))
        for kind in ("train", "t10k")
    )
    return image_parts((train, test), CLASSES, calibration)
