# SPDX-License-Identifier: Apache-2.0
"""Untrained networks by task and variant, and their number of parameters."""

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn

from tcuq.train import Assisted
from tcuq_benchmark.networks.architectures import Architecture
from tcuq_benchmark.networks.network import Network
from tcuq_benchmark.networks.posterior import PosteriorNetwork
from tcuq_benchmark.networks.recipes import Recipe, recipe_of
from tcuq_benchmark.networks.tasks import TASKS


def network(task: str, variant: str, seed: int) -> Network:
    """Return a network with random weights from the seed and an identity normalisation."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        fresh = _fresh(task, variant)
    nn.utils.convert_conv2d_weight_memory_format(fresh, torch.channels_last)
    return fresh


def assisted(task: str, variant: str, seed: int) -> tuple[Network, Assisted]:
    """Return a network as `network` does, and its assistance exits."""
    recipe = recipe_of(task, variant)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        fresh = _fresh(task, variant)
        exits = Assisted(
            fresh,
            [f"stages.{place}" for place in recipe.places],
            torch.zeros(1, *fresh.architecture.shape),
            head="head",
            weight_0=recipe.weight_0,
            weight_step=recipe.weight_step,
            transfer_rate=recipe.transfer,
        )
    nn.utils.convert_conv2d_weight_memory_format(exits, torch.channels_last)
    return fresh, exits


def _fresh(task: str, variant: str) -> Network:
    shape, over = architecture(task, variant), TASKS[task].front.over
    sizes = [1 if axis + 1 in over else n for axis, n in enumerate(shape.shape)]
    return _build(shape, recipe_of(task, variant), torch.zeros(sizes), torch.ones(sizes))


def _build(shape: Architecture, recipe: Recipe, mean: Tensor, std: Tensor) -> Network:
    if recipe.kind == "postnet":
        return PosteriorNetwork(shape, mean, std, latent=recipe.latent, flows=recipe.flows)
    if recipe.kind == "assisted":  # its exits are for training only
        return Network(shape, mean, std)
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
    """Return the task's backbone; if wide, the widest with no more parameters than `exits`.

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
    """Count the parameters at inference of a variant with this backbone."""
    fresh = _build(shape, recipe_of(task, variant), torch.zeros(()), torch.ones(()))
    return parameters(fresh)


def parameters(network: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(values.numel() for values in network.parameters())
