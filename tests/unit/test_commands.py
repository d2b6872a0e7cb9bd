# SPDX-License-Identifier: Apache-2.0
"""Commands that results, documents and the Makefile name."""

import json
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = sorted((ROOT / "results").glob("*.json"))
DOCUMENTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "tools/**/*.md", "benchmark/**/*.md", "Makefile")
    for path in sorted(ROOT.glob(pattern))
]
MODULE = re.compile(r"(?:\bpython3? -m|\$\(RUN\)) ([\w.]+)")
TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)


def commands() -> dict[str, str]:
    """Every module that a result or a document runs by `python -m`, and one place that does."""
    texts = {path: json.loads(path.read_text("utf-8"))["command"] for path in RESULTS}
    texts |= {path: path.read_text("utf-8") for path in DOCUMENTS}
    return {
        module.rstrip("."): str(path.relative_to(ROOT))
        for path, text in texts.items()
        for module in MODULE.findall(text)
    }


@pytest.mark.parametrize(("module", "place"), sorted(commands().items()))
def test_a_command_names_a_module_that_exists(module: str, place: str) -> None:
    """`python -m MODULE` finds the module, and its `__main__` if it is a package."""
    spec = find_spec(module)
    assert spec is not None, f"{place} runs {module}, which does not exist"
    if spec.submodule_search_locations is not None:
        assert find_spec(f"{module}.__main__") is not None, f"{place} runs {module}"


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_result_names_its_command(path: Path) -> None:
    """The command in a result runs a module."""
    assert MODULE.match(json.loads(path.read_text("utf-8"))["command"])


def test_make_help_lists_every_target() -> None:
    """`make` alone prints each target in the Makefile's order, with a sentence on it."""
    targets = TARGET.findall((ROOT / "Makefile").read_text("utf-8"))
    printed = subprocess.check_output(["make", "--no-print-directory"], cwd=ROOT, text=True)
    assert [line.split()[0] for line in printed.splitlines()] == targets
    assert all(len(line.split()) > 2 for line in printed.splitlines())


def test_no_target_is_a_file() -> None:
    """Every target of the Makefile is phony: a folder of its name does not hide it."""
    text = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    (phony,) = re.findall(r"^\.PHONY: (.*)", text, re.MULTILINE)
    assert phony.split() == TARGET.findall(text)
