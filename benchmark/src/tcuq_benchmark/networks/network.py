# SPDX-License-Identifier: Apache-2.0
"""A backbone with its final head and, by variant, extra heads or dropout after some stages."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tcuq.train import Exit
from tcuq.train.exits import pooled
from tcuq_benchmark.networks.architectures import Architecture, stages

GRID = 2  # a full head reads 2 × 2 means of its stage's map, or 2 over time


@dataclass(frozen=True, slots=True, eq=False)
class NetworkOutput:
    """A network's outputs on a batch: logits (n, L), features (n, d), early (n, d2), heads.

    Only posterior networks have `alpha`, Dirichlet parameters (n, L).
    """

    logits: Tensor
    features: Tensor
    early: Tensor
    heads: Sequence[Tensor] = ()
    alpha: Tensor | None = None


class FullHead(nn.Module):
    """A fully connected layer over a coarse grid of the map, then a classifier.

    Qendro and others (2021) give early exits such layers to match the final one's capacity.
    """

    def __init__(self, inputs: int, features: int, classes: int, axes: int) -> None:
        super().__init__()
        pool = {0: nn.Identity(), 1: nn.AdaptiveAvgPool1d(GRID), 2: nn.AdaptiveAvgPool2d(GRID)}
        self.pool = pool[axes]
        self.hidden = nn.Linear(inputs * GRID**axes, features)
        self.classifier = nn.Linear(features, classes)

    def forward(self, values: Tensor) -> Tensor:
        """Return the logits."""
        hidden = self.hidden(self.pool(values).flatten(1))
        logits: Tensor = self.classifier(torch.relu(hidden))
        return logits


HEADS = {"light": Exit, "full": FullHead}


class Network(nn.Module):
    """Normalisation, backbone and final head; extra heads after the stages in `places`.

    `mean` and `std` are those of the training inputs, in the shape they are applied in. With
    `dropout` above 0 the places have dropout instead, applied whenever a generator is passed.
    If `averaged`, the mean posterior of the extra heads replaces the final head.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        architecture: Architecture,
        mean: Tensor,
        std: Tensor,
        *,
        places: tuple[int, ...] = (),
        head: str = "",
        dropout: float = 0.0,
        averaged: bool = False,
    ) -> None:
        super().__init__()
        self.architecture, self.places, self.dropout = architecture, places, dropout
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.stages = stages(architecture)
        widths, classes = architecture.widths, architecture.classes
        self.averaged = averaged
        self.head: nn.Module = nn.Identity() if averaged else nn.Linear(widths[-1], classes)
        axes = len(architecture.shape) - 1
        self.exits = nn.ModuleList(
            HEADS[head](widths[place], widths[-1], classes, axes) for place in places if head
        )

    def normalised(self, inputs: Tensor) -> Tensor:
        """Return inputs standardised by the training set's mean and spread."""
        return (inputs - self.mean) / self.std

    def forward(self, inputs: Tensor, masks: torch.Generator | None = None) -> NetworkOutput:
        """Return outputs on raw inputs; dropout acts only with a generator."""
        return self.outputs_from(self.maps(self.normalised(inputs), masks))

    def maps(self, values: Tensor, masks: torch.Generator | None = None) -> list[Tensor]:
        """Return the output of every stage."""
        return self.maps_from(values, 0, masks)

    def maps_from(self, values: Tensor, begin: int, masks: torch.Generator | None) -> list[Tensor]:
        """Return the outputs of the stages from `begin` on."""
        maps = []
        for number in range(begin, len(self.stages)):
            values = self.stages[number](values)
            if masks is not None and self.dropout and number in self.places:
                values = self.drop_activations(values, masks)
            maps.append(values)
        return maps

    def drop_activations(self, values: Tensor, masks: torch.Generator) -> Tensor:
        """Apply dropout: zero a share of the values and scale up the others."""
        mask = torch.rand(values.shape, generator=masks) >= self.dropout
        return values * mask / (1 - self.dropout)

    def outputs_from(self, maps: list[Tensor]) -> NetworkOutput:
        """Return heads and pooled features from the stages' outputs."""
        features = pooled(maps[-1])
        # With dropout there are places but no exits.
        pairs = zip(self.exits, self.places, strict=False)
        heads = [exit_(maps[place]) for exit_, place in pairs]
        logits = mean_posterior(heads) if self.averaged else self.head(features)
        return NetworkOutput(logits, features, pooled(maps[self.architecture.middle]), heads)

    def passes(self, inputs: Tensor, count: int, masks: torch.Generator) -> Tensor:
        """Return logits (n, count, L) of passes with dropout, which share the first stages."""
        first = self.places[0]
        values = self.normalised(inputs)
        for stage in self.stages[: first + 1]:
            values = stage(values)
        repeated = self.drop_activations(values.repeat_interleave(count, dim=0), masks)
        rest = self.maps_from(repeated, first + 1, masks)
        logits: Tensor = self.head(pooled(rest[-1] if rest else repeated))
        return logits.view(len(inputs), count, -1)


def mean_posterior(heads: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean of the heads' posteriors."""
    each = torch.stack([head.log_softmax(dim=1) for head in heads])
    return each.logsumexp(dim=0) - math.log(len(heads))
