# SPDX-License-Identifier: Apache-2.0
"""Fifty whole classes of TinyImageNet-200, kept for the confirmation; the other classes are OOD."""

from functools import cache

import numpy as np

from tcuq_benchmark.data import tinyimagenet
from tcuq_benchmark.data.files import checked_files
from tcuq_benchmark.data.idx import image_parts
from tcuq_benchmark.data.samples import Array, Part, Samples

NAME = "tinyimagenet_50"
SIDE = 32
CALIBRATION = 5_000


@cache
def load() -> dict[Part, Samples]:
    """Return uint8 (n, 32, 32, 3) RGB and labels 0..49: 20,000 / 5,000 / 1,250 / 1,250 images.

    Calibration is a random part of the official training set; the official validation set is
    halved into development and test.
    """
    paths = checked_files(NAME)
    archives = [paths[f"{kind}_50classes.tar"] for kind in ("train", "val")]
    (train_names, train_x), (test_names, test_x) = (
        tinyimagenet.images(path, SIDE) for path in archives
    )
    classes = sorted({_class(name) for name in train_names})
    train_y, test_y = (_labels(names, classes) for names in (train_names, test_names))
    return image_parts((train_x, train_y), (test_x, test_y), tuple(classes), CALIBRATION)


@cache
def other_classes() -> dict[Part, Samples]:
    """Return images of TinyImageNet's validation set that show none of the fifty classes."""
    own = set(load()["train"].classes)
    parts = tinyimagenet.load(SIDE)
    return {
        part: samples.take(np.array([samples.classes[label] not in own for label in samples.y]))
        for part, samples in parts.items()
    }


def _class(name: str) -> str:
    """Return the WordNet id, which is the folder's name."""
    return name.split("/", maxsplit=1)[0]


def _labels(names: list[str], classes: list[str]) -> Array:
    position = {name: number for number, name in enumerate(classes)}
    return np.array([position[_class(name)] for name in names], np.int64)
