# SPDX-License-Identifier: Apache-2.0
"""The loss of each kind of network, and the update after each batch."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmark.networks.network import LightHead, Network, NetworkOutput
from benchmark.networks.posterior import expected_loss
from benchmark.networks.recipes import Recipe

RAMP, RAMP_FROM = 0.1, 0.5  # assistance grows over the first tenth of training, from a half


def loss(
    recipe: Recipe,
    output: NetworkOutput,
    labels: Tensor,
    class_weights: Tensor,
    *,
    done: float,
    teachers: Sequence[Tensor] = (),
) -> Tensor:
    """The loss of a batch when the share `done` of the training is over."""
    final = functional.cross_entropy(output.logits, labels, class_weights)
    each = [functional.cross_entropy(head, labels, class_weights) for head in output.heads]
    match recipe.kind:
        case "assisted":
            ramp = min(1.0, RAMP_FROM + (1 - RAMP_FROM) * done / RAMP)
            # The k-th exit, counted from 1, has weight w_0 + k δ.
            weights = [recipe.weight_0 + k * recipe.weight_step for k in range(1, len(each) + 1)]
            weighted = torch.stack([w * one for w, one in zip(weights, each, strict=True)])
            return final + ramp * weighted.sum()
        case "exits":
            return final + torch.stack(each).sum()
        case "hydra":
            return torch.stack(each).mean() + distillation(
                output.heads, teachers, recipe.temperature
            )
        case "postnet" if output.alpha is not None:
            return expected_loss(output.alpha, labels, recipe.entropy)
        case _:
            return final


def distillation(heads: Sequence[Tensor], teachers: Sequence[Tensor], temperature: float) -> Tensor:
    """τ² KL(teacher ‖ head) at temperature τ, mean over heads; each head has its own teacher."""
    terms = [
        functional.kl_div(
            functional.log_softmax(head / temperature, dim=1),
            functional.log_softmax(teacher / temperature, dim=1),
            reduction="batchmean",
            log_target=True,
        )
        for head, teacher in zip(heads, teachers, strict=True)
    ]
    return temperature**2 * torch.stack(terms).mean()


@torch.no_grad()
def transfer(network: Network, rate: float) -> None:
    """After a batch, move the final head by `rate` towards the mean of the exits' classifiers.

    The paper speaks of a "batch-level callback that transfers assistance weights to the final
    head" and says no more; this is our reading. It needs light heads, whose classifiers have
    the final head's shape. Rate 0 switches it off.
    """
    if rate == 0:
        return
    classifiers = [exit_.classifier for exit_ in network.exits if isinstance(exit_, LightHead)]
    for name in ("weight", "bias"):
        own: nn.Parameter = getattr(network.head, name)
        theirs = torch.stack([getattr(one, name) for one in classifiers]).mean(dim=0)
        own.lerp_(theirs, rate)
