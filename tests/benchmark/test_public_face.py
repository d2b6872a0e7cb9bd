# SPDX-License-Identifier: Apache-2.0
import ast
from pathlib import Path

import pytest

import tcuq
import tcuq.evaluate
import tcuq.evaluate.measures
import tcuq.train
import tcuq.train.exits
from tcuq import _charts

ROOT = Path(__file__).parents[2]
FACES = {
    "tcuq": tcuq,
    "tcuq._charts": _charts,  # draws the pages; no part of what is measured
    "tcuq.evaluate": tcuq.evaluate,
    "tcuq.evaluate.measures": tcuq.evaluate.measures,
    "tcuq.train": tcuq.train,
    "tcuq.train.exits": tcuq.train.exits,
}
SOURCES = sorted((ROOT / "benchmark").rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_benchmark_imports_only_the_public_interface(path: Path) -> None:
    """Of tcuq nothing is imported but names in the `__all__` of its public modules."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("tcuq.") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tcuq":
            assert node.module in FACES
            assert {alias.name for alias in node.names} <= set(FACES[node.module].__all__)
