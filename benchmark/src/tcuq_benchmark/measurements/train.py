# SPDX-License-Identifier: Apache-2.0
"""Training for users: the length of the documented example, and the benchmark's assisted networks.

The networks are trained again through `tcuq.train` and compared with the published ones by the
SHA-256 of their weights, exits included.
"""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from results.result import ROOT, Row, measure
from tcuq_benchmark.networks import variants, weights, zoo
from tcuq_benchmark.networks.recipes import recipe_of
from tcuq_benchmark.networks.tasks import TASKS
from tcuq_benchmark.networks.training import Training

PAGE = ROOT / "docs/howto/train.md"
FEWER_LINES = 15
REPRODUCED, SHORT = ("mnist", "speech"), ("gas",)
VARIANT, SEED = "assisted", 0


def example_lines() -> int:
    """Count the lines of the first Python example of the page, without blank ones."""
    block = re.search(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return sum(bool(line.strip()) for line in block[1].splitlines()) if block else 0


def published(task: str) -> str:
    """Return the hash of the weights behind the benchmark's results."""
    result = json.loads((ROOT / f"benchmark/results/detection-{task}.json").read_text("utf-8"))
    return str(result["networks_sha256"][f"{VARIANT}-{SEED}"])


def trained(task: str) -> str:
    """Train from scratch through `tcuq.train`, in no cache, and return the hash of the weights."""
    about, recipe = TASKS[task], recipe_of(task, VARIANT)
    network, assisted = variants.assisted(task, VARIANT, SEED)
    samples = about.load()["train"]
    zoo.normalise(network, about, samples)
    if recipe.start:
        basis, _ = zoo.read_weights(task, recipe.start, SEED)
        weights.put_matching(network, basis)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        training = Training(
            about, recipe, network, samples, seed=SEED, path=path, assisted=assisted
        )
        training.run(lambda epoch, loss, _: print(f"{task}: epoch {epoch}, loss {loss:.4f}"))
    return weights.sha256(weights.of(assisted))


def rows(short: bool) -> Iterator[Row]:
    """Yield the example's length and one reproduction per task."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(mode=True)
    lines = example_lines()
    what = "training: lines of the documented example"
    yield Row(what, f"fewer than {FEWER_LINES}", f"{lines}", 0 < lines < FEWER_LINES)
    for task in SHORT if short else REPRODUCED:
        expected, digest = published(task), trained(task)
        yield Row(
            f"{task}, assisted, seed {SEED}, trained through tcuq.train: SHA-256 of the weights",
            f"{expected[:16]}, as published",
            digest[:16],
            digest == expected,
        )


def provenance() -> dict[str, object]:
    """Return the checksums of the data."""
    return {"data_sha256": {TASKS[task].source: TASKS[task].data_sha256 for task in REPRODUCED}}


if __name__ == "__main__":
    measure("train", rows, ["torch"], more=provenance)
