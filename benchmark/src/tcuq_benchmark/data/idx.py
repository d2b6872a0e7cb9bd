# SPDX-License-Identifier: Apache-2.0
"""Image sets: a reader of LeCun's idx files, and how official image sets are split."""

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.files import DataDamagedError, checked_files
from tcuq_benchmark.data.samples import PARTS, Array, Part, Samples, random_split

UNSIGNED_BYTE = 8
CALIBRATION = 10_000  # images
MAX_BYTES = 64_000_000  # an uncompressed idx file of 60,000 images has 47 MB


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array of unsigned bytes in an idx file, gzipped or not."""
    if path.suffix == ".gz":
        with gzip.open(path) as packed:
            content = packed.read(MAX_BYTES + 1)
    else:
        content = path.read_bytes()
    if len(content) > MAX_BYTES or content[:3] != bytes([0, 0, UNSIGNED_BYTE]):
        raise DataDamagedError(f"{path} must be an idx file of bytes, at most {MAX_BYTES} of them")
    header = 4 + 4 * content[3]
    shape = tuple(np.frombuffer(content[4:header], ">u4").tolist())
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def idx_parts(name: str, classes: tuple[str, ...], suffix: str = "") -> dict[Part, Samples]:
    """Read a set of four idx files and split it."""
    paths = checked_files(name)
    train, test = (
        tuple(
            read_idx(paths[f"{kind}-{what}-ubyte{suffix}"])
            for what in ("images-idx3", "labels-idx1")
        )
        for kind in ("train", "t10k")
    )
    return image_parts((train[0], train[1]), (test[0], test[1]), classes, CALIBRATION)


def image_parts(
    train: tuple[Array, Array],
    test: tuple[Array, Array],
    classes: tuple[str, ...],
    calibration: int,
) -> dict[Part, Samples]:
    """Split official training and test images and labels into the four parts.

    `calibration` images are taken from the training set; the test set is halved into development
    and test.
    """
    n, m = len(train[1]), len(test[1])
    x, y = (np.concatenate(pair) for pair in zip(train, test, strict=True))
    everything = Samples(x, y.astype(np.int64), np.arange(n + m), np.arange(n + m), classes)
    rows = random_split(n, [n - calibration, calibration])
    rows += [n + half for half in random_split(m, [m - m // 2, m // 2])]
    return {part: everything.take(chosen) for part, chosen in zip(PARTS, rows, strict=True)}
