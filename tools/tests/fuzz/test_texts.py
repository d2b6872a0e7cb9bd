# SPDX-License-Identifier: Apache-2.0
"""A text for every status, also for numbers that are none."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.fixtures.firmware.toolchain import RUNTIME
from tests.fixtures.statuses import NUMBERS

NONE = (min(NUMBERS.values()) - 1, max(NUMBERS.values()) + 1, 2**31 - 1, -(2**31))
PROGRAM = """
#include <stdio.h>
#include "tcuq.h"
int main(void) {
    const long long statuses[] = {NUMBERS};
    for (unsigned i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        puts(tcuq_strerror((tcuq_status)statuses[i]));
    return 0;
}
"""


def texts(folder: Path, numbers: Sequence[int], *options: str) -> list[str]:
    """Return what a build says of these numbers; reading behind the last text ends it."""
    program = PROGRAM.replace("NUMBERS", ", ".join(map(str, numbers)))
    (folder / "texts.c").write_text(program, "utf-8")
    subprocess.run(
        ["gcc", "-fsanitize=address,undefined", f"-I{RUNTIME}", *options, "-o", "texts", "texts.c",
         *map(str, sorted(RUNTIME.glob("tcuq*.c")))],
        cwd=folder, check=True,
    )  # fmt: skip
    printed = subprocess.run(["./texts"], cwd=folder, capture_output=True, text=True, check=True)
    return printed.stdout.splitlines()


def test_every_status_has_a_text_of_its_own(tmp_path: Path) -> None:
    """With uplink or profiles over the air: no two alike; numbers that are none are unknown."""
    for option in ("-DTCUQ_WITH_UPLINK=1", "-DTCUQ_WITH_OTA=1"):
        lines = texts(tmp_path, [*NUMBERS.values(), *NONE], option)
        assert len(set(lines)) == len(NUMBERS) + 1
        assert lines[len(NUMBERS) :] == ["unknown"] * len(NONE)
        by_name = dict(zip(NUMBERS, lines, strict=False))
        assert by_name["OK"] == "done"
        assert by_name["VERSION"] == "snapshot of another version"
        assert by_name["BUSY"] == "no answer yet"
        assert by_name["OLDER"] == "older snapshot"


def test_a_build_without_a_part_holds_no_texts_of_it(tmp_path: Path) -> None:
    """The monitor alone explains what it returns itself; the rest costs no flash."""
    known = {name: n for name, n in NUMBERS.items() if NUMBERS["VERSION"] <= n <= 0}
    lines = texts(tmp_path, [*known.values(), NUMBERS["CONFIG"], NUMBERS["NEW_BOOT"]])
    assert len(set(lines)) == len(known) + 1
    assert lines[-2:] == ["unknown", "unknown"]
