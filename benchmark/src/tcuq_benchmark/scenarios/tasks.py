# SPDX-License-Identifier: Apache-2.0
"""The seven tasks, that of the confirmation, the small one, and their scenarios."""

from collections.abc import Callable, Mapping

from tcuq_benchmark.corruptions import audio, cifar10_c, mnist_c, small_image
from tcuq_benchmark.data import (
    audiomnist,
    cifar10,
    digits,
    fashion_mnist,
    hapt,
    mnist,
    speech_commands,
    tinyimagenet,
    tinyimagenet_50,
    watch,
)
from tcuq_benchmark.data.samples import Samples
from tcuq_benchmark.scenarios.corruption import CorruptionScenarios
from tcuq_benchmark.scenarios.gas import gas
from tcuq_benchmark.scenarios.inertial import InertialScenarios
from tcuq_benchmark.scenarios.scenario import Kind, Name, Scenario


def _other_words() -> Samples:
    """Return clips of Speech Commands that say no digit."""
    test = speech_commands.load()["test"]
    words = speech_commands.WORDS + speech_commands.RARE
    return speech_commands.only(
        test, tuple(word for word in words if word not in speech_commands.DIGITS)
    )


FACTORIES: Mapping[str, Callable[[Name, Kind, int], Scenario]] = {
    "mnist": CorruptionScenarios(
        mnist.load, lambda: fashion_mnist.load()["test"], mnist_c.SUITE, mnist_c.PUBLISHED
    ),
    "fashion_mnist": CorruptionScenarios(
        fashion_mnist.load, lambda: mnist.load()["test"], mnist_c.SUITE, mnist_c.PUBLISHED
    ),
    "hapt": InertialScenarios(hapt.load, watch.load, hapt.CLASSES),
    "cifar10": CorruptionScenarios(
        cifar10.load, lambda: tinyimagenet.load()["test"], cifar10_c.SUITE, {}
    ),
    "speech": CorruptionScenarios(audiomnist.load, _other_words, audio.SUITE, {}),
    "gas": gas,
    "watch": InertialScenarios(watch.load, hapt.load, watch.CLASSES),
    "digits": CorruptionScenarios(
        digits.load,
        None,
        small_image.SUITE,
        {},
        calibration=5_000,
        in_distribution=4_000,
        dwell=15.0,
    ),
    "tinyimagenet": CorruptionScenarios(
        tinyimagenet_50.load,
        lambda: tinyimagenet_50.other_classes()["test"],
        cifar10_c.TINYIMAGENET_SUITE,
        {},
    ),
}
WITHOUT_OOD = frozenset({"gas", "digits"})


def make_scenario(task: str, name: Name, kind: Kind, seed: int) -> Scenario:
    """Return one scenario of a task."""
    if task not in FACTORIES:
        raise ValueError(f"task must be one of {', '.join(FACTORIES)}, got {task!r}")
    return FACTORIES[task](name, kind, seed)
