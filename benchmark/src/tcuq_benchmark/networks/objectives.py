# SPDX-License-Identifier: Apache-2.0
"""The loss of each kind of network but the assisted, whose loss is `tcuq.train`'s."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from tcuq_benchmark.networks.network import NetworkOutput
from tcuq_benchmark.networks.posterior import expected_loss
from tcuq_benchmark.networks.recipes import Recipe


def loss(
    recipe: Recipe,
    output: NetworkOutput,
    labels: Tensor,
    class_weights: Tensor,
    *,
    teachers: Sequence[Tensor] = (),
) -> Tensor:
    """Return the loss of a batch."""
    final = functional.cross_entropy(output.logits, labels, class_weights)
    each = [functional.cross_entropy(head, labels, class_weights) for head in output.heads]
    match recipe.kind:
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
    """Return τ² KL(teacher ‖ head) at temperature τ, mean over pairs of head and teacher."""
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
