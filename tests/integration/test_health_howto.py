# SPDX-License-Identifier: Apache-2.0
"""The page on input health: its Python and its C decide alike on the same samples."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tests.fixtures.pages import blocks

PAGE = "docs/howto/health.md"
# What the page leaves to the firmware: samples and posteriors arrive, decisions go somewhere.
MAIN = """
#include <stdio.h>
int main(void)
{
    FILE *samples = fopen("samples.bin", "rb");
    FILE *posteriors = fopen("posteriors.bin", "rb");
    uint8_t posterior[3];
    if ((samples == NULL) || (posteriors == NULL) || !begin()) {
        return 1;
    }
    while (fread(posterior, 1, sizeof posterior, posteriors) == sizeof posterior) {
        tcuq_decision decision;
        for (int i = 0; i < 128; i++) {
            int16_t frame[6];
            if (fread(frame, sizeof frame[0], 6, samples) != 6) {
                return 2;
            }
            sampled(frame);
        }
        classified(posterior, &decision);
        printf("%u %u\\n", decision.risk, decision.alarm);
    }
    return 0;
}
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the page's Python leaves, run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    (block,) = blocks(PAGE, "python")
    exec(compile(block, "health.md", "exec"), names)  # noqa: S102 - our own document
    return names


def test_python_of_the_page_names_the_cause(page: dict[str, Any]) -> None:
    """The stuck accelerometer is found soon, by name, and nothing before it is stuck."""
    trace = tcuq.Monitor(page["profile"]).run(page["field"])
    first, cause = next(iter(trace.alarms.items()))
    assert 500 <= first < 700
    assert cause.startswith("input health: accelerometer ")


def test_c_of_the_page_decides_as_the_host(page: dict[str, Any], tmp_path: Path) -> None:
    """The page's C over the exported sources gives the host's risks and alarms, step by step."""
    assert main(["export", "monitor.json", "-o", "firmware", "--for", "c"]) == 0
    (block,) = blocks(PAGE, "c")
    (tmp_path / "page.c").write_text(block + MAIN, "utf-8")
    sources = [str(path) for path in sorted(Path("firmware/src").glob("*.c"))]
    warnings = ("-std=c99", "-Wall", "-Wextra", "-Werror")
    command = ["gcc", *warnings, "-Ifirmware/src", "page.c", *sources, "-o", "page"]
    subprocess.run(command, check=True)
    monitor = tcuq.Monitor(page["profile"])
    posteriors, _ = monitor.quantize(page["posteriors"], None)
    posteriors.tofile("posteriors.bin")
    page["windows"].astype(np.int16).tofile("samples.bin")
    printed = subprocess.run(["./page"], check=True, capture_output=True, text=True).stdout
    decided = np.array([line.split() for line in printed.splitlines()], np.int64)
    trace = monitor.run(page["field"])
    np.testing.assert_array_equal(decided[:, 0], np.rint(trace.risk * 16384))
    np.testing.assert_array_equal(decided[:, 1], trace.alarm)
    assert decided[:, 1].any()


def test_profiles_without_health_have_no_sample_files(page: dict[str, Any]) -> None:
    """The samples' interface is exported with health, and only then."""
    field = page["field"]
    bare = tcuq.Stream(page["calibration"].posteriors, starts=range(0, 8000, 1000))
    tcuq.fit(bare).save("bare.json")
    assert main(["export", "bare.json", "-o", "bare", "--for", "c"]) == 0
    assert main(["export", "monitor.json", "-o", "firmware", "--for", "c"]) == 0
    assert field.health is not None
    assert not Path("bare/src/tcuq_health.h").exists()
    assert Path("firmware/src/tcuq_health.h").is_file()
    assert Path("firmware/src/tcuq_health.h").is_file()
