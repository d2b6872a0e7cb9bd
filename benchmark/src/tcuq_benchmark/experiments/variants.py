# SPDX-License-Identifier: Apache-2.0
"""The trained network variants of a task, and its scenarios run through them."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tcuq_benchmark.experiments.odin import OdinNetwork, odin_network
from tcuq_benchmark.networks.zoo import TrainedNetwork, is_trained, load_network
from tcuq_benchmark.scenario_run import ScenarioRun, run_networks
from tcuq_benchmark.scenarios.scenario import Kind, Name
from tcuq_benchmark.scenarios.tasks import make_scenario

SEEDS = (0, 1, 2)
CONFIRMATION_SEEDS = (0, 1, 2, 3, 4)
MEMBERS = 5
CIFAR_MEMBERS = 2  # one takes ten minutes to train, longer than the five of any other task
AnyNetwork = TrainedNetwork | OdinNetwork


def ensemble_size(task: str) -> int:
    """Return how many networks the deep ensemble has."""
    return CIFAR_MEMBERS if task == "cifar10" else MEMBERS


@lru_cache(maxsize=64)
def load_variant(task: str, variant: str, seed: int) -> AnyNetwork:
    """Return a trained network, loaded once."""
    if variant == "odin":
        return odin_network(load_network(task, "base", seed))
    return load_network(task, variant, seed)


def trained_seeds(task: str) -> tuple[int, ...]:
    """Return the seeds whose base network is trained; at least the first must be."""
    load_variant(task, "base", 0)
    seeds = CONFIRMATION_SEEDS if task == "tinyimagenet" else SEEDS
    return tuple(seed for seed in seeds if is_trained(task, "base", seed))


def load_variants(task: str, variants: Iterable[str], seed: int) -> dict[str, AnyNetwork]:
    """Return networks by the names that scores use; "members" are the deep ensemble."""
    networks: dict[str, AnyNetwork] = {}
    for variant in variants:
        if variant == "members":
            size = ensemble_size(task)
            networks |= {f"member{i}": load_variant(task, "base", i) for i in range(size)}
        else:
            networks[variant] = load_variant(task, variant, seed)
    return networks


def run_scenario(
    task: str, name: Name, kind: Kind, seed: int, variants: Iterable[str] = ("base",)
) -> ScenarioRun:
    """Run a scenario through the networks of a seed."""
    return run_networks(make_scenario(task, name, kind, seed), load_variants(task, variants, seed))


def run_scenarios(
    task: str, names: Iterable[Name], kind: Kind, seed: int, variants: Sequence[str] = ("base",)
) -> list[ScenarioRun]:
    """Run several scenarios through the same networks."""
    return [run_scenario(task, name, kind, seed, variants) for name in names]
