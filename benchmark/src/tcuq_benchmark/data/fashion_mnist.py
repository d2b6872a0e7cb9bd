# SPDX-License-Identifier: Apache-2.0
"""Fashion-MNIST: pictures of clothes (Xiao, Rasul, Vollgraf 2017)."""

from tcuq_benchmark.data.idx import idx_parts
from tcuq_benchmark.data.samples import Part, Samples

NAME = "fashion_mnist"
CLASSES = (
    "t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip


def load() -> dict[Part, Samples]:
    """Return uint8 (n, 28, 28) and labels 0..9: 50,000 / 10,000 / 5,000 / 5,000 images."""
    return idx_parts(NAME, CLASSES, ".gz")
