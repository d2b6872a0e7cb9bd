# SPDX-License-Identifier: Apache-2.0
"""The gallery: every script runs, in time, and shows what its page says."""

import re
from collections.abc import Callable

import pytest

from tools.site.gallery import GALLERY, SCRIPTS, index, page, run

CPU_SECONDS = 60
PNG = b"\x89PNG\r\n"
NUMBER = re.compile(r"\d+(?:,\d{3})*")
# What each page claims, of the numbers that its script prints, in order.
CLAIMS: dict[str, Callable[[list[int]], bool]] = {
    "scikit_learn": lambda n: n[4] < n[1] / 2 and n[5] > n[3] + 20 and n[6] < 500,
    "pytorch_tap": lambda n: n[4] > n[1] and n[5] < n[2],
    "keras_litert": lambda n: n[4] < n[1] / 4 and n[5] >= n[3] and n[6] == 0,
    "wake_word": lambda n: n[0] >= 6 and n[2] == 0 and n[4] <= 20,
    "sensor_faults": lambda n: n[-1] == 0 and all(seconds < 300 for seconds in n[1::2]),
    "drifting_fleet": lambda n: n[1] == 0 and n[9] >= 18 and n[11] <= 2,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_shows_what_its_page_says(name: str) -> None:
    """It prints the page's words, its numbers hold the page's claim, and it draws a figure."""
    result = run(name)
    committed = (GALLERY / f"{name}.md").read_text("utf-8")
    shown = committed.partition("```text\n")[2].partition("\n```")[0]
    assert committed == page(name, shown), "run: make gallery"
    assert words(result.output) == words(shown), "run: make gallery"
    for text in (result.output, shown):
        numbers = [int(number.replace(",", "")) for number in NUMBER.findall(text)]
        assert CLAIMS[name](numbers), text
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
