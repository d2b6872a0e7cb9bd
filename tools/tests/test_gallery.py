# SPDX-License-Identifier: Apache-2.0
"""The gallery: every script runs, in time, and shows what its page says."""

import json
import re
import subprocess
import sys

import pytest

from tools.site.gallery import GALLERY, LINK, NOTEBOOKS, SCRIPTS, index, notebook, page, run

CPU_SECONDS = 60
PNG = b"\x89PNG\r\n"
# Runs a script up to its check, without the imports before it.
NEEDS_DATA = """
import os, sys
text = open(sys.argv[1], encoding="utf-8").read()
begin = text.index('if "TCUQ_DATA" not in')
exec(text[begin : text.index(" = Path", begin)].rpartition("\\n")[0])
"""
NUMBER = re.compile(r"\d+(?:,\d{3})*")


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_shows_what_its_page_says(name: str) -> None:
    """It asserts its own claim, prints the page's words, and draws a figure in time."""
    result = run(name)
    committed = (GALLERY / f"{name}.md").read_text("utf-8")
    printed = committed.partition("```text\n")[2].partition("\n```")[0]
    assert committed == page(name, printed), "run: make gallery"
    assert words(result.output) == words(printed), "run: make gallery"
    assert "\nassert " in committed
    assert result.figure.startswith(PNG)
    assert (GALLERY / f"{name}.png").read_bytes().startswith(PNG)
    assert result.cpu_seconds < CPU_SECONDS


def words(output: str) -> list[str]:
    """Return the lines without their numbers."""
    return [re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip() for line in output.splitlines()]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_the_script_without_outputs(name: str) -> None:
    """It is current; the test above runs its cells."""
    assert (GALLERY / f"{name}.ipynb").read_text("utf-8") == notebook(name), "run: make gallery"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_explains_itself(name: str) -> None:
    """Its first code installs what it needs; each later cell has a heading; no link needs files."""
    text, install, *rest = json.loads(notebook(name))["cells"]
    assert install["source"][0].startswith("%pip install ")
    assert [cell["cell_type"] for cell in rest] == ["markdown", "code"] * (len(rest) // 2)
    headings = [cell["source"][0] for cell in rest[::2]]
    assert all(heading.startswith(f"## {n}. ") for n, heading in enumerate(headings, 1))
    for cell in (text, *rest[::2]):
        assert not LINK.search("".join(cell["source"]))


def test_only_the_notebooks_of_the_list_are_kept() -> None:
    """No notebook stays behind that no test runs."""
    assert {path.stem for path in GALLERY.glob("*.ipynb")} == set(NOTEBOOKS)


def test_a_script_says_that_it_needs_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TCUQ_DATA it ends with one line, not with a KeyError."""
    for path in GALLERY.glob("*.py"):
        if "TCUQ_DATA" in path.read_text("utf-8"):
            monkeypatch.delenv("TCUQ_DATA", raising=False)
            done = subprocess.run(
                [sys.executable, "-c", NEEDS_DATA, path],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.stderr.startswith("set TCUQ_DATA to the folder"), (path.name, done.stderr)


def test_index_shows_every_script() -> None:
    """The first page is current, and every script in the folder is on it."""
    assert (GALLERY / "index.md").read_text("utf-8") == index(), "run: make gallery"
    assert {path.stem for path in GALLERY.glob("*.py")} == set(SCRIPTS)
