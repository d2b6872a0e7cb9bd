# SPDX-License-Identifier: Apache-2.0
"""Seeded bugs: exact changes of C sources that a check must notice, listed in TOML files."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tests.fixtures.firmware.toolchain import replace_once


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
