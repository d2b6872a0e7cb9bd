# SPDX-License-Identifier: Apache-2.0
"""Result files: rows with the command, versions, networks and data that produced them."""

import json
import math
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from results.result import ROOT, json_text, origin
from tcuq_benchmark.data.identity import data_sha256

RESULTS = ROOT / "benchmark/results"
LIBRARIES = ("scipy", "scikit-learn", "torch")
DATA = {
    "mnist": ("mnist", "fashion_mnist"),
    "fashion_mnist": ("fashion_mnist", "mnist"),
    "hapt": ("hapt", "watch"),
    "cifar10": ("cifar10", "tinyimagenet", "frost"),
    "speech": ("audiomnist", "speech_commands"),
    "gas": ("gas_drift",),
    "watch": ("watch", "hapt"),
    "digits": ("digits",),
    "tinyimagenet": ("tinyimagenet_50", "tinyimagenet", "frost"),
}
ExperimentRow = dict[str, Any]


def write_result(
    name: str,
    task: str,
    rows: Sequence[ExperimentRow],
    *,
    begun: float,
    networks: Mapping[str, str],
) -> Path:
    """Write the rows of an experiment on a task; numbers have four decimals."""
    document = {
        **origin(f"python -m tcuq_benchmark.experiments {name} {task}", LIBRARIES),
        "code": _code(),
        "data_sha256": {source: data_sha256(source) for source in DATA[task]},
        "networks_sha256": dict(sorted(networks.items())),
        "wall_seconds": round(time.monotonic() - begun),
        "rows": [_rounded(row) for row in rows],
    }
    path = RESULTS / f"{name}-{task}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(_one_row_per_line(document), "utf-8")
    return path


def read_result(name: str, task: str) -> dict[str, Any]:
    """Read a committed result."""
    path = RESULTS / f"{name}-{task}.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.name} not found: run  python -m tcuq_benchmark.experiments {name} {task}"
        )
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def kept_rows(name: str, task: str) -> list[ExperimentRow]:
    """Return the rows of a committed result, each with the commit that ran it."""
    document = read_result(name, task)
    return [{"run by": document["code"], **row} for row in document["rows"]]


def _code() -> str:
    """Return the commit that ran, with a plus if code has uncommitted changes."""
    head = _git("rev-parse", "--short", "HEAD").stdout.strip()
    changed = _git("diff", "--quiet", "HEAD", "--", "*.py", "*.c", "*.h").returncode
    return f"{head}+" if changed else head


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def _one_row_per_line(document: dict[str, Any]) -> str:
    """Return JSON with every row on its own line, so that diffs are readable."""
    head = {name: value for name, value in document.items() if name != "rows"}
    lines = [json.dumps(row, ensure_ascii=False) for row in document["rows"]]
    opening = json_text(head).removesuffix("\n}\n")
    return opening + ',\n "rows": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"


def _rounded(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 4)
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    return value
