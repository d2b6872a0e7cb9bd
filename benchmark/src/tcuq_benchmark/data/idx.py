# SPDX-License-Identifier: Apache-2.0
"""Image sets: a reader of LeCun's idx files, and how official image sets are split."""

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tcuq_benchmark.data.files import DataDamagedError
from tcuq_benchmark.data.samples import Array, Ints, Part, Samples, random_split

UNSIGNED_BYTE = 8
MAX_BYTES = 64_000_000  # an uncompressed idx file of 60,000 images has 47 MB


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array of unsigned bytes in an idx file, gzipped or not."""
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


def image_parts(
    official: tuple[tuple[Array, Array], tuple[Array, Array]],
    classes: tuple[str, ...],
    calibration: int,
) -> dict[Part, Samples]:
    """Split the official training and test images into the four parts.

    `calibration` images are taken from the official training set; the official test set is halved
    into development and test. With `calibration` 0 (for a network trained elsewhere on the whole
    training set) half of the development half becomes the calibration part.
    """
    (train_x, train_y), (test_x, test_y) = official
    n, m = len(train_y), len(test_y)
    x, y = np.concatenate([train_x, test_x]), np.concatenate([train_y, test_y]).astype(np.int64)
    everything = Samples(x, y, np.arange(n + m), np.arange(n + m), classes)
    train, held_out = random_split(n, [n - calibration, calibration])
    development, test = (n + half for half in random_split(m, [m - m // 2, m // 2]))
    if calibration == 0:
        held_out, development = _halves(development)
    rows: dict[Part, Ints] = {
        "train": train, "calibration": held_out, "development": development, "test": test,
    }  # fmt: skip
    return {part: everything.take(chosen) for part, chosen in rows.items()}


def _halves(rows: Ints) -> tuple[Ints, Ints]:
    first, second = random_split(len(rows), [len(rows) // 2, len(rows) - len(rows) // 2])
    return rows[first], rows[second]
