# SPDX-License-Identifier: Apache-2.0
"""Seeded bugs: exact changes of C sources that a check must notice, listed in TOML files."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fixtures.firmware.toolchain import ROOT, ToolError, replace_once

FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Bug:
    """One change of one file, in which `old` stands once; the other members depend on the check."""

    file: str
    old: str
    new: str
    name: str = ""  # what is broken, in words
    function: str = ""  # that is proved again
    message: str = ""  # that the fuzzer must print
    short: bool = False  # also in CI's short form

    def __str__(self) -> str:
        where = f"{self.file}, {self.function}" if self.function else self.file
        return f"{where}: {self.old[:50]!r} -> {self.new[:50]!r}"


def read_bugs(path: Path, table: str = "bugs") -> list[Bug]:
    """Return the bugs of one table of a file."""
    return [Bug(**entry) for entry in tomllib.loads(path.read_text("utf-8"))[table]]


def seed(bug: Bug, path: Path, listed_in: str) -> Path:
    """Put a bug into a copy of its file; ToolError if the text to change is not there once."""
    replace_once(path, bug.old, bug.new, listed_in)
    return path


def failing_test(tests: Sequence[str], **environment: str) -> str:
    """Return the first of these files' tests that fails in an environment with a bug, or ""."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True,
        errors="replace", check=False,
    )  # fmt: skip
    first = FAILURE.search(done.stdout)
    if done.returncode and first is None:
        raise ToolError(f"pytest ends with {done.returncode}:\n{done.stdout[-2000:]}")
    return first[1] if first else ""
