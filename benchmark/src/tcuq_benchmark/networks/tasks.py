# SPDX-License-Identifier: Apache-2.0
"""The tasks: data, backbone, front end, and where the paper puts its exits."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from tcuq_benchmark import recordings
from tcuq_benchmark.data import (
    audiomnist,
    cifar10,
    fashion_mnist,
    gas_drift,
    hapt,
    mnist,
    tinyimagenet_50,
    watch,
)
from tcuq_benchmark.data.files import manifest
from tcuq_benchmark.data.samples import Array, Part, Recording, Samples
from tcuq_benchmark.networks import frontend
from tcuq_benchmark.networks.architectures import Architecture

TRAIN_HOP = 32  # training windows overlap more than those of the streams
Parts = dict[Part, Samples]


@dataclass(frozen=True, slots=True)
class Task:
    """One task. `over`: the axes of the inputs over which mean and spread are taken.

    `exits`: the stages after which the paper has exits: both inner stacks of ResNet-8, the
    penultimate block of every other backbone.
    """

    name: str
    source: str
    load: Callable[[], Parts]
    architecture: Architecture
    inputs: Callable[[Array], Tensor]
    augment: Callable[[Array, np.random.Generator], Array]
    over: tuple[int, ...]
    exits: tuple[int, ...]

    @property
    def data_sha256(self) -> str:
        """The identity of the data set's files."""
        return manifest()[self.source].sha256


def _cut(parts: dict[Part, tuple[Recording, ...]], classes: tuple[str, ...]) -> Parts:
    """The labelled windows of every part."""
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
    """Months 1 to 10 only: later samples have drifted."""
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
IMAGES, NO_CHANGE = frontend.images, frontend.no_augmentation
ALL = (0, 1, 2, 3)
TASKS = {
    task.name: task
    for task in (
        Task("mnist", mnist.NAME, mnist.load, GREY, IMAGES, NO_CHANGE, ALL, (2,)),
        Task(
            "fashion_mnist",
            fashion_mnist.NAME,
            fashion_mnist.load,
            GREY,
            IMAGES,
            NO_CHANGE,
            ALL,
            (2,),
        ),
        Task(
            "hapt",
            hapt.NAME,
            _hapt,
            MOTION,
            frontend.windows,
            frontend.augment_motion,
            (0, 2),
            (2,),
        ),
        Task(
            "cifar10",
            cifar10.NAME,
            cifar10.load,
            COLOUR,
            IMAGES,
            frontend.crop_and_flip,
            (0, 2, 3),
            (0, 1),
        ),
        Task(
            "speech",
            audiomnist.NAME,
            audiomnist.load,
            SOUND,
            frontend.clips,
            frontend.augment_clips,
            (0, 1, 2),
            (2,),
        ),
        Task("gas", gas_drift.NAME, _gas, ROWS, frontend.rows, NO_CHANGE, (0,), (0,)),
        Task(
            "watch",
            watch.NAME,
            _watch,
            MOTION,
            frontend.windows,
            frontend.augment_motion,
            (0, 2),
            (2,),
        ),
        Task(
            "tinyimagenet",
            tinyimagenet_50.NAME,
            tinyimagenet_50.load,
            FIFTY,
            IMAGES,
            frontend.crop_and_flip,
            (0, 2, 3),
            (0, 1),
        ),
    )
}
