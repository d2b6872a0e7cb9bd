# SPDX-License-Identifier: Apache-2.0
"""Five photographs of frost that ImageNet-C and CIFAR-10-C lay over images."""

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.files import checked_files

NAME = "frost"
SHRINK = 5  # CIFAR-10-C resizes the photographs to a fifth


def load() -> list[NDArray[np.uint8]]:
    """Return uint8 (height, width, 3) RGB, already at CIFAR-10-C's scale."""
    from PIL import Image

    pictures = []
    for path in checked_files(NAME).values():
        with Image.open(path, formats=["PNG", "JPEG"]) as picture:
            # Linear interpolation to a fifth without smoothing takes every fifth pixel.
            every = slice(SHRINK // 2, None, SHRINK)
            pictures.append(np.asarray(picture.convert("RGB"))[every, every])
    return pictures
