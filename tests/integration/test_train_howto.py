# SPDX-License-Identifier: Apache-2.0
"""The page on training: its Python runs, and its table is that of the benchmark's results."""

import json
import re
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import tcuq

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/train.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TASKS = {
    "MNIST": "mnist", "Fashion-MNIST": "fashion_mnist", "speech": "speech", "HAPT": "hapt",
    "gas": "gas", "watch": "watch",
}  # fmt: skip


class Yours(nn.Module):
    """A small residual network over images."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
        self.layer1, self.layer2 = nn.Conv2d(8, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 2, 1)
        self.fc = nn.Linear(16, 3)

    def forward(self, images: Tensor) -> Tensor:
        """Return logits."""
        maps = self.stem(images)
        maps = (maps + self.layer1(maps)).relu()
        logits: Tensor = self.fc(self.layer2(maps).relu().mean(dim=(2, 3)))
        return logits


def test_the_page_trains_strips_and_records() -> None:
    """In fewer than 15 lines the user's network learns, and its scaled stream can be fitted."""
    torch.manual_seed(0)
    labels = torch.arange(384) % 3
    images = torch.randn(384, 1, 12, 12) + labels.view(-1, 1, 1, 1) / 2
    data = TensorDataset(images, labels)
    names: dict[str, Any] = {
        "network": Yours(),
        "train_loader": DataLoader(data, 32, shuffle=True),
        "calibration_loader": DataLoader(data, 64),
    }
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) < 15
    for block in BLOCKS:
        exec(compile(block, "train.md", "exec"), names)  # noqa: S102 - our own document
    stream, scaled = names["stream"], names["scaled"]
    assert (stream.posteriors.argmax(axis=1) == stream.labels).mean() > 0.8
    assert isinstance(scaled, tcuq.Stream)
    assert (scaled.classes, scaled.width, scaled.labelled) == (3, 16, 1.0)
    assert scaled.posteriors[0, 0] == pytest.approx(stream.posteriors[0, 0] / names["temperature"])


def figure(rows: list[dict[str, Any]], score: str, kind: str) -> str:
    """Return the mean NLL on shuffled, or the drop AUPRC on coherent streams, as on the page."""
    chosen = [row for row in rows if (row["score"], row["kind"]) == (score, kind)]
    values = [r["probabilities"]["NLL"] if kind == "iid" else r["drop AUPRC"] for r in chosen]
    return f"{mean(values):.3f}".removeprefix("0")


@pytest.mark.parametrize("title", TASKS)
def test_the_table_is_that_of_the_benchmark(title: str) -> None:
    """Each figure is the mean over seeds of the committed results."""
    results = ROOT / f"benchmark/results/detection-{TASKS[title]}.json"
    rows = json.loads(results.read_text("utf-8"))["rows"]
    figures = [
        *(figure(rows, score, "iid") for score in ("max_prob", "temperature", "tcuq assisted")),
        *(figure(rows, score, "coherent") for score in ("tcuq", "tcuq assisted")),
    ]
    assert f"| {title} | {' | '.join(figures)} |" in PAGE
