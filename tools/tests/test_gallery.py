# SPDX-License-Identifier: Apache-2.0
"""The gallery: every script runs, in time, and shows what its page says."""

import re

import pytest

from tools.site.gallery import GALLERY, SCRIPTS, index, page, run

CPU_SECONDS = 60
PNG = b"\x89PNG\r\n"
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


def test_index_shows_every_script() -> None:
    """The first page is current, and every script in the folder is on it."""
    assert (GALLERY / "index.md").read_text("utf-8") == index(), "run: make gallery"
    assert {path.stem for path in GALLERY.glob("*.py")} == set(SCRIPTS)
