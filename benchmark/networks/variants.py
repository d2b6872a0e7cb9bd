# SPDX-License-Identifier: Apache-2.0
"""Untrained networks by task and variant, and their number of parameters."""

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn

from benchmark.networks.architectures import Architecture
from benchmark.networks.network import Network
from benchmark.networks.posterior import PosteriorNetwork
from benchmark.networks.recipes import Recipe, recipe_of
from benchmark.networks.tasks import TASKS


def network(task: str, variant: str, seed: int) -> Network:
    """A network with random weights from the seed and an identity normalisation."""
    shape, recipe = architecture(task, variant), recipe_of(task, variant)
    over = TASKS[task].over
    sizes = [1 if axis + 1 in over else n for axis, n in enumerate(shape.shape)]
    mean, std = torch.zeros(sizes), torch.ones(sizes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        fresh = _build(shape, recipe, mean, std)
    nn.utils.convert_conv2d_weight_memory_format(fresh, torch.channels_last)
    return fresh


def _build(shape: Architecture, recipe: Recipe, mean: Tensor, std: Tensor) -> Network:
    if recipe.kind == "postnet":
        return PosteriorNetwork(shape, mean, std, latent=recipe.latent, flows=recipe.flows)
    return Network(
        shape,
        mean,
        std,
        places=recipe.places,
        head=recipe.head,
        dropout=recipe.dropout,
        averaged=recipe.kind == "hydra",
    )


@cache
def architecture(task: str, variant: str) -> Architecture:
    """The task's backbone; for a wide recipe the widest with no more parameters than `exits`.

    All stages but the last, which the monitor reads, widen by one factor in steps of 1/32.
    """
    own, recipe = TASKS[task].architecture, recipe_of(task, variant)
    if not recipe.wide:
        return own
    *inner, last = own.widths
    budget = count(task, "exits", own)
    widest = own
    for step in range(1, 32 * 4):
        widths = tuple(round(width * (1 + step / 32)) for width in inner)
        wider = replace(own, widths=(*widths, last))
        if count(task, variant, wider) > budget:
            break
        widest = wider
    return widest


def count(task: str, variant: str, shape: Architecture) -> int:
    """Parameters at inference of a variant with this backbone."""
    recipe = recipe_of(task, variant)
    return parameters(_build(shape, recipe, torch.zeros(()), torch.ones(())), recipe)


def parameters(network: Network, recipe: Recipe) -> int:
    """Parameters that inference needs: without the exits that only assist training."""
    dropped = {"exits"} if recipe.kind == "assisted" else set()
    return sum(
        values.numel()
        for name, values in network.named_parameters()
        if name.split(".")[0] not in dropped
    )
