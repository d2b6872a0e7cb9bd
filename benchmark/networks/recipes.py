# SPDX-License-Identifier: Apache-2.0
"""How each network is trained: plain data, so that its hash can name the weights.

Epochs were chosen on calibration and development parts; the watch set takes HAPT's unseen.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Recipe:
    """Adam with weight decay, one cycle of the learning rate (up over the first quarter).

    `balance`: class weight = frequency ** -balance. `start`: the variant of the same seed whose
    weights it starts from. `places`: the stage behind which each extra head or dropout stands.
    `transfer`: see `objectives.transfer`. `teachers`: seeds of the base networks distilled.
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
        """The fields that differ from their defaults: a new option leaves old hashes alone."""
        defaults = {field.name: field.default for field in fields(self)}
        return {k: v for k, v in asdict(self).items() if v != defaults[k]}


BASE = {
    "cifar10": Recipe(20, 128, 1e-2, precision="bfloat16"),
}


def recipe_of(task: str, variant: str) -> Recipe:
    """The recipe of a task's variant; an error if there is none."""
    if task not in BASE:
        raise ValueError(f"task must be one of {', '.join(BASE)}, got {task!r}")
    if variant != "base":
        raise ValueError(f"variant must be base, got {variant!r}")
    return BASE[task]
