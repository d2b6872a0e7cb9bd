# SPDX-License-Identifier: Apache-2.0
"""Training recipes as plain data, whose hash names the weights.

The recipes of `base` come from short trials on calibration and development parts; see the README.
"""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tcuq_benchmark.networks.tasks import TASKS

MOST_EXITS = 10


@dataclass(frozen=True, slots=True)
class Recipe:
    """Adam with weight decay, one cycle of the learning rate (up over the first quarter).

    `balance`: class weight = frequency ** -balance. `start`: the variant of the same seed whose
    weights it starts from. `places`: the stage behind which each extra head or dropout stands.
    `transfer`: see `tcuq.train.Assisted`. `teachers`: seeds of the base networks distilled.
    """

    epochs: int
    batch: int
    learning_rate: float
    weight_decay: float = 1e-4
    precision: str = "float32"
    balance: float = 0.0
    kind: str = "plain"
    start: str = ""
    places: tuple[int, ...] = ()
    head: str = ""
    dropout: float = 0.0
    weight_0: float = 0.0
    weight_step: float = 0.0
    transfer: float = 0.0
    teachers: tuple[int, ...] = ()
    temperature: float = 0.0
    wide: bool = False
    latent: int = 0
    flows: int = 0
    entropy: float = 0.0

    def plain(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults: a new option keeps old hashes."""
        defaults = {field.name: field.default for field in fields(self)}
        return {k: v for k, v in asdict(self).items() if v != defaults[k]}


MOTION = Recipe(12, 64, 2e-3, balance=0.5)
BASE = {
    "mnist": Recipe(4, 128, 5e-3),
    "fashion_mnist": Recipe(5, 128, 5e-3),
    "hapt": MOTION,
    "cifar10": Recipe(20, 128, 1e-2, precision="bfloat16"),
    "speech": Recipe(12, 64, 2e-3, precision="bfloat16"),
    "gas": Recipe(60, 32, 3e-3),
    "watch": MOTION,
    "digits": Recipe(30, 32, 5e-3),
    # As for CIFAR-10; all its variants start from fresh weights and train for as long.
    "tinyimagenet": Recipe(20, 128, 1e-2, precision="bfloat16"),
    # Chosen without the sets: MNIST's rate with the batches of a small set, and the motion recipe.
    "fsdd": Recipe(40, 32, 5e-3),
    "bearings": Recipe(12, 64, 2e-3, balance=0.5),
}
# Variants of these tasks start from the base network of their seed and train for a few epochs more,
# to save time: twelve of each task, on one core. `wide` has other shapes and starts fresh.
FURTHER_EPOCHS = {"mnist": 1, "fashion_mnist": 1, "hapt": 3, "cifar10": 1, "speech": 3}
FURTHER_RATE = 0.3  # of the base network's peak rate
POSTERIOR = {"kind": "postnet", "latent": 6, "flows": 6, "entropy": 1e-5}
TEACHERS = (0, 1, 2, 3, 4)  # seeds of the base networks that HYDRA's heads learn from
TEACHERS_OF = {"cifar10": (0, 1)}


def recipe_of(task: str, variant: str) -> Recipe:
    """Return the recipe of a task's variant; an error if it does not exist.

    `assisted-k4` has four exits, placed on the stages from the penultimate backwards.
    """
    if task not in BASE:
        raise ValueError(f"task must be one of {', '.join(BASE)}, got {task!r}")
    changes = _changes(task, variant)
    further = {} if variant in {"base", "wide"} else _further(task)
    return replace(BASE[task], **further | changes)


def _further(task: str) -> dict[str, Any]:
    if task not in FURTHER_EPOCHS:
        return {}
    rate = FURTHER_RATE * BASE[task].learning_rate
    return {"epochs": FURTHER_EPOCHS[task], "learning_rate": rate, "start": "base"}


def _changes(task: str, variant: str) -> dict[str, Any]:
    places = TASKS[task].exits
    stages = len(TASKS[task].architecture.widths)
    assisted = {
        "kind": "assisted", "head": "light", "weight_0": 3.0, "weight_step": 0.5, "transfer": 1e-3,
    }  # fmt: skip
    name, _, number = variant.partition("-k")
    if name == "assisted" and number.isdecimal() and 1 <= int(number) <= MOST_EXITS:
        positions = sorted(stages - 2 - k % (stages - 1) for k in range(int(number)))
        return assisted | {"places": tuple(positions)}
    teachers = TEACHERS_OF.get(task, TEACHERS)
    known: dict[str, dict[str, Any]] = {
        "base": {},
        "assisted": assisted | {"places": places},
        "wide": assisted | {"places": places, "wide": True},
        "exits": {"kind": "exits", "head": "full", "places": places},
        "exits-light": {"kind": "exits", "head": "light", "places": places},
        "dropout": {"dropout": 0.2, "places": places},
        "hydra": {
            "kind": "hydra", "head": "light", "places": (stages - 1,) * len(teachers),
            "teachers": teachers, "temperature": 2.0,
        },
        "postnet": POSTERIOR,
    }  # fmt: skip
    if variant not in known:
        listed = ", ".join(known)
        raise ValueError(f"variant must be one of {listed} or assisted-k1 to -k10, got {variant!r}")
    return known[variant]
