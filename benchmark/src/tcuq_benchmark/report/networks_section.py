# SPDX-License-Identifier: Apache-2.0
"""The results page's section on the networks: what was trained, for how long, how accurate."""

from collections import defaultdict

from tcuq_benchmark.networks import committed
from tcuq_benchmark.networks.weights import Metadata
from tcuq_benchmark.report.results import TASKS, TITLES, folded, mean_and_spread, text


def networks_section() -> list[str]:
    """Return the text and one row per set and variant, from the index of the weights."""
    groups: dict[tuple[str, str], dict[int, Metadata]] = defaultdict(dict)
    for name, metadata in committed.read_index().items():
        network, _, seed = name.rpartition("-")
        task, _, variant = network.partition("-")
        groups[task, variant][int(seed)] = metadata
    body = [
        [TITLES[task], variant, *_cells(by_seed)]
        for task in TASKS
        for (of_task, variant), by_seed in sorted(groups.items())
        if of_task == task
    ]
    head = ["set", "network", "epochs", "starts from", "seeds", "test accuracy"]
    return [text("networks"), folded("By set", head, body)]


def _cells(by_seed: dict[int, Metadata]) -> list[str]:
    first, seeds = next(iter(by_seed.values())), sorted(by_seed)
    accuracies = [by_seed[seed]["test_accuracy"] for seed in seeds]
    start = f"{first['start']} of its seed" if first["start"] else "fresh weights"
    listed = ", ".join(map(str, seeds))
    return [str(first["epochs"]), start, listed, mean_and_spread(accuracies)]
