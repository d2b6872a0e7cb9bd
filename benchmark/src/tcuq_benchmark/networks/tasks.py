# SPDX-License-Identifier: Apache-2.0
"""The tasks: data, backbone, front end, and where the paper puts its exits."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from tcuq_benchmark import recordings
from tcuq_benchmark.data import (
    audiomnist,
    bearings,
    cifar10,
    digits,
    fashion_mnist,
    fsdd,
    gas_drift,
    hapt,
    mnist,
    tinyimagenet_50,
    watch,
)
from tcuq_benchmark.data.identity import data_sha256
from tcuq_benchmark.data.samples import Array, Part, Recording, Samples
from tcuq_benchmark.networks import frontend
from tcuq_benchmark.networks.architectures import Architecture

TRAIN_HOP = 32  # training windows overlap more than those of the streams
Parts = dict[Part, Samples]


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """From samples to a network's inputs; `over`: the axes over which mean and spread are taken."""

    inputs: Callable[[Array], Tensor]
    over: tuple[int, ...]
    augment: Callable[[Array, np.random.Generator], Array] = frontend.no_augmentation


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    `exits`: the stages after which the paper has exits: both inner stacks of ResNet-8, the
    penultimate block of every other backbone.
    """

    source: str
    load: Callable[[], Parts]
    architecture: Architecture
    front: FrontEnd
    exits: tuple[int, ...]

    @property
    def data_sha256(self) -> str:
        """The identity of the data set."""
        return data_sha256(self.source)


def _cut(parts: dict[Part, tuple[Recording, ...]], classes: tuple[str, ...]) -> Parts:
    """Return the labelled windows of every part."""
    cut = {}
    for part, chosen in parts.items():
        hop = TRAIN_HOP if part == "train" else recordings.HOP
        samples = recordings.windows(chosen, classes, hop=hop).samples
        cut[part] = samples.take(samples.y >= 0)
    return cut


def _hapt() -> Parts:
    return _cut(hapt.load(), hapt.CLASSES)


def _watch() -> Parts:
    return _cut(watch.load(), watch.CLASSES)


def _gas() -> Parts:
    """Return months 1 to 10 only: later samples have drifted."""
    return {
        part: samples.take(np.isin(samples.group, gas_drift.FIRST_BATCHES))
        for part, samples in gas_drift.load().items()
    }


GREY = Architecture("cnn", (1, 28, 28), (16, 32, 32, 32), 10)
COLOUR = Architecture("resnet", (3, 32, 32), (16, 32, 64), 10)
FIFTY = replace(COLOUR, classes=50)
SOUND = Architecture("dscnn", (1, 49, 10), (64, 64, 64, 64), 10)
MOTION = Architecture("cnn1d", (6, 128), (32, 48, 64, 32), 7)
ROWS = Architecture("mlp", (128,), (64, 32), 6)
SMALL_GREY = Architecture("mlp", (64,), (32, 16), 10)
BANDS = Architecture("cnn", (1, 49, 32), (16, 32, 32, 32), 8)
VIBRATION = Architecture("cnn1d", (1, 256), (16, 32, 32, 32), 10)
PIXELS = FrontEnd(frontend.images, (0, 1, 2, 3))
COLOURS = FrontEnd(frontend.images, (0, 2, 3), frontend.crop_and_flip)
CLIPS = FrontEnd(frontend.clips, (0, 1, 2), frontend.augment_clips)
WINDOWS = FrontEnd(frontend.windows, (0, 2), frontend.augment_motion)
LOG_BANDS = FrontEnd(frontend.log_bands, (0, 1, 2))
PLAIN_WINDOWS = FrontEnd(frontend.windows, (0, 2))
NUMBERS = FrontEnd(frontend.rows, (0,))
# One mean and spread for all pixels: those at the edge are always dark.
FLAT_PIXELS = FrontEnd(frontend.rows, (0, 1))
TASKS = {
    "mnist": Task(mnist.NAME, mnist.load, GREY, PIXELS, (2,)),
    "fashion_mnist": Task(fashion_mnist.NAME, fashion_mnist.load, GREY, PIXELS, (2,)),
    "hapt": Task(hapt.NAME, _hapt, MOTION, WINDOWS, (2,)),
    "cifar10": Task(cifar10.NAME, cifar10.load, COLOUR, COLOURS, (0, 1)),
    "speech": Task(audiomnist.NAME, audiomnist.load, SOUND, CLIPS, (2,)),
    "gas": Task(gas_drift.NAME, _gas, ROWS, NUMBERS, (0,)),
    "watch": Task(watch.NAME, _watch, MOTION, WINDOWS, (2,)),
    "digits": Task(digits.NAME, digits.load, SMALL_GREY, FLAT_PIXELS, (0,)),
    "tinyimagenet": Task(tinyimagenet_50.NAME, tinyimagenet_50.load, FIFTY, COLOURS, (0, 1)),
    # Of the second confirmation.
    "fsdd": Task(fsdd.NAME, fsdd.load, BANDS, LOG_BANDS, (2,)),
    "bearings": Task(bearings.NAME, bearings.load, VIBRATION, PLAIN_WINDOWS, (2,)),
}
