# SPDX-License-Identifier: Apache-2.0
"""What the documents say to type works as it stands."""

import doctest
import importlib
import pkgutil
import re
import shlex
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_stream
from tests.fixtures.pages import ROOT, blocks


@pytest.mark.parametrize("path", ["README.md", "docs/quickstart.md"])
def test_python_in_documents_runs(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a document, in order, as one program."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        for block in blocks(path, "python"):
            exec(compile(block, path, "exec"), names)  # noqa: S102 - our own documents
    assert names


@pytest.mark.parametrize("path", ["README.md", "docs/command-line.md"])
def test_commands_in_documents_run(
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    keyword_files: Callable[[Path], None],
) -> None:
    """Every tcuq command of a document ends with exit code 0, on the streams in the box."""
    keyword_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    for file, name in (("calibration", "calibration"), ("development",) * 2, ("field", "test")):
        demo_stream(name).save(f"{file}.npz")
    commands = [
        shlex.split(line.removeprefix("$ "), comments=True)
        for block in blocks(path, "console")
        for line in block.splitlines()
    ]
    # Those of the fleet go on until they are stopped: tests/fleet/test_up.py types them.
    ours = [words[1:] for words in commands if words[0] == "tcuq" and words[1] != "fleet"]
    assert ours
    for words in ours:
        assert main(words) == 0, words


MODULES = [m.name for m in pkgutil.walk_packages(tcuq.__path__, "tcuq.") if m.name != "tcuq.cli"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str) -> None:
    """Every example of a module gives what it shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        results = doctest.testmod(importlib.import_module(name))
    assert results.failed == 0


def test_promises_name_tests_that_exist() -> None:
    """Every test a document links to is there."""
    for path in ("README.md", "docs/concepts.md"):
        linked = re.findall(r"\]\((?:\.\./)?(tests/[^)]+)\)", (ROOT / path).read_text("utf-8"))
        assert linked
        for name in linked:
            assert (ROOT / name).exists(), name
