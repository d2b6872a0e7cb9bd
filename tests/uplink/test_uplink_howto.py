# SPDX-License-Identifier: Apache-2.0
"""The how-to on the uplink: its example runs, and its figures are correct."""

import re
from pathlib import Path

import pytest

from tcuq.demo import demo_profile
from tests.fixtures.firmware.toolchain import M4, RUNTIME, UPLINK, run
from tests.fixtures.pages import ROOT, blocks, check_console

PATH = "docs/howto/uplink.md"
PAGE = (ROOT / PATH).read_text("utf-8")


def test_the_example_compiles_and_prints_what_the_page_shows(tmp_path: Path) -> None:
    """The example is exported, compiled and run twice with the output that the page shows."""
    demo_profile().save(tmp_path / "monitor.json")
    (program,) = blocks(PATH, "c")
    (tmp_path / "uplink.c").write_text(program, "utf-8")
    check_console(PATH, tmp_path)


@pytest.mark.parametrize("line", [r"below ([\d,]+) bytes of flash", r"(\d+) bytes of RAM and 97"])
def test_the_stated_cost_is_correct(line: str, tmp_path: Path) -> None:
    """Flash and RAM agree with the compiler's sizes."""
    (figure,) = re.findall(line, PAGE)
    (tmp_path / "state.c").write_text(
        '#include "tcuq_uplink.h"\nconst char state[sizeof(tcuq_uplink_state)] = {1};\n', "utf-8"
    )
    sources = [tmp_path / "state.c"] if "RAM" in line else sorted(UPLINK.glob("*.c"))
    run(
        [f"{M4.prefix}gcc", *M4.flags, "-Os", "-std=c99", "-ffreestanding", f"-I{RUNTIME}",
         f"-I{UPLINK}", "-c", *sources],
        cwd=tmp_path,
    )  # fmt: skip
    table = run([f"{M4.prefix}size", *sorted(tmp_path.glob("*.o"))]).splitlines()[1:]
    text, data, bss = (sum(int(row.split()[at]) for row in table) for at in range(3))
    assert data == bss == 0
    assert (text == int(figure)) if "RAM" in line else (text < int(figure.replace(",", "")))
