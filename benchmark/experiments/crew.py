# SPDX-License-Identifier: Apache-2.0
"""The networks that see a task's scenes, and the scenes as they saw them."""

from collections.abc import Iterable
from functools import lru_cache

from benchmark.experiments.perturbed import Perturbed, perturbed
from benchmark.networks.zoo import Trained, path, trained
from benchmark.scenes.scene import Kind, Name
from benchmark.scenes.tasks import scene
from benchmark.seen import Seen, seen

SEEDS = (0, 1, 2)
MEMBERS = 5
CIFAR_MEMBERS = 3  # training five takes longer than all other tasks together


def members(task: str) -> int:
    """How many networks the deep ensemble has."""
    return CIFAR_MEMBERS if task == "cifar10" else MEMBERS


@lru_cache(maxsize=64)
def network(task: str, variant: str, seed: int) -> Trained | Perturbed:
    """A trained network, loaded once."""
    if variant == "odin":
        return perturbed(trained(task, "base", seed))
    return trained(task, variant, seed)


def seeds_of(task: str) -> tuple[int, ...]:
    """The seeds whose base network is trained; an error that says how if none is."""
    network(task, "base", 0)
    return tuple(seed for seed in SEEDS if path(task, "base", seed).is_file())


def crew(task: str, variants: Iterable[str], seed: int) -> dict[str, Trained | Perturbed]:
    """Networks by the names that scores know: a variant, or "members" for the deep ensemble."""
    found: dict[str, Trained | Perturbed] = {}
    for variant in variants:
        if variant == "members":
            found |= {f"member{i}": network(task, "base", i) for i in range(members(task))}
        else:
            found[variant] = network(task, variant, seed)
    return found


def looked_at(task: str, name: Name, kind: Kind, seed: int, variants: Iterable[str]) -> Seen:
    """A scene through the networks of a seed."""
    return seen(scene(task, name, kind, seed), crew(task, variants, seed))
