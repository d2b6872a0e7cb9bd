# SPDX-License-Identifier: Apache-2.0
"""Backbones as lists of stages, small enough for a microcontroller; each stage ends in a ReLU.

cnn: four convolutions. resnet: ResNet-8 of MLPerf Tiny (Banbury and others 2021). dscnn: its
DS-CNN (Zhang and others 2017). cnn1d: four convolutions over time. mlp: two dense layers.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from tcuq.train.exits import dense, separable

Kind = Literal["cnn", "resnet", "dscnn", "cnn1d", "mlp"]
CNN_STRIDES = (2, 2, 1, 2)
CNN1D_SIZES, CNN1D_STRIDES = (7, 5, 5, 3), (2, 2, 2, 1)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A backbone as data: shape of one input (channels first) and width of every stage."""

    kind: Kind
    shape: tuple[int, ...]
    widths: tuple[int, ...]
    classes: int

    @property
    def middle(self) -> int:
        """The stage whose pooled output is the early features."""
        return (len(self.widths) - 1) // 2


def stages(architecture: Architecture) -> nn.ModuleList:
    """Return the stages of a backbone, with fresh weights."""
    widths = architecture.widths
    steps = list(zip((architecture.shape[0], *widths[:-1]), widths, strict=True))
    match architecture.kind:
        case "cnn":
            layers = [plain(*step, 3, s) for step, s in zip(steps, CNN_STRIDES, strict=True)]
        case "resnet":
            first = widths[0]
            stem = nn.Sequential(plain(steps[0][0], first, 3, 1), Residual(first, first, 1))
            layers = [stem, *(nn.Sequential(Residual(*step, 2)) for step in steps[1:])]
        case "dscnn":
            stem = nn.Sequential(
                nn.Conv2d(steps[0][0], widths[0], (10, 4), 2, (5, 1), bias=False),
                nn.BatchNorm2d(widths[0]),
                nn.ReLU(),
                *separable(widths[0], widths[0]),
            )
            layers = [stem, *(separable(*step) for step in steps[1:])]
        case "cnn1d":
            shapes = zip(steps, CNN1D_SIZES, CNN1D_STRIDES, strict=True)
            layers = [over_time(*step, size, stride) for step, size, stride in shapes]
        case "mlp":
            layers = [dense(*step) for step in steps]
    return nn.ModuleList(layers)


def plain(inputs: int, outputs: int, size: int, stride: int) -> nn.Sequential:
    """Return a convolution over an image, batch normalisation, ReLU."""
    convolution = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


def over_time(inputs: int, outputs: int, size: int, stride: int) -> nn.Sequential:
    """Return a convolution over a signal, batch normalisation, ReLU."""
    convolution = nn.Conv1d(inputs, outputs, size, stride, size // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm1d(outputs), nn.ReLU())


class Residual(nn.Module):
    """Two 3×3 convolutions and a shortcut, which is a 1×1 convolution where shapes differ."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = plain(inputs, outputs, 3, stride)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, values: Tensor) -> Tensor:
        """Return the ReLU of the sum of both branches."""
        residual = self.norm(self.second(self.first(values)))
        return functional.relu(residual + self.shortcut(values))
