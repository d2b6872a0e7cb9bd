# SPDX-License-Identifier: Apache-2.0
"""The small activity network whose streams have HAPT's six faults; trained once, then cached.

The recipe was chosen by accuracy on the development people only. Training is deterministic.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tcuq_benchmark.cache import cache_root, write_entry
from tcuq_benchmark.data import hapt
from tcuq_benchmark.data.files import manifest
from tcuq_benchmark.data.samples import Recording
from tcuq_benchmark.recordings import windows

CLASSES, FEATURES = len(hapt.CLASSES), 32
TRAIN_HOP = 32  # samples; training windows overlap more than those of the streams
EPOCHS, SHORT_EPOCHS = 30, 3
BATCH, LEARNING_RATE, WEIGHT_DECAY = 64, 2e-3, 1e-3
BALANCE = 0.5  # class weight = frequency ** -BALANCE
JITTER_DEGREES, JITTER_GAIN = 8.0, 0.03  # standard deviations of the augmentation
SEED = 0
FORMAT = 1  # raise it when code changes the meaning of the numbers above
RECIPE = (
    FORMAT, TRAIN_HOP, BATCH, LEARNING_RATE, WEIGHT_DECAY, BALANCE, JITTER_DEGREES, JITTER_GAIN,
    SEED,
)  # fmt: skip
Floats = NDArray[np.float32]


class ActivityNetwork(nn.Module):
    """Four convolutions, average pooling, one linear layer; normalises its six channels."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean.view(1, 6, 1))
        self.register_buffer("std", std.view(1, 6, 1))
        layers: list[nn.Module] = []
        shapes = [(6, 32, 7, 2), (32, 48, 5, 2), (48, 64, 5, 2), (64, FEATURES, 3, 1)]
        for inputs, outputs, size, stride in shapes:
            layers += [
                nn.Conv1d(inputs, outputs, size, stride, size // 2, bias=False),
                nn.BatchNorm1d(outputs),
                nn.ReLU(),
            ]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(FEATURES, CLASSES)

    def forward(self, signal: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and pooled features."""
        features = self.body((signal - self.mean) / self.std).mean(dim=2)
        return self.head(features), features


@lru_cache(maxsize=2)
def activity_network(epochs: int = EPOCHS) -> ActivityNetwork:
    """Return the trained network, from the cache if it is there."""
    torch.set_num_threads(1)  # the fast setting for so small a network, and reproducible
    torch.use_deterministic_algorithms(mode=True)
    at = _path(epochs)
    if at.is_file():
        network = ActivityNetwork(torch.zeros(6), torch.ones(6))
        network.load_state_dict(torch.load(at, weights_only=True))
        return network.eval()
    network = _train(hapt.load()["train"], epochs)
    with write_entry(at) as file:
        torch.save(network.state_dict(), file)
    return network


def weights_sha256(epochs: int = EPOCHS) -> str:
    """Return the identity of the network's weights."""
    digest = hashlib.sha256()
    for name, values in activity_network(epochs).state_dict().items():
        digest.update(name.encode() + values.numpy().tobytes())
    return digest.hexdigest()


@torch.no_grad()
def outputs(cut: Floats, epochs: int = EPOCHS) -> tuple[Floats, Floats]:
    """Return logits and features of windows (n, samples, channels)."""
    network = activity_network(epochs)
    logits, features = network(torch.from_numpy(np.ascontiguousarray(cut.transpose(0, 2, 1))))
    return logits.numpy(), features.numpy()


def _path(epochs: int) -> Path:
    identity = f"{RECIPE} {manifest()[hapt.NAME].sha256}"
    name = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return cache_root() / "networks" / f"hapt-activity-{epochs}-{name}.pt"


def _train(recordings: Sequence[Recording], epochs: int) -> ActivityNetwork:
    """Train on the labelled windows."""
    torch.manual_seed(SEED)
    rng = torch.Generator().manual_seed(SEED)
    cut = windows(recordings, hapt.CLASSES, hop=TRAIN_HOP).samples
    x = torch.from_numpy(np.ascontiguousarray(cut.x.transpose(0, 2, 1)))
    y = torch.from_numpy(cut.y)
    network = ActivityNetwork(x.mean(dim=(0, 2)), x.std(dim=(0, 2)))
    x, y = x[y >= 0], y[y >= 0]
    weight = torch.bincount(y, minlength=CLASSES).float() ** -BALANCE
    loss_of = nn.CrossEntropyLoss(weight / weight.mean())
    optimiser = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    steps = epochs * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, steps)
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=rng)
        for batch in order[: len(x) // BATCH * BATCH].view(-1, BATCH):
            loss = loss_of(network(_augment(x[batch], rng))[0], y[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return network.eval()


def _augment(signal: Tensor, rng: torch.Generator) -> Tensor:
    """Apply a small random rotation and gain to each window, as phones never sit quite the same."""
    n = len(signal)
    vector = torch.randn(n, 3, generator=rng) * (np.radians(JITTER_DEGREES) / 3**0.5)
    x, y, z = vector.unbind(1)
    zero = torch.zeros(n)
    skew = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1).view(n, 3, 3)
    turn = torch.linalg.matrix_exp(skew)
    turned = torch.cat([turn @ signal[:, :3], turn @ signal[:, 3:]], dim=1)
    return turned * (1 + JITTER_GAIN * torch.randn(n, 1, 1, generator=rng))
