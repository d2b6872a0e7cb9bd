# SPDX-License-Identifier: Apache-2.0
"""What the documents say to type works as it stands."""

import shlex
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_stream
from tcuq.errors import CalibrationWarning
from tests.fixtures.docstrings import failed_examples
from tests.fixtures.pages import blocks


@pytest.mark.parametrize("path", ["README.md", "docs/quickstart.md"])
def test_python_in_documents_runs(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a document, in order, as one program."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
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
    # Those of the fleet go on until they are stopped: fleet/tests/test_up.py types them.
    ours = [words[1:] for words in commands if words[0] == "tcuq" and words[1] != "fleet"]
    assert ours
    for words in ours:
        assert main(words) == 0, words


def test_examples_in_docstrings_run() -> None:
    """Every example of every module gives what it shows."""
    assert failed_examples(tcuq) == {}
