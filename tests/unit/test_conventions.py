# SPDX-License-Identifier: Apache-2.0
"""Conventions of the code that no linter checks."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tcuq

ROOT = Path(__file__).parents[2]
TRACKED = [
    path
    for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    if (path := ROOT / name).is_file()
]
PYTHON = [path for path in TRACKED if path.suffix == ".py"]
LONGEST = 400
SOURCE_SUFFIXES = (".py", ".c", ".h", ".js", ".css", ".html")
GENERATED = ("examples/keyword-spotting/weights.h",)
TABLE_HEAD = "| layer (imports point down) | modules |\n|---|---|\n"
PATH_EDITS = ("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort")


def name_of(path: Path) -> str:
    """The path as the repository names it."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", PYTHON, ids=name_of)
def test_every_source_file_names_its_licence(path: Path) -> None:
    """The first line is the SPDX line."""
    assert path.read_text("utf-8").startswith("# SPDX-License-Identifier: Apache-2.0\n")


def edits_of(tree: ast.AST) -> list[str]:
    """Statements of a module that change where Python looks for modules."""
    edits = []
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(name.name == "runpy" for name in names):
                edits.append(ast.unparse(node))
            case ast.ImportFrom(module="runpy"):
                edits.append(ast.unparse(node))
            case ast.Call(func=ast.Attribute(value=target, attr=attr)) if attr in PATH_EDITS:
                edits += [ast.unparse(node)] if ast.unparse(target) == "sys.path" else []
            case ast.Assign(targets=[target, *_]) | ast.AugAssign(target=target):
                edits += [ast.unparse(node)] if ast.unparse(target)[:8] == "sys.path" else []
    return edits


def test_no_module_edits_the_import_path() -> None:
    """Imports are absolute and need no change of sys.path and no runpy."""
    edits = {
        name_of(path): matches
        for path in PYTHON
        if (matches := edits_of(ast.parse(path.read_text("utf-8"))))
    }
    assert not edits


@pytest.mark.parametrize(
    "statement",
    [
        "import os, runpy",
        "from runpy import run_path",
        "sys.path.insert(0, here)",
        "sys.path[0:0] = [here]",
        "sys.path += [here]",
    ],
)
def test_edits_of_the_import_path_are_detected(statement: str) -> None:
    """The check above detects every form that this repository once had."""
    assert edits_of(ast.parse(statement)) == [statement]


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
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_source_files_are_short() -> None:
    """No source file that a person wrote is longer than 400 lines."""
    lengths = {
        name_of(path): len(path.read_text("utf-8").splitlines())
        for path in TRACKED
        if path.suffix in SOURCE_SUFFIXES and name_of(path) not in GENERATED
    }
    assert not {name: length for name, length in lengths.items() if length > LONGEST}


def test_engine_is_small() -> None:
    """A C file past 300 lines is two things."""
    folders = ("src/engine", "src/simulator", "src/tcuq/uplink", "src/tcuq/ota", "tools/fuzz")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.[ch]")]
    assert files
    assert not {str(p): n for p in files if (n := len(p.read_text("utf-8").splitlines())) > 300}


def rows_of_layers() -> list[tuple[str, list[str]]]:
    """Rows of ARCHITECTURE.md's table of layers: title, and every name in backticks."""
    table = (ROOT / "ARCHITECTURE.md").read_text("utf-8").partition(TABLE_HEAD)[2]
    lines = table.partition("\n\n")[0].splitlines()
    assert lines, f"ARCHITECTURE.md must have a table that begins with {TABLE_HEAD!r}"
    cells = [line.strip("| ").split(" | ", 1) for line in lines]
    return [(title, re.findall(r"`([^`]+)`", modules)) for title, modules in cells]


