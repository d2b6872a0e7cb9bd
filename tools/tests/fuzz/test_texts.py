# SPDX-License-Identifier: Apache-2.0
"""A text for every status, also for numbers that are none."""

import subprocess
from pathlib import Path

from tests.fixtures.firmware.toolchain import RUNTIME

PROGRAM = """
#include <stdio.h>
#include "tcuq.h"
int main(void) {
    const int statuses[] = {0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, 1, INT32_MAX, INT32_MIN};
    for (unsigned i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        puts(tcuq_strerror((tcuq_status)statuses[i]));
    return 0;
}
"""
TEXTS = (
    "done", "null pointer", "profile of another format", "profile out of range", "part left out",
    "memory not given", "buffer too small", "snapshot damaged", "snapshot of another profile",
    "snapshot of another version", "unknown", "unknown", "unknown", "unknown",
)  # fmt: skip


def test_every_status_has_its_text(tmp_path: Path) -> None:
    """In the order of the statuses, and nothing is read behind the last text."""
    (tmp_path / "texts.c").write_text(PROGRAM, "utf-8")
    subprocess.run(
        ["gcc", "-fsanitize=address,undefined", f"-I{RUNTIME}", "-o", "texts", "texts.c",
         *map(str, sorted(RUNTIME.glob("tcuq*.c")))],
        cwd=tmp_path, check=True,
    )  # fmt: skip
    printed = subprocess.run(["./texts"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert tuple(printed.stdout.splitlines()) == TEXTS
