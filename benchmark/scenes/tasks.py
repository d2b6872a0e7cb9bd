# SPDX-License-Identifier: Apache-2.0
"""The seven tasks and where their scenes come from."""

from collections.abc import Callable, Mapping

from benchmark.corruptions import audio, cifar10_c, mnist_c
from benchmark.data import (
    audiomnist,
    cifar10,
    fashion_mnist,
    hapt,
    mnist,
    speech_commands,
    tinyimagenet,
    watch,
)
from benchmark.data.samples import Samples
from benchmark.scenes.corrupted import Corrupted
from benchmark.scenes.gas import gas
from benchmark.scenes.inertial import Inertial
from benchmark.scenes.scene import Kind, Name, Scene


def _other_words() -> Samples:
    """Clips of Speech Commands that say no digit."""
    test = speech_commands.load()["test"]
    words = speech_commands.WORDS + speech_commands.RARE
    return speech_commands.only(
        test, tuple(word for word in words if word not in speech_commands.DIGITS)
    )


MAKERS: Mapping[str, Callable[[Name, Kind, int], Scene]] = {
    "mnist": Corrupted(
        mnist.load, lambda: fashion_mnist.load()["test"], mnist_c.SUITE, mnist_c.PUBLISHED
    ),
    "fashion_mnist": Corrupted(
        fashion_mnist.load, lambda: mnist.load()["test"], mnist_c.SUITE, mnist_c.PUBLISHED
    ),
    "hapt": Inertial(hapt.load, watch.load, hapt.CLASSES),
    "cifar10": Corrupted(cifar10.load, lambda: tinyimagenet.load()["test"], cifar10_c.SUITE, {}),
    "speech": Corrupted(audiomnist.load, _other_words, audio.SUITE, {}),
    "gas": gas,
    "watch": Inertial(watch.load, hapt.load, watch.CLASSES),
}
WITHOUT_OTHERS = frozenset({"gas"})


def scene(task: str, name: Name, kind: Kind, seed: int) -> Scene:
    """One scene of a task."""
    if task not in MAKERS:
        raise ValueError(f"task must be one of {', '.join(MAKERS)}, got {task!r}")
    return MAKERS[task](name, kind, seed)
