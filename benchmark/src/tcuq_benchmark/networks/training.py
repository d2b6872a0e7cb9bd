# SPDX-License-Identifier: Apache-2.0
"""The training loop: a checkpoint each epoch, resumed bit for bit.

Order, augmentation and dropout of an epoch are drawn from generators seeded by (seed, epoch),
so an interrupted run repeats at most one epoch and ends in the same weights.
"""

import math
import pickle
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tcuq.train import Assisted
from tcuq_benchmark.cache import write_entry
from tcuq_benchmark.data.samples import Array, Samples
from tcuq_benchmark.networks import objectives
from tcuq_benchmark.networks.network import Network, NetworkOutput
from tcuq_benchmark.networks.recipes import Recipe
from tcuq_benchmark.networks.tasks import Task

CHUNK = 512  # samples a forward pass
RISE, FLOOR = 0.25, 0.04  # the learning rate rises for a quarter of the steps, from 1/25


def rate_at(share: float) -> float:
    """Return the rate as a share of its peak: up in a straight line, down in half a cosine."""
    if share < RISE:
        return FLOOR + (1 - FLOOR) * share / RISE
    return 0.5 * (1 + math.cos(math.pi * (share - RISE) / (1 - RISE)))


class Training:
    """One network in training: `network`, `epoch` (the number finished) and an optimiser.

    `path` is the checkpoint's; training resumes from an existing one. `assisted` holds the
    network's exits, if it trains with assistance.
    """

    def __init__(
        self,
        task: Task,
        recipe: Recipe,
        network: Network,
        samples: Samples,
        *,
        seed: int,
        path: Path,
        assisted: Assisted | None = None,
        teachers: Sequence[Network] = (),
    ) -> None:
        self.task, self.recipe, self.network, self.samples = task, recipe, network, samples
        self.seed, self.path, self.assisted, self.teachers = seed, path, assisted, teachers
        self.learner: nn.Module = assisted or network
        self.optimiser = torch.optim.Adam(
            self.learner.parameters(), recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        counts = np.bincount(samples.y, minlength=task.architecture.classes)
        weights = np.maximum(counts, 1) ** -recipe.balance
        self.class_weights = torch.tensor(weights / weights.mean(), dtype=torch.float32)
        self.epoch, self.wall_s, self.cpu_s = 0, 0.0, 0.0
        self._resume()

    def run(self, report: Callable[[int, float, float], None]) -> None:
        """Train to the end; `report` gets each epoch's number, mean loss and seconds left."""
        while self.epoch < self.recipe.epochs:
            start, cpu_start = time.monotonic(), time.process_time()
            mean_loss = self._one_epoch()
            self.epoch += 1
            self.wall_s += time.monotonic() - start
            self.cpu_s += time.process_time() - cpu_start
            self._checkpoint()
            left = self.recipe.epochs - self.epoch
            report(self.epoch, mean_loss, left * self.wall_s / self.epoch)

    def _one_epoch(self) -> float:
        rng = np.random.default_rng([self.seed, self.epoch])
        masks = torch.Generator().manual_seed(int(rng.integers(2**62)))
        batches = len(self.samples) // self.recipe.batch
        order = rng.permutation(len(self.samples))[: batches * self.recipe.batch]
        self.network.train()
        total = 0.0
        for number, rows in enumerate(order.reshape(batches, -1)):
            done = (self.epoch + number / batches) / self.recipe.epochs
            for group in self.optimiser.param_groups:
                group["lr"] = self.recipe.learning_rate * rate_at(done)
            raw = self.task.front.augment(self.samples.x[rows], rng)
            labels = torch.from_numpy(self.samples.y[rows])
            total += self._step(self.task.front.inputs(raw), labels, done, masks)
        return total / batches

    def _step(self, inputs: Tensor, labels: Tensor, done: float, masks: torch.Generator) -> float:
        low = self.recipe.precision == "bfloat16"
        with torch.autocast("cpu", torch.bfloat16, enabled=low):
            with torch.no_grad():
                teachers = [teacher(inputs).logits for teacher in self.teachers]
            output = self.network(inputs, masks)
            loss = self._loss(output, labels, done, teachers)
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        self.optimiser.step()
        if self.assisted is not None:
            self.assisted.transfer()
        return float(loss.detach())

    def _loss(
        self, output: NetworkOutput, labels: Tensor, done: float, teachers: Sequence[Tensor]
    ) -> Tensor:
        if self.assisted is None:
            return objectives.loss(
                self.recipe, output, labels, self.class_weights, teachers=teachers
            )
        criterion = nn.CrossEntropyLoss(self.class_weights)
        return self.assisted.loss(output.logits, labels, done=done, criterion=criterion)

    def _checkpoint(self) -> None:
        state = {
            "epoch": self.epoch,
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "network": self.learner.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }
        with write_entry(self.path) as file:
            torch.save(state, file)

    def _resume(self) -> None:
        if not self.path.exists():
            return
        try:
            state: dict[str, Any] = torch.load(self.path, weights_only=True)
            self.learner.load_state_dict(state["network"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.epoch = state["epoch"]
            self.wall_s, self.cpu_s = state["wall_s"], state["cpu_s"]
        except (RuntimeError, LookupError, ValueError, EOFError, pickle.UnpicklingError) as error:
            raise ValueError(f"{self.path} is damaged: delete it and train again") from error


@torch.no_grad()
def accuracy(network: Network, task: Task, samples: Samples) -> float:
    """Return the share of samples predicted correctly."""
    network.eval()
    correct = 0
    for begin in range(0, len(samples), CHUNK):
        chunk = slice(begin, begin + CHUNK)
        logits: Array = network(task.front.inputs(samples.x[chunk])).logits.numpy()
        correct += int((logits.argmax(axis=1) == samples.y[chunk]).sum())
    return correct / len(samples)
