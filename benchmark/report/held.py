# SPDX-License-Identifier: Apache-2.0
"""The committed results, looked up by task, score, kind of stream and measure."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmark.experiments.result import RESULTS, Row, read
from benchmark.scenes.scene import Kind

TASKS = ("mnist", "fashion_mnist", "hapt", "cifar10", "speech", "gas", "watch")
TITLES = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion",
    "hapt": "HAPT",
    "cifar10": "CIFAR-10",
    "speech": "speech",
    "gas": "gas",
    "watch": "watch",
}


@cache
def rows(experiment: str, task: str) -> list[Row]:
    """The rows of a result; none where it was not run."""
    if not (RESULTS / f"{experiment}-{task}.json").is_file():
        return []
    held: list[Row] = read(experiment, task)["rows"]
    return held


def by_seed(experiment: str, task: str, measure: str, **where: Any) -> dict[int, float]:  # noqa: ANN401 - JSON's values
    """A measure of the rows that match, by seed; `a/b` looks into a table."""
    found = {}
    for row in rows(experiment, task):
        if all(row.get(name) == value for name, value in where.items()):
            held: Any = row
            for name in measure.split("/", 1) if measure not in row else [measure]:
                held = held.get(name) if held is not None else None
            if held is not None:
                found[int(row["seed"])] = float(held)
    return found


def values(experiment: str, task: str, measure: str, **where: Any) -> list[float]:  # noqa: ANN401 - as above
    """The same as a list."""
    return list(by_seed(experiment, task, measure, **where).values())


def calm_kind(task: str) -> str:
    """The kind of stream whose in-distribution figures are shown: shuffled where that was run."""
    return "iid" if any(row["kind"] == "iid" for row in rows("detection", task)) else "coherent"


def mean(numbers: Sequence[float]) -> float:
    """NaN where there is none."""
    return float(np.mean(numbers)) if numbers else float("nan")


def detected(task: str, score: str, measure: str, kind: Kind = "coherent") -> float:
    """A score's mean over its networks and streams."""
    return mean(values("detection", task, measure, score=score, kind=kind))


def shown(numbers: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard deviation over the seeds, or a dash."""
    if not numbers:
        return "–"
    spread = f" ± {np.std(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.{digits}f}{spread}".replace("0.", ".")


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)]) + "\n"
