# SPDX-License-Identifier: Apache-2.0
"""The how-to on profiles over the air: its example runs, and its figures are correct."""

import re
import shutil
from pathlib import Path

import pytest

import tcuq
from tcuq.demo import demo_profile
from tests.fixtures.firmware.toolchain import HERE, M4, OTA, RUNTIME, UPLINK, run
from tests.fixtures.pages import ROOT, blocks, check_console

PATH = "docs/howto/ota.md"
PAGE = (ROOT / PATH).read_text("utf-8")


def test_the_example_prints_what_the_page_shows(tmp_path: Path, newer: tcuq.Profile) -> None:
    """The example is exported, compiled and run with the output that the page shows."""
    demo_profile().save(tmp_path / "monitor.json")
    newer.save(tmp_path / "newer.json")
    for name in ("hmac_sha256.c", "hmac_sha256.h"):
        shutil.copy(HERE / name, tmp_path)
    (program,) = blocks(PATH, "c")
    (tmp_path / "ota.c").write_text(program, "utf-8")
    check_console(PATH, tmp_path)


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("tcuq_blob", r"loader takes (\d+) bytes"),
        ("tcuq_blob_selftest", r"self-test (\d+) and"),
        ("tcuq_slots", r"and the slots (\d+)\."),
        ("profile", r"profile takes\n(\d+) bytes"),
        ("term", r"and (\d+) for each term"),
        ("slots_state", r"state of the slots (\d+)\."),
    ],
)
def test_the_stated_cost_is_correct(source: str, line: str, tmp_path: Path) -> None:
    """Flash and RAM are the compiler's sizes, and the loader is within its budget."""
    (figure,) = re.findall(line, PAGE)
    path = OTA / f"{source}.c"
    if not path.exists():
        path = tmp_path / "size.c"
        path.write_text(
            f'#include "tcuq_slots.h"\nconst char size[sizeof(tcuq_{source})] = {{1}};\n', "utf-8"
        )
    folders = [f"-I{folder}" for folder in (RUNTIME, UPLINK, OTA)]
    run(
        [f"{M4.prefix}gcc", *M4.flags, "-Os", "-std=c99", "-ffreestanding", *folders, "-c", path],
        cwd=tmp_path,
    )
    row = run([f"{M4.prefix}size", *tmp_path.glob("*.o")]).splitlines()[1].split()
    assert row[:3] == [figure, "0", "0"]
    assert source != "tcuq_blob" or int(figure) <= 900
