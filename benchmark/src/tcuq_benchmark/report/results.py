# SPDX-License-Identifier: Apache-2.0
"""The committed results, looked up by task, score, kind of stream and measure; and their format."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tcuq_benchmark.experiments.result import RESULTS, ExperimentRow, read_result
from tcuq_benchmark.scenarios.scenario import Kind

TASKS = ("mnist", "fashion_mnist", "hapt", "cifar10", "speech", "gas", "watch")
TITLES = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion",
    "hapt": "HAPT",
    "cifar10": "CIFAR-10",
    "speech": "speech",
    "gas": "gas",
    "watch": "watch",
    "tinyimagenet": "TinyImageNet",  # the confirmation, which is in no mean over sets
}
# Sets whose test samples were used to choose the default's terms; see decision 0018.
SELECTION_SETS = frozenset({"mnist", "fashion_mnist", "hapt"})


@cache
def rows(experiment: str, task: str) -> list[ExperimentRow]:
    """Return the rows of a result; an empty list if it was not run."""
    if not (RESULTS / f"{experiment}-{task}.json").is_file():
        return []
    committed: list[ExperimentRow] = read_result(experiment, task)["rows"]
    return committed


def by_seed(experiment: str, task: str, measure: str, **where: Any) -> dict[int, float]:  # noqa: ANN401 - JSON's values
    """Return a measure of the matching rows, by seed; `a/b` is key b of the nested object a."""
    by_seed = {}
    for row in rows(experiment, task):
        if all(row.get(name) == value for name, value in where.items()):
            value: Any = row
            for name in measure.split("/", 1) if measure not in row else [measure]:
                value = value.get(name) if value is not None else None
            if value is not None:
                by_seed[int(row["seed"])] = float(value)
    return by_seed


def by_condition(
    experiment: str,
    task: str,
    measure: str,
    **where: Any,  # noqa: ANN401 - as above
) -> dict[tuple[int, str], float]:
    """Return a measure by seed and condition; without conditions there is one, "all"."""
    results = {}
    for row in rows(experiment, task):
        if all(row.get(name) == value for name, value in where.items()):
            split: dict[str, float | None] = row.get(f"{measure} by condition") or {}
            for name, value in split.items():
                if value is not None:
                    results[int(row["seed"]), name] = value
    whole = by_seed(experiment, task, measure, **where)
    return results or {(seed, "all"): value for seed, value in whole.items()}


def values(experiment: str, task: str, measure: str, **where: Any) -> list[float]:  # noqa: ANN401 - as above
    """Return a measure of the matching rows as a list."""
    return list(by_seed(experiment, task, measure, **where).values())


def probability_kind(task: str) -> str:
    """Return the kind of stream whose probabilities are shown: i.i.d. if it was run."""
    return "iid" if any(row["kind"] == "iid" for row in rows("detection", task)) else "coherent"


@cache
def text(name: str) -> str:
    """Return a paragraph of the pages' prose."""
    paragraphs = tomllib.loads(Path(__file__).with_name("text.toml").read_text("utf-8"))
    return str(paragraphs[name])


def mean(numbers: Sequence[float]) -> float:
    """Return the mean; NaN of an empty sequence."""
    return float(np.mean(numbers)) if numbers else float("nan")


def detection_mean(task: str, score: str, measure: str, kind: Kind = "coherent") -> float:
    """Return a score's mean over networks and streams in the detection experiment."""
    return mean(values("detection", task, measure, score=score, kind=kind))


def mean_and_spread(numbers: Sequence[float], digits: int = 3) -> str:
    """Return the mean ± standard deviation over the seeds without leading zeros, or a dash."""
    if not numbers:
        return "–"
    spread = f" ± {np.std(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return re.sub(r"\b0\.", ".", f"{np.mean(numbers):.{digits}f}{spread}")


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)]) + "\n"


def folded(title: str, head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Return a table that a click on its title unfolds, in Git hosts and site builders."""
    opened = f'<details markdown="1"><summary>{title}: {len(body)} rows</summary>'
    return f"{opened}\n\n{table(head, body)}\n</details>\n"


def command(experiment: str) -> str:
    """Return the command that produced an experiment's committed results."""
    tasks = " ".join(task for task in TASKS if rows(experiment, task))
    return f"`python -m tcuq_benchmark.experiments {experiment} {tasks}`\n"
