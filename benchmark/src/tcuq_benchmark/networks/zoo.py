# SPDX-License-Identifier: Apache-2.0
"""The zoo: trained networks by task, variant and seed; weights of the repository, or cached."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tcuq_benchmark.cache import cache_root
from tcuq_benchmark.data.samples import SPLIT_SEED, Array, Part, Samples
from tcuq_benchmark.networks import committed, tasks, variants, weights
from tcuq_benchmark.networks.network import Network
from tcuq_benchmark.networks.posterior import PosteriorNetwork
from tcuq_benchmark.networks.recipes import Recipe, recipe_of
from tcuq_benchmark.networks.training import CHUNK, Training, accuracy
from tcuq_benchmark.outputs import join_rows

TASKS = tuple(tasks.TASKS)
PASSES = 10  # of dropout
FORMAT = 1  # raise it when code changes the meaning of a recipe


@dataclass(frozen=True)
class TrainedNetwork:
    """One trained network. `parameters` are those that inference needs."""

    task: str
    variant: str
    seed: int
    sha256: str
    parameters: int
    network: Network = field(repr=False, compare=False)

    def run(self, x: Array, *, seed: int = 0) -> dict[str, Array]:
        """Return outputs on raw samples as the loaders return them; see the README.

        `seed` is that of the dropout masks; nothing else is random.
        """
        return self.run_prepared(self.prepared(x), seed=seed)

    def prepared(self, x: Array) -> Array:
        """Return raw samples after the front end, which networks of a task share."""
        inputs_of = tasks.TASKS[self.task].front.inputs
        chunks = [x[begin : begin + CHUNK] for begin in range(0, len(x), CHUNK)]
        return np.concatenate([inputs_of(chunk).numpy() for chunk in chunks])

    def run_prepared(self, x: Array, *, seed: int = 0) -> dict[str, Array]:
        """Return outputs as `run` does, on prepared samples."""
        parts = [
            self._outputs(torch.from_numpy(x[begin : begin + CHUNK]), seed, begin)
            for begin in range(0, len(x), CHUNK)
        ]
        return join_rows(parts)

    @torch.inference_mode()
    def _outputs(self, inputs: torch.Tensor, seed: int, begin: int) -> dict[str, Array]:
        output = self.network(inputs)
        columns = {"logits": output.logits, "features": output.features, "early": output.early}
        if output.heads:
            columns["heads"] = torch.stack(output.heads, dim=1)
        if output.alpha is not None:
            columns["alpha"] = output.alpha
        if self.network.dropout:
            mask_seed = int(np.random.default_rng([seed, begin]).integers(2**62))
            masks = torch.Generator().manual_seed(mask_seed)
            columns["passes"] = self.network.passes(inputs, PASSES, masks)
        return {name: value.numpy() for name, value in columns.items()}

    def odin(self, x: Array, epsilon: float, temperature: float) -> Array:
        """Return the largest posterior, (n,), after one step on prepared inputs that raises it.

        Hsu and others (2020): `epsilon` is in units of the normalised inputs (of the cepstra, not
        of the sound); posteriors are softmax(logits / temperature).
        """
        chunks = [torch.from_numpy(x[at : at + CHUNK]) for at in range(0, len(x), CHUNK)]
        return np.concatenate([self._odin(chunk, epsilon, temperature) for chunk in chunks])

    def _odin(self, inputs: torch.Tensor, epsilon: float, temperature: float) -> Array:
        def certainty(values: torch.Tensor) -> torch.Tensor:
            logits = self.network.outputs_from(self.network.maps(values)).logits / temperature
            return logits.log_softmax(dim=1).amax(dim=1)

        values = self.network.normalised(inputs).requires_grad_()
        (slope,) = torch.autograd.grad(certainty(values).sum(), values)
        with torch.no_grad():
            largest: Array = certainty(values + epsilon * slope.sign()).exp().numpy()
        return largest


def key(task: str, variant: str, seed: int) -> str:
    """Return the name of weights: a hash of recipe, architecture, data and basis."""
    recipe, about = recipe_of(task, variant), tasks.TASKS[task]
    basis = [key(task, recipe.start, seed)] if recipe.start else []
    basis += [key(task, "base", teacher) for teacher in recipe.teachers]
    identity = {
        "format": FORMAT,
        "task": task,
        "seed": seed,
        "recipe": recipe.plain(),
        "architecture": asdict(variants.architecture(task, variant)),
        "data": about.data_sha256,
        "split": SPLIT_SEED,
        "basis": basis,
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def path(task: str, variant: str, seed: int) -> Path:
    """Return the path of the weights in the cache, trained or not."""
    name = f"{task}-{variant}-{seed}-{key(task, variant, seed)[:16]}.npz"
    return cache_root() / "networks" / name


def is_trained(task: str, variant: str, seed: int) -> bool:
    """Return whether the weights are in the repository or in the cache."""
    name = committed.name_of(task, variant, seed)
    if committed.holds(name, key(task, variant, seed)):
        return True
    return path(task, variant, seed).with_suffix(".json").exists()


def read_weights(task: str, variant: str, seed: int) -> tuple[weights.Weights, weights.Metadata]:
    """Return weights and metadata from the repository, else from the cache."""
    name = committed.name_of(task, variant, seed)
    if committed.holds(name, key(task, variant, seed)):
        return committed.read(name)
    return weights.read(path(task, variant, seed))


def training_command(task: str, variant: str, seed: int) -> str:
    """Return the command that trains a network."""
    options = f"--task {task} --variant {variant} --seeds {seed}"
    return f"python -m tcuq_benchmark.networks train {options}"


def load_network(task: str, variant: str, seed: int, *, train: bool = False) -> TrainedNetwork:
    """Return a trained network; a missing one is trained if `train`, else an error."""
    recipe = recipe_of(task, variant)
    if not is_trained(task, variant, seed):
        if not train:
            raise _not_found(task, variant, seed)
        train_network(task, variant, seed)
    values, metadata = read_weights(task, variant, seed)
    network = variants.network(task, variant, seed)
    if recipe.kind == "assisted":
        values = weights.without_exits(values)
    weights.put(network, values)
    count = variants.parameters(network)
    return TrainedNetwork(task, variant, seed, metadata["sha256"], count, network.eval())


def keep_network(task: str, variant: str, seed: int) -> None:
    """Copy a network's weights from the cache to the repository."""
    at = path(task, variant, seed)
    if not at.with_suffix(".json").exists():
        raise _not_found(task, variant, seed)
    values, metadata = weights.read(at)
    recipe = recipe_of(task, variant)
    metadata |= {"epochs": recipe.epochs, "start": recipe.start}
    name, command = committed.name_of(task, variant, seed), training_command(task, variant, seed)
    committed.add(name, values, metadata, command)


