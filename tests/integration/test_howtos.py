# SPDX-License-Identifier: Apache-2.0
"""The how-to pages work as they stand, from a `.tflite` to objects for a Cortex-M4."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tcuq.cli import main
from tests.fixtures.pages import blocks

PAGES = ("record", "export", "size", "watch", "tune", "report")


def test_from_a_tflite_to_compiled_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyword_files: Callable[[Path], None]
) -> None:
    """The pages' commands in their order, with a fit between, then the cross compiler."""
    keyword_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = 0
    for page in PAGES:
        for line in "".join(blocks(f"docs/howto/{page}.md", "console")).splitlines():
            words = shlex.split(line.removeprefix("$ "))
            if words[0] == "tcuq":
                assert main(words[1:]) == 0, line
                ran += 1
        if page == "record":
            shutil.copy("stream.parquet", "field.parquet")
            assert main(["fit", "stream.parquet", "-o", "monitor.json"]) == 0
            for name in ("keywords", "gestures"):  # two models of one firmware
                shutil.copy("monitor.json", f"{name}.json")
    assert ran == 15
    sources = [str(path.resolve()) for path in sorted(Path("firmware/src").glob("*.c"))]
    flags = ["-mcpu=cortex-m4", "-mthumb", "-Os", "-std=c99", "-ffreestanding", "-Wall", "-Werror"]
    command = ["arm-none-eabi-gcc", *flags, "-Ifirmware/src", "-c", *sources]
    assert subprocess.run(command, check=False).returncode == 0


def test_python_of_the_report_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes the page it speaks of."""
    monkeypatch.chdir(tmp_path)
    for block in blocks("docs/howto/report.md", "python"):
        exec(compile(block, "report.md", "exec"), {})  # noqa: S102 - our own document
    page = Path("microphone.html").read_text("utf-8")
    assert re.search(r"\d+ of 227 errors were accepted", page)
