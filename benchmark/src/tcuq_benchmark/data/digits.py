# SPDX-License-Identifier: Apache-2.0
"""The 1,797 handwritten digits that scikit-learn bundles (Alpaydin and Kaynak 1998)."""

import numpy as np

from tcuq_benchmark.data.files import DataDamagedError
from tcuq_benchmark.data.samples import PARTS, Part, Samples, random_split

NAME = "digits"
CLASSES = tuple("0123456789")
SIZES = (600, 600, 200, 397)  # of the parts
# Hash of all inputs and labels: the set has no files of its own.
SHA256 = "dbfb2770e14655342f4e3f43cec7e39853eb20a007da8d9e28f31fbecbff82c3"


def load() -> dict[Part, Samples]:
    """Return float32 (n, 8, 8) from 0 to 16 and labels 0..9: 600 / 600 / 200 / 397 images."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    rows = np.arange(len(labels))
    images = pixels.reshape(-1, 8, 8).astype(np.float32)
    everything = Samples(images, labels.astype(np.int64), rows, rows, CLASSES)
    if everything.sha256 != SHA256:
        raise DataDamagedError(
            f"the digits of scikit-learn must have SHA-256 {SHA256}, got {everything.sha256}"
        )
    pieces = random_split(len(rows), SIZES)
    return {part: everything.take(chosen) for part, chosen in zip(PARTS, pieces, strict=True)}
