# SPDX-License-Identifier: Apache-2.0
"""MNIST: handwritten digits (LeCun, Cortes, Burges 1998)."""

from tcuq_benchmark.data.idx import idx_parts
from tcuq_benchmark.data.samples import Part, Samples

NAME = "mnist"
CLASSES = tuple("0123456789")


def load() -> dict[Part, Samples]:
    """Return uint8 (n, 28, 28) and labels 0..9: 50,000 / 10,000 / 5,000 / 5,000 images."""
    return idx_parts(NAME, CLASSES)
