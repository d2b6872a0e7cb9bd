# SPDX-License-Identifier: Apache-2.0
"""Fashion-MNIST: pictures of clothes (Xiao, Rasul, Vollgraf 2017)."""

from tcuq_benchmark.data.files import checked_files, manifest
from tcuq_benchmark.data.idx import image_parts, read_idx
from tcuq_benchmark.data.samples import Part, Samples

NAME = "fashion_mnist"
CLASSES = (
    "t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip


def load(calibration: int = 10_000) -> dict[Part, Samples]:
    """Uint8 (n, 28, 28) and labels 0..9: 50,000 / 10,000 / 5,000 / 5,000 images."""
    paths = checked_files(manifest()[NAME])
    train, test = (
        tuple(read_idx(paths[f"{kind}-{what}-ubyte.gz"]) for what in ("images-idx3", "labels-idx1"))
        for kind in ("train", "t10k")
    )
    return image_parts(((train[0], train[1]), (test[0], test[1])), CLASSES, calibration)
