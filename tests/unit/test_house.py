# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that no linter knows."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tcuq

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in (
        "src",
        "tests",
        "measurements",
        "firmware",
        "attack",
        "proof",
        "examples",
        "benchmark",
    )
    for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_source_file_names_its_licence(path: Path) -> None:
    """The first line is the SPDX line."""
    assert path.read_text("utf-8").startswith("# SPDX-License-Identifier: Apache-2.0\n")


def test_public_face_is_exact() -> None:
    """Everything in __all__ is there, once, and nothing else shows."""
    assert len(set(tcuq.__all__)) == len(tcuq.__all__)
    for name in tcuq.__all__:
        assert getattr(tcuq, name) is not None
    assert set(dir(tcuq)) == set(tcuq.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tcuq.nothing


def test_running_a_profile_imports_numpy_alone() -> None:
    """`import tcuq` brings in no optional library, and neither do the taps before they are used."""
    extras = ("sklearn", "scipy", "pyarrow", "ai_edge_litert", "onnx", "onnxruntime", "torch")
    code = f"import sys, tcuq, tcuq.tap; print([m for m in {extras} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_modules_are_small() -> None:
    """A file past 400 lines is two things."""
    long = {str(p): n for p in SOURCES if (n := len(p.read_text("utf-8").splitlines())) > 400}
    assert not long


def test_engine_is_small() -> None:
    """A C file past 300 lines is two things."""
    folders = ("src/engine", "src/simulator", "src/tcuq/uplink", "attack")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.[ch]")]
    assert files
    assert not {str(p): n for p in files if (n := len(p.read_text("utf-8").splitlines())) > 300}


def test_version_is_said_once() -> None:
    """The changelog's newest release is the library's version."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == tcuq.__version__


def test_streams_in_the_box_fit_in_a_megabyte() -> None:
    """The recorded streams are at most 1 MB in all, attribution beside them."""
    box = ROOT / "src/tcuq/data/hapt"
    assert sum(path.stat().st_size for path in box.iterdir()) <= 1_000_000
    assert "CC BY 4.0" in (box / "README.md").read_text("utf-8")


def test_accuracies_beside_the_streams_are_true() -> None:
    """The table in the streams' README is what the files say."""
    box = ROOT / "src/tcuq/data/hapt"
    table = (box / "README.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\w+)(?:: [^|]*)? \| (\d+) \| (\d+) \| ([^|]*)\| ([^|]*)\|", table, re.MULTILINE
    )
    assert len(rows) == 9
    for name, recordings, steps, clean, faulted in rows:
        with np.load(box / f"{name}.npz") as file:
            labels, shifted = file["labels"], file["shifted"]
            right = file["posteriors"].argmax(axis=1) == labels
            assert (len(file["starts"]), len(labels)) == (int(recordings), int(steps))
        for cell, at in ((clean, ~shifted), (faulted, shifted)):
            known = at & (labels >= 0)
            said = f"{100 * right[known].mean():.1f} % of {known.sum()}" if known.any() else ""
            assert cell.strip() == said, name
