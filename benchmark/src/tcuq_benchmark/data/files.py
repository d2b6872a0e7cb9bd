# SPDX-License-Identifier: Apache-2.0
"""The location of a data set's files, and their check against the manifest.

`$TCUQ_DATA/<folder>` is searched first, then `<cache>/data/<folder>`. Size and SHA-256 of every
file are checked before it is opened, so no loader parses unknown bytes.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tcuq_benchmark.cache import cache_root


class DataMissingError(FileNotFoundError):
    """A data set is in none of the searched folders."""


class DataDamagedError(ValueError):
    """A file exists but is not the one in the manifest."""


@dataclass(frozen=True, slots=True)
class File:
    """One file: its exact size and hash, and its name inside the package."""

    name: str
    size_bytes: int
    sha256: str
    member: str | None


@dataclass(frozen=True, slots=True)
class Package:
    """The registry package that contains a data set: client (npm, pip or apt) and name."""

    client: str
    name: str
    version: str | None


@dataclass(frozen=True, slots=True)
class Source:
    """One data set as the manifest describes it."""

    name: str
    folder: str
    licence: str
    package: Package | None
    files: tuple[File, ...]

    @property
    def sha256(self) -> str:
        """Hash of all the files' hashes: the identity of the data set."""
        lines = sorted(f"{file.sha256}  {file.name}\n" for file in self.files)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def remedy(self) -> str:
        """How to get this data set."""
        if self.package:
            return f"get it with  python -m tcuq_benchmark.data fetch {self.name}"
        return f"not in any registry: put its files into $TCUQ_DATA/{self.folder}"


@cache
def manifest() -> Mapping[str, Source]:
    """Return every data set known here, by name."""
    text = files("tcuq_benchmark.data").joinpath("manifest.json").read_text("utf-8")
    return {name: _source(name, entry) for name, entry in json.loads(text).items()}


def _source(name: str, entry: dict[str, Any]) -> Source:
    listed = tuple(
        File(file, about["bytes"], about["sha256"], about.get("member"))
        for file, about in entry["files"].items()
    )
    package = Package(**entry["package"]) if entry["package"] else None
    return Source(name, entry["folder"], entry["licence"], package, listed)


def folders(source: Source) -> list[Path]:
    """Return the folders searched for a data set, in order."""
    configured = os.environ.get("TCUQ_DATA")
    roots = ([Path(configured)] if configured else []) + [cache_root() / "data"]
    return [root / source.folder for root in roots]


def is_present(name: str) -> bool:
    """Return whether one of the folders has every file of the set; their content is not checked."""
    source = manifest()[name]
    return any(_complete(folder, source) for folder in folders(source))


def _complete(folder: Path, source: Source) -> bool:
    return all((folder / file.name).is_file() for file in source.files)


def checked_files(name: str) -> dict[str, Path]:
    """Return the paths of a data set's files by name, each checked against the manifest."""
    return checked_source(manifest()[name])


def checked_source(source: Source) -> dict[str, Path]:
    """Return the checked paths of a source's files."""
    searched = folders(source)
    complete = next((folder for folder in searched if _complete(folder, source)), None)
    if complete is None:
        places = " and ".join(str(folder) for folder in searched)
        hint = "" if os.environ.get("TCUQ_DATA") else " ($TCUQ_DATA is not set)"
        raise DataMissingError(
            f"data set {source.name} not found in {places}{hint}: {source.remedy}"
        )
    paths = {file.name: complete / file.name for file in source.files}
    for file in source.files:
        check(paths[file.name], file, source.remedy)
    return paths


def check(path: Path, file: File, remedy: str) -> None:
    """Refuse a file whose size or hash is not the manifest's."""
    size = path.stat().st_size
    if size != file.size_bytes:
        raise DataDamagedError(f"{path} must have {file.size_bytes} bytes, got {size}: {remedy}")
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != file.sha256:
        raise DataDamagedError(f"{path} must have SHA-256 {file.sha256}, got {digest}: {remedy}")
