# SPDX-License-Identifier: Apache-2.0
"""Puts each seeded bug into a copy of the uplink and says what finds it.

First the inputs of the fuzzer's corpus, then the uplink's tests, until the first one fails.
"""

import argparse
import contextlib
import io
import os
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.firmware.toolchain import ROOT, UPLINK, ToolError
from tools.fuzz.run import replay
from tools.fuzz.uplink import CORPUS, build, compile_objects, link

BUGS = Path(__file__).with_name("uplink_bugs.toml")
TESTS = ("test_uplink_acks.py", "test_uplink_flash.py", "test_uplink_time.py", "test_uplink.py")


class Bug(NamedTuple):
    """One change of one file."""

    file: str
    old: str
    new: str


def bugs() -> list[Bug]:
    """Return the list of seeded bugs."""
    return [Bug(**entry) for entry in tomllib.loads(BUGS.read_text("utf-8"))["bugs"]]


def seed(bug: Bug, folder: Path) -> Path:
    """Copy the uplink with the bug in it; ToolError if the text to change is not there once."""
    shutil.copytree(UPLINK, folder)
    path = folder / bug.file
    text = path.read_text("utf-8")
    if text.count(bug.old) != 1:
        raise ToolError(
            f"{bug.file} no longer has {bug.old!r} once: bring uplink_bugs.toml up to date"
        )
    path.write_text(text.replace(bug.old, bug.new), "utf-8")
    return folder


def found_by(bug: Bug, objects: Path, folder: Path) -> str:
    """Return "corpus", the name of the test that fails, or "" if nothing finds the bug."""
    uplink = seed(bug, folder / "uplink")
    shutil.copytree(objects, folder / "build", ignore=shutil.ignore_patterns("fuzzer"))
    changed = sorted(uplink.glob("*.c")) if bug.file.endswith(".h") else [uplink / bug.file]
    compile_objects(folder / "build", changed, uplink)
    if replay(link(folder / "build"), [CORPUS]).finding:
        return "corpus"
    first = FirstFailure()
    os.environ["TCUQ_UPLINK"] = str(uplink)
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(
            ["-x", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}",
             *(str(ROOT / "tests/fleet" / name) for name in TESTS)],
            plugins=[first],
        )  # fmt: skip
    del os.environ["TCUQ_UPLINK"]
    return first.name


class FirstFailure:
    """A plugin that notes the first test that fails."""

    def __init__(self) -> None:
        self.name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure in a test or in its preparation."""
        if report.failed and not self.name:
            self.name = report.nodeid


def run_bugs(every: int = 1) -> Iterator[tuple[Bug, str]]:
    """Yield every so manieth bug with what finds it."""
    with tempfile.TemporaryDirectory() as name:
        objects = Path(name) / "objects"
        build(objects)
        for number, bug in enumerate(bugs()[::every]):
            yield bug, found_by(bug, objects, Path(name) / str(number))
            shutil.rmtree(Path(name) / str(number))


def main() -> None:
    """Print each bug with what finds it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="only every so manieth bug")
    found = 0
    outcomes = []
    for bug, by in run_bugs(parser.parse_args().every):
        outcomes.append(by)
        found += bool(by)
        print(
            f"{by or 'NOT FOUND':60} {bug.file}: {bug.old[:50]!r} -> {bug.new[:50]!r}", flush=True
        )
    print(f"{found} of {len(outcomes)} found")


if __name__ == "__main__":
    main()
