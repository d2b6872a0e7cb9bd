# SPDX-License-Identifier: Apache-2.0
"""Posterior network (Charpentier and others 2020): a Dirichlet from one density for each class.

The final head maps the features to a small latent space; radial flows give p(z | class), and
alpha = 1 + (samples of the class) p(z | class). Trained on the expected cross-entropy.
"""

import math

import torch
from torch import Tensor, nn

from tcuq.train.exits import pooled
from tcuq_benchmark.networks.architectures import Architecture
from tcuq_benchmark.networks.network import Network, NetworkOutput

LARGEST_LOG = 30.0  # of a density; e^30 counts are certainty, and float32 holds them


class RadialFlows(nn.Module):
    """A chain of radial flows for each class over the same latent space (Rezende 2015)."""

    def __init__(self, classes: int, latent: int, flows: int) -> None:
        super().__init__()
        bound = latent**-0.5
        self.latent = latent
        self.centre = nn.Parameter(torch.empty(flows, classes, latent).uniform_(-bound, bound))
        self.radius = nn.Parameter(torch.empty(flows, classes).uniform_(-bound, bound))
        self.strength = nn.Parameter(torch.empty(flows, classes).uniform_(-bound, bound))

    def forward(self, latent: Tensor) -> Tensor:
        """Log p(z | class), (n, classes), of z (n, latent)."""
        z = latent.unsqueeze(1)
        volume = torch.zeros(())
        for centre, raw_radius, raw_strength in zip(
            self.centre, self.radius, self.strength, strict=True
        ):
            radius = nn.functional.softplus(raw_radius)
            beta = nn.functional.softplus(raw_strength) - radius  # keeps the flow invertible
            apart = z - centre
            distance = apart.square().sum(dim=2).add(1e-12).sqrt()
            pull = 1 / (radius + distance)
            stretch = 1 + beta * pull
            along = stretch - beta * pull.square() * distance
            volume = volume + (self.latent - 1) * stretch.log() + along.log()
            z = z + (beta * pull).unsqueeze(2) * apart
        normal = -0.5 * (z.square().sum(dim=2) + self.latent * math.log(2 * math.pi))
        return normal + volume


class PosteriorNetwork(Network):
    """A backbone whose head is a latent space and a density for each class.

    `counts` are the training samples of each class.
    """

    counts: Tensor

    def __init__(
        self, architecture: Architecture, mean: Tensor, std: Tensor, *, latent: int, flows: int
    ) -> None:
        super().__init__(architecture, mean, std)
        self.register_buffer("counts", torch.ones(architecture.classes))
        self.head = nn.Sequential(
            nn.Linear(architecture.widths[-1], latent), nn.BatchNorm1d(latent)
        )
        self.densities = RadialFlows(architecture.classes, latent, flows)

    def outputs_from(self, maps: list[Tensor]) -> NetworkOutput:
        """Return Dirichlet parameters; the logits are the logarithm of their mean."""
        features = pooled(maps[-1])
        density = self.densities(self.head(features).float()).clamp(max=LARGEST_LOG)
        alpha = 1 + self.counts * density.exp()
        logits = (alpha / alpha.sum(dim=1, keepdim=True)).log()
        early = pooled(maps[self.architecture.middle])
        return NetworkOutput(logits, features, early, alpha=alpha)


def expected_loss(alpha: Tensor, labels: Tensor, entropy: float) -> Tensor:
    """Return the cross-entropy expected under the Dirichlet, less `entropy` times its entropy."""
    total = alpha.sum(dim=1)
    own = alpha.gather(1, labels.unsqueeze(1)).squeeze(1)
    expected = (torch.digamma(total) - torch.digamma(own)).mean()
    spread = (
        torch.lgamma(alpha).sum(dim=1)
        - torch.lgamma(total)
        + (total - alpha.shape[1]) * torch.digamma(total)
        - ((alpha - 1) * torch.digamma(alpha)).sum(dim=1)
    )
    return expected - entropy * spread.mean()
