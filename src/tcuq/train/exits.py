# SPDX-License-Identifier: Apache-2.0
"""A light exit: one separable convolution or dense layer, pooling, a classifier."""

from torch import Tensor, nn

__all__ = ["Exit", "dense", "pooled", "separable", "separable_over_time"]


class Exit(nn.Module):
    """One separable convolution to the width of the final features, pooling, a classifier.

    Parameters
    ----------
    inputs
        Channels, or width, of the values that it reads.
    features
        Width of the features that the final head reads.
    classes
        Number of classes.
    axes
        0 for values (n, width), 1 for signals (n, channels, time), 2 for images
        (n, channels, height, width).
    """

    def __init__(self, inputs: int, features: int, classes: int, axes: int) -> None:
        super().__init__()
        make = {0: dense, 1: separable_over_time, 2: separable}[axes]
        self.body: nn.Module = make(inputs, features)
        self.classifier: nn.Linear = nn.Linear(features, classes)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.classifier(pooled(self.body(values)))
        return logits


def pooled(values: Tensor) -> Tensor:
    """Return the mean over every axis past the channels."""
    return values.flatten(2).mean(dim=2) if values.dim() > 2 else values


def separable(inputs: int, outputs: int) -> nn.Sequential:
    """Return a depthwise and a pointwise convolution, each normalised and rectified."""
    return _separable(nn.Conv2d, nn.BatchNorm2d, inputs, outputs)


def separable_over_time(inputs: int, outputs: int) -> nn.Sequential:
    """Return the same over time."""
    return _separable(nn.Conv1d, nn.BatchNorm1d, inputs, outputs)


def _separable(
    convolution: type[nn.Conv1d | nn.Conv2d],
    normalisation: type[nn.BatchNorm1d | nn.BatchNorm2d],
    inputs: int,
    outputs: int,
) -> nn.Sequential:
    return nn.Sequential(
        convolution(inputs, inputs, 3, 1, 1, groups=inputs, bias=False),
        normalisation(inputs),
        nn.ReLU(),
        convolution(inputs, outputs, 1, bias=False),
        normalisation(outputs),
        nn.ReLU(),
    )


def dense(inputs: int, outputs: int) -> nn.Sequential:
    """Return a fully connected layer, normalised and rectified."""
    return nn.Sequential(nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs), nn.ReLU())
