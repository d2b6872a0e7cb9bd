# SPDX-License-Identifier: Apache-2.0
"""The program in the header's first comment."""

from collections.abc import Callable
from pathlib import Path

import tcuq
from tcuq.firmware import export
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.firmware.toolchain import run
from tests.fixtures.pages import minimal_program

MOST_LINES = 12
MODEL = """
#include <stdio.h>
#include <string.h>
#include "tcuq_device.h"
bool run_model(uint8_t *posterior, int8_t *features);
void use(uint16_t label);
bool run_model(uint8_t *posterior, int8_t *features)
{
    static int left = 3;
    memset(posterior, 0, TCUQ_DEVICE_CLASSES);
    memset(features, 0, TCUQ_DEVICE_FEATURE_BYTES);
    posterior[0] = 255u;
    return left-- > 0;
}
void use(uint16_t label)
{
    printf("%u\\n", label);
}
"""


def test_the_program_in_the_header_is_short_and_runs(
    synthetic: Callable[..., tcuq.Stream], tmp_path: Path
) -> None:
    """At most 12 lines; compiled as they stand beside a model, they give its labels."""
    lines = minimal_program()
    assert lines[0] == '#include "tcuq_device.h"'
    assert len(lines) <= MOST_LINES
    export(quiet_fit(synthetic(classes=2, width=0)), tmp_path / "out", "c")
    (tmp_path / "main.c").write_text("\n".join(lines) + "\n", "utf-8")
    (tmp_path / "model.c").write_text(MODEL, "utf-8")
    sources = [tmp_path / "main.c", tmp_path / "model.c", *(tmp_path / "out/src").glob("*.c")]
    warnings = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-maybe-uninitialized")
    run(["gcc", *warnings, f"-I{tmp_path / 'out/src'}", *sources, "-o", tmp_path / "program"])
    assert run([tmp_path / "program"]).splitlines() == ["0"] * 3
