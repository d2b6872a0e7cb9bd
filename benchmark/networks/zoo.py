# SPDX-License-Identifier: Apache-2.0
"""The zoo: trained networks by task, variant and seed, their weights kept in the cache."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark.atomic import cache_root
from benchmark.data.samples import SPLIT_SEED, Array, Part, Samples
from benchmark.networks import tasks, variants, weights
from benchmark.networks.network import Network
from benchmark.networks.posterior import PosteriorNetwork
from benchmark.networks.recipes import Recipe, recipe_of
from benchmark.networks.training import CHUNK, Training, accuracy
from benchmark.outputs import joined_rows

TASKS = tuple(tasks.TASKS)
VARIANTS = ("base", "assisted", "exits", "dropout", "hydra", "wide", "postnet")
PASSES = 10  # of dropout
FORMAT = 1  # of what a hash says; raise it when code changes what a recipe means


@dataclass(frozen=True)
class Trained:
    """One trained network. `parameters` counts what inference needs."""

    task: str
    variant: str
    seed: int
    sha256: str
    parameters: int
    training_parameters: int
    network: Network = field(repr=False, compare=False)

    def run(self, x: Array, *, seed: int = 0) -> dict[str, Array]:
        """What the network says of raw samples, as the loaders give them; see the README.

        `seed` draws the masks of dropout's passes; nothing else is random.
        """
        return self.run_prepared(self.prepared(x), seed=seed)

    def prepared(self, x: Array) -> Array:
        """Raw samples behind the front end, which networks of a task share."""
        inputs_of = tasks.TASKS[self.task].inputs
        chunks = [x[begin : begin + CHUNK] for begin in range(0, len(x), CHUNK)]
        return np.concatenate([inputs_of(chunk).numpy() for chunk in chunks])

    def run_prepared(self, x: Array, *, seed: int = 0) -> dict[str, Array]:
        """As `run`, of samples that were prepared before."""
        parts = [
            self._said(torch.from_numpy(x[begin : begin + CHUNK]), seed, begin)
            for begin in range(0, len(x), CHUNK)
        ]
        return joined_rows(parts)

    @torch.inference_mode()
    def _said(self, inputs: torch.Tensor, seed: int, begin: int) -> dict[str, Array]:
        said = self.network(inputs)
        found = {"logits": said.logits, "features": said.features, "early": said.early}
        if said.heads:
            found["heads"] = torch.stack(said.heads, dim=1)
        if said.alpha is not None:
            found["alpha"] = said.alpha
        if self.network.dropout:
            drawn = int(np.random.default_rng([seed, begin]).integers(2**62))
            masks = torch.Generator().manual_seed(drawn)
            found["passes"] = self.network.passes(inputs, PASSES, masks)
        return {name: value.numpy() for name, value in found.items()}

    def odin(self, x: Array, epsilon: float, temperature: float) -> Array:
        """Largest posterior of inputs that one gradient step has made more certain, (n,).

        Hsu and others (2020): `epsilon` is in units of the normalised inputs (of the cepstra, not
        of the sound); posteriors are softmax(logits / temperature).
        """
        if self.variant != "base":
            raise ValueError(f"odin is for base networks, got {self.variant!r}")
        return self.odin_prepared(self.prepared(x), epsilon, temperature)

    def odin_prepared(self, x: Array, epsilon: float, temperature: float) -> Array:
        """As `odin`, of samples that were prepared before."""
        chunks = [torch.from_numpy(x[at : at + CHUNK]) for at in range(0, len(x), CHUNK)]
        return np.concatenate([self._odin(chunk, epsilon, temperature) for chunk in chunks])

    def _odin(self, inputs: torch.Tensor, epsilon: float, temperature: float) -> Array:
        def certainty(values: torch.Tensor) -> torch.Tensor:
            logits = self.network.heard(self.network.maps(values)).logits / temperature
            return logits.log_softmax(dim=1).amax(dim=1)

        values = self.network.normalised(inputs).requires_grad_()
        (slope,) = torch.autograd.grad(certainty(values).sum(), values)
        with torch.no_grad():
            found: Array = certainty(values + epsilon * slope.sign()).exp().numpy()
        return found


def key(task: str, variant: str, seed: int) -> str:
    """The name of weights: a hash of recipe, architecture, data and of what they build on."""
    recipe, about = recipe_of(task, variant), tasks.TASKS[task]
    basis = [key(task, recipe.start, seed)] if recipe.start else []
    basis += [key(task, "base", teacher) for teacher in recipe.teachers]
    said = {
        "format": FORMAT,
        "task": task,
        "seed": seed,
        "recipe": recipe.plain(),
        "architecture": asdict(variants.architecture(task, variant)),
        "data": about.data_sha256,
        "split": SPLIT_SEED,
        "basis": basis,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def path(task: str, variant: str, seed: int) -> Path:
    """Where the weights lie, or would."""
    name = f"{task}-{variant}-{seed}-{key(task, variant, seed)[:16]}.npz"
    return cache_root() / "networks" / name


def trained(task: str, variant: str, seed: int, *, train: bool = False) -> Trained:
    """A network from the cache; if it is missing, trained now or refused, as asked."""
    at, recipe = path(task, variant, seed), recipe_of(task, variant)
    if not at.with_suffix(".json").exists():
        if not train:
            raise FileNotFoundError(
                f"no {task} {variant} {seed} in {at.parent}: train it with  python -m "
                f"benchmark.networks train --task {task} --variant {variant} --seeds {seed}"
            )
        learn(task, variant, seed)
    values, about = weights.read(at)
    made = variants.network(task, variant, seed)
    weights.put(made, values)
    every = sum(one.numel() for one in made.parameters())
    count = variants.parameters(made, recipe)
    return Trained(task, variant, seed, about["sha256"], count, every, made.eval())


def learn(
    task: str, variant: str, seed: int, say: Callable[[str], None] = lambda _line: None
) -> None:
    """Train a network, going on from its checkpoint if there is one, and keep its weights."""
    at, recipe, about = path(task, variant, seed), recipe_of(task, variant), tasks.TASKS[task]
    teachers = [trained(task, "base", teacher).network for teacher in recipe.teachers]
    basis = weights.of(trained(task, recipe.start, seed).network) if recipe.start else None
    parts = about.load()
    made = variants.network(task, variant, seed)
    normalise(made, about, parts["train"])
    if basis:
        weights.start(made, basis)
    unfinished = at.with_suffix(".checkpoint")
    training = Training(
        about, recipe, made, parts["train"], seed=seed, path=unfinished, teachers=teachers
    )

    def report(epoch: int, mean_loss: float, left_s: float) -> None:
        share = accuracy(made, about, parts["calibration"])
        say(
            f"{task} {variant} {seed}: epoch {epoch}/{recipe.epochs}, loss {mean_loss:.4f}, "
            f"calibration accuracy {share:.4f}, {left_s:.0f} s left"
        )

    training.run(report)
    story = _story(task, variant, seed, recipe, parts)
    story |= {"wall_s": round(training.wall_s, 1), "cpu_s": round(training.cpu_s, 1)}
    for part in ("calibration", "test"):
        story[f"{part}_accuracy"] = accuracy(made, about, parts[part])
    weights.write(at, weights.of(made), story)
    unfinished.unlink(missing_ok=True)


def normalise(made: Network, task: tasks.Task, samples: Samples) -> None:
    """Set a network's mean and spread, and a posterior network's counts, to the training set's."""
    inputs = task.inputs(samples.x)
    made.mean.copy_(inputs.mean(dim=task.over, keepdim=True)[0])
    made.std.copy_(inputs.std(dim=task.over, keepdim=True)[0].clamp(min=1e-6))
    if isinstance(made, PosteriorNetwork):
        made.counts.copy_(torch.bincount(torch.from_numpy(samples.y)))


def _story(
    task: str, variant: str, seed: int, recipe: Recipe, parts: dict[Part, Samples]
) -> dict[str, Any]:
    return {
        "task": task,
        "variant": variant,
        "seed": seed,
        "recipe": asdict(recipe),
        "key": key(task, variant, seed),
        "data_sha256": tasks.TASKS[task].data_sha256,
        "train_sha256": parts["train"].sha256,
        "train_samples": len(parts["train"]),
        "versions": {"torch": str(torch.__version__), "numpy": np.__version__},
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