def _not_found(task: str, variant: str, seed: int) -> FileNotFoundError:
    folder = path(task, variant, seed).parent
    command = training_command(task, variant, seed)
    return FileNotFoundError(
        f"{task} {variant} {seed} not found in {folder}: train it with  {command}"
    )


def train_network(
    task: str, variant: str, seed: int, log: Callable[[str], None] = lambda _line: None
) -> None:
    """Train a network, resuming from its checkpoint if there is one, and store its weights."""
    at, recipe, about = path(task, variant, seed), recipe_of(task, variant), tasks.TASKS[task]
    teachers = [load_network(task, "base", teacher).network for teacher in recipe.teachers]
    basis = weights.of(load_network(task, recipe.start, seed).network) if recipe.start else None
    parts = about.load()
    network, assisted = variants.network(task, variant, seed), None
    if recipe.kind == "assisted":
        network, assisted = variants.assisted(task, variant, seed)
    normalise(network, about, parts["train"])
    if basis:
        weights.put_matching(network, basis)
    unfinished = at.with_suffix(".checkpoint")
    training = Training(
        about,
        recipe,
        network,
        parts["train"],
        seed=seed,
        path=unfinished,
        assisted=assisted,
        teachers=teachers,
    )

    def report(epoch: int, mean_loss: float, left_s: float) -> None:
        share = accuracy(network, about, parts["calibration"])
        log(
            f"{task} {variant} {seed}: epoch {epoch}/{recipe.epochs}, loss {mean_loss:.4f}, "
            f"calibration accuracy {share:.4f}, {left_s:.0f} s left"
        )

    training.run(report)
    metadata = _metadata(task, variant, seed, recipe, parts)
    metadata |= {"wall_s": round(training.wall_s, 1), "cpu_s": round(training.cpu_s, 1)}
    for part in ("calibration", "test"):
        metadata[f"{part}_accuracy"] = accuracy(network, about, parts[part])
    weights.write(at, weights.of(assisted or network), metadata)
    unfinished.unlink(missing_ok=True)


def normalise(network: Network, task: tasks.Task, samples: Samples) -> None:
    """Set a network's mean, spread and, for a posterior network, counts to the training set's."""
    inputs = task.front.inputs(samples.x)
    network.mean.copy_(inputs.mean(dim=task.front.over, keepdim=True)[0])
    network.std.copy_(inputs.std(dim=task.front.over, keepdim=True)[0].clamp(min=1e-6))
    if isinstance(network, PosteriorNetwork):
        network.counts.copy_(torch.bincount(torch.from_numpy(samples.y)))


def _metadata(
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
