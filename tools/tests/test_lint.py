# SPDX-License-Identifier: Apache-2.0
"""Every rule of `tools.lint` detects what it is there for."""

import ast
from pathlib import Path

import pytest

from tools.lint import commands, conventions, documents, words
from tools.lint.files import ROOT, tracked


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
    """Every form of it."""
    assert conventions.path_edits(ast.parse(statement)) == [statement]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("src/a.py", "import os\n", "first line"),
        ("tests/a.py", f"{conventions.LICENCE}from tools.lint import files\n", "only tools import"),
        ("fleet/a.py", f"{conventions.LICENCE}import tools.lint\n", "only tools import"),
    ],
)
def test_a_python_file_that_breaks_a_convention_is_named(
    name: str, text: str, problem: str
) -> None:
    """Licence line, and products without tools."""
    (message,) = conventions.in_python(name, text)
    assert message.startswith(name)
    assert problem in message


def test_long_files_and_traces_of_a_merge_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file past 400 lines is two things; a conflict marker is never meant."""
    monkeypatch.setattr(conventions, "name_of", lambda path: path.name)
    long, merged = tmp_path / "long.js", tmp_path / "merged.md"
    long.write_text("//\n" * 401, "utf-8")
    merged.write_text("<<<<<<< HEAD\n", "utf-8")
    problems = list(conventions.violations([long, merged]))
    assert [problem.partition(":")[0] for problem in problems] == ["long.js", "merged.md"]


def test_phrases_and_participles_are_named_with_their_line() -> None:
    """Also where a line is not the first."""
    assert list(words.phrases("a.md", "fine\na stranger's profile\n")) == [
        "a.md:2: 'stranger': write 'untrusted'"
    ]
    (message,) = words.participles("a.py", "x = 1\n_found = 2\n")
    assert message.startswith("a.py:2: '_found'")


@pytest.mark.parametrize(
    ("function", "problems"),
    [
        ('def f():\n    """The sum."""', 1),
        ('def f():\n    """Return the sum."""', 0),
        ('@property\ndef f():\n    """The sum."""', 0),
        ('def test_f():\n    """The sum is positive."""', 0),
    ],
)
def test_a_docstring_that_is_no_imperative_sentence_is_named(function: str, problems: int) -> None:
    """A function's says what it does; a property's names a thing, a test's states a rule."""
    assert len(list(words.docstrings("tools/a.py", function))) == problems


def test_commands_that_do_not_exist_are_named() -> None:
    """A module without a file, and a target without a sentence."""
    text = "`python -m tools.nothing` and `python -m tools.lint`"
    assert list(commands.missing_modules("a.md", text)) == [
        "a.md: runs tools.nothing, which does not exist"
    ]
    (message,) = commands.unexplained("Makefile", "lint: ## Check\ntypes:\n")
    assert "'types'" in message


def test_broken_links_and_undocumented_parameters_are_named() -> None:
    """A link to no file; a C function whose comment leaves out a parameter."""
    (message,) = documents.broken_links(ROOT / "README.md", "[a](nothing.md) [b](LICENSE)")
    assert "nothing.md" in message
    header = "/* Takes `one`. */\nint tcuq_f(int one, int two);\n"
    assert list(documents.undocumented("ota/a.h", header)) == [
        "ota/a.h: the comment of tcuq_f must name two"
    ]


def test_a_document_says_a_records_own_size() -> None:
    """A record of a former version's size is named, today's are not."""
    text = "one [97-byte record](a.md); a record is 106 bytes; one 87-byte record per hour"
    assert list(documents.other_records(ROOT / "README.md", text)) == [
        "README.md: a record has 97 or 106 bytes, not 87"
    ]


def test_a_document_names_extras_that_exist() -> None:
    """What pip would pass over with a warning is named."""
    text = "pip install 'tcuq[fit,replay]' 'tcuq[parquet]'"
    assert list(documents.unknown_extras(ROOT / "README.md", text)) == [
        "README.md: tcuq has no extra 'replay'"
    ]


def test_the_rules_read_every_kind_of_file() -> None:
    """The list of files holds sources and documents of all three products."""
    names = {path.relative_to(ROOT).as_posix() for path in tracked()}
    assert {"README.md", "src/tcuq/monitor.py", "fleet/pyproject.toml"} <= names
    assert documents.exported(ROOT / "src/tcuq/__init__.py") >= {"fit", "Monitor"}
