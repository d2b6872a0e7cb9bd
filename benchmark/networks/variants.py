# SPDX-License-Identifier: Apache-2.0
"""From a task and a recipe to a network, and how many parameters it has."""

from dataclasses import replace

import torch
from torch import Tensor

from benchmark.networks.architectures import Architecture
from benchmark.networks.network import Network
from benchmark.networks.recipes import Recipe
from benchmark.networks.tasks import Task


def network(task: Task, recipe: Recipe, seed: int) -> Network:
    """A network with fresh weights drawn from the seed, and a normalisation that does nothing."""
    shape = [1 if axis + 1 in task.over else n for axis, n in enumerate(task.architecture.shape)]
    mean, std = torch.zeros(shape), torch.ones(shape)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = _made(architecture(task, recipe), recipe, mean, std)
    return made.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _made(architecture: Architecture, recipe: Recipe, mean: Tensor, std: Tensor) -> Network:
    return Network(
        architecture, mean, std, places=recipe.places, head=recipe.head, dropout=recipe.dropout
    )


def architecture(task: Task, recipe: Recipe) -> Architecture:
    """The task's backbone, or a wider one."""
    if not recipe.wide:
        return task.architecture
    return replace(task.architecture)


def parameters(made: Network, recipe: Recipe) -> int:
    """Trained numbers that inference needs: without the exits that only assist training."""
    dropped = {"exits"} if recipe.kind == "assisted" else set()
    return sum(
        values.numel()
        for name, values in made.named_parameters()
        if name.split(".")[0] not in dropped
    )
