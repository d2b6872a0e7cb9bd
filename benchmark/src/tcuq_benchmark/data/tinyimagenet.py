# SPDX-License-Identifier: Apache-2.0
"""TinyImageNet-200 validation, 2,000 of 10,000 images: out-of-distribution for CIFAR-10."""

import tarfile
from pathlib import Path

import numpy as np

from tcuq_benchmark.data.files import checked_files
from tcuq_benchmark.data.samples import Part, Samples, random_split

NAME = "tinyimagenet"
SIDE = 64
MAX_MEMBER_BYTES = 100_000


def load(side: int = 32) -> dict[Part, Samples]:
    """Return uint8 (1000, side, side, 3) RGB in two random halves, development and test.

    Labels are the index of the WordNet id among the 200 sorted; grey-scale images become RGB.
    """
    (path,) = checked_files(NAME).values()
    names, pixels = images(path, side)
    classes, y = np.unique([name.split("/")[0] for name in names], return_inverse=True)
    rows = np.arange(len(y))
    everything = Samples(pixels, y.astype(np.int64), rows, rows, tuple(classes.tolist()))
    development, test = random_split(len(y), [len(y) // 2, len(y) - len(y) // 2])
    return {"development": everything.take(development), "test": everything.take(test)}


def images(
    path: Path, side: int
) -> tuple[list[str], np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    """Return every JPEG of the archive, resized with a box filter, in sorted order of names."""
    from PIL import Image

    names, pixels = [], []
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda m: m.name):
            content = archive.extractfile(member)
            if content is None or member.size > MAX_MEMBER_BYTES:
                continue
            with Image.open(content, formats=["JPEG"]) as picture:
                small = picture.convert("RGB").resize((side, side), Image.Resampling.BOX)
                pixels.append(np.asarray(small))
            names.append(member.name)
    return names, np.stack(pixels)