def test_table_of_layers_names_every_module() -> None:
    """Every module and package of src/tcuq stands in one row of ARCHITECTURE.md's table."""
    package, rows = ROOT / "src/tcuq", rows_of_layers()
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    modules |= {path.parent.name for path in package.glob("*/__init__.py")}
    titles = {name: [title for title, names in rows if name in names] for name in sorted(modules)}
    problems = [
        f"`{name}` must stand in one row of ARCHITECTURE.md's table, stands in {paths or 'none'}"
        for name, paths in titles.items()
        if len(paths) != 1
    ]
    problems += [
        f"row {title!r} of ARCHITECTURE.md's table names `{name}`, which does not exist"
        for title, names in rows
        for name in names
        if not (ROOT / name).exists()
        and not any((*package.rglob(name), *package.rglob(f"{name}.py")))
    ]
    assert not problems, "\n".join(problems)


def test_table_of_layers_has_the_order_of_imports() -> None:
    """The rows of ARCHITECTURE.md's table follow import-linter's layers, from top to bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one.get("containers") == ["tcuq"])
    layer_of = {name: at for at, layer in enumerate(layers) for name in layer.split(" | ")}
    problems, lowest, above = [], 0, ""
    for title, names in rows_of_layers():
        placed = {name: layer_of[name] for name in names if name in layer_of}
        problems += [
            f"`{name}` of row {title!r} must stand above row {above!r}: pyproject.toml has it in"
            f" layer {layers[layer]!r}, above {layers[lowest]!r}"
            for name, layer in placed.items()
            if layer < lowest
        ]
        if max(placed.values(), default=-1) >= lowest:
            lowest, above = max(placed.values()), title
    assert not problems, "\n".join(problems)


def test_conflict_markers_were_committed() -> None:
    """No tracked text holds a marker of an unfinished merge, as changelog and Makefile once did."""
    marker = re.compile(rb"^(<{7} |>{7} )", re.MULTILINE)
    assert not [name_of(path) for path in TRACKED if marker.search(path.read_bytes())]


def test_changelog_has_the_version() -> None:
    """The changelog's newest release is the library's version."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\]", changelog, re.MULTILINE)
    assert newest is not None
    assert newest[1] == tcuq.__version__


def test_bundled_streams_fit_in_a_megabyte() -> None:
    """The bundled streams are at most 1 MB in all, with their attribution."""
    box = ROOT / "src/tcuq/data/keywords"
    assert sum(path.stat().st_size for path in box.iterdir()) <= 1_000_000
    assert "MIT licence" in (box / "README.md").read_text("utf-8")
    assert "Permission is hereby granted" in (box / "LICENSE-AudioMNIST").read_text("utf-8")


def test_accuracies_beside_the_streams_are_true() -> None:
    """The table in the streams' README matches the files."""
    box = ROOT / "src/tcuq/data/keywords"
    table = (box / "README.md").read_text("utf-8")
    rows = re.findall(
        r"^\| (\w+)(?:: [^|]*)? \| (\d+) \| (\d+) \| ([^|]*)\| ([^|]*)\| ([^|]*)\|",
        table,
        re.MULTILINE,
    )
    assert len(rows) == 10
    with np.load(box / "test.npz") as file:
        right_without = file["posteriors"].argmax(axis=1) == file["labels"]
    for name, recordings, steps, clean, faulted, cost in rows:
        with np.load(box / f"{name}.npz") as file:
            labels, shifted = file["labels"], file["shifted"]
            right = file["posteriors"].argmax(axis=1) == labels
            assert (len(file["starts"]), len(labels)) == (int(recordings), int(steps))
        for cell, at in ((clean, ~shifted), (faulted, shifted)):
            known = at & (labels >= 0)
            expected = f"{100 * right[known].mean():.1f} % of {known.sum()}" if known.any() else ""
            assert cell.strip() == expected, name
        if name.startswith("fault_"):
            lost = right_without[shifted].mean() - right[shifted].mean()
            assert cost.strip() == f"{100 * lost:.1f}", name
