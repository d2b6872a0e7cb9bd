# SPDX-License-Identifier: Apache-2.0
"""Where a data set's files are, and whether they are the ones the manifest names.

`$TCUQ_DATA/<folder>` is looked at first, then `<cache>/data/<folder>`. Size and SHA-256 of every
file are checked whenever it is opened, so no loader ever parses bytes that nobody has seen.
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

from benchmark.atomic import cache_root


class DataMissingError(FileNotFoundError):
    """A data set is in none of the places where it is looked for."""


class DataDamagedError(ValueError):
    """A file is there but is not the one that the manifest names."""


@dataclass(frozen=True, slots=True)
class File:
    """One file: its exact size and hash, and its name inside the package that carries it."""

    name: str
    size_bytes: int
    sha256: str
    member: str | None


@dataclass(frozen=True, slots=True)
class Package:
    """What carries a data set in a package registry: npm, pip or apt, and the package's name."""

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
        """What a person can do to have this data set."""
        if self.package:
            return f"get it with  python -m benchmark.data fetch {self.name}"
        return f"no registry carries it: put its files into $TCUQ_DATA/{self.folder}"


@cache
def manifest() -> Mapping[str, Source]:
    """Every data set known here, by name."""
    text = files("benchmark.data").joinpath("manifest.json").read_text("utf-8")
    return {name: _source(name, entry) for name, entry in json.loads(text).items()}


def _source(name: str, entry: dict[str, Any]) -> Source:
    listed = tuple(
        File(file, about["bytes"], about["sha256"], about.get("member"))
        for file, about in entry["files"].items()
    )
    package = Package(**entry["package"]) if entry["package"] else None
    return Source(name, entry["folder"], entry["licence"], package, listed)


def folders(source: Source) -> list[Path]:
    """The places where a data set is looked for, in order."""
    given = os.environ.get("TCUQ_DATA")
    roots = ([Path(given)] if given else []) + [cache_root() / "data"]
    return [root / source.folder for root in roots]


def is_present(name: str) -> bool:
    """Whether one of the places holds every file of the set; says nothing about their content."""
    source = manifest()[name]
    return any(_complete(folder, source) for folder in folders(source))


def _complete(folder: Path, source: Source) -> bool:
    return all((folder / file.name).is_file() for file in source.files)


def checked_files(source: Source) -> dict[str, Path]:
    """The paths of a data set's files by name, each checked against the manifest."""
    looked = folders(source)
    found = next((folder for folder in looked if _complete(folder, source)), None)
    if found is None:
        places = " and ".join(str(folder) for folder in looked)
        hint = "" if os.environ.get("TCUQ_DATA") else " ($TCUQ_DATA is not set)"
        raise DataMissingError(
            f"the data set {source.name} was looked for in {places}{hint}: {source.remedy}"
        )
    paths = {file.name: found / file.name for file in source.files}
    for file in source.files:
        check(paths[file.name], file, source.remedy)
    return paths


def check(path: Path, file: File, remedy: str) -> None:
    """Refuse a file whose size or hash is not the manifest's."""
    size = path.stat().st_size
    if size != file.size_bytes:
        raise DataDamagedError(f"{path} must have {file.size_bytes} bytes, got {size}: {remedy}")
    with path.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != file.sha256:
        raise DataDamagedError(f"{path} must have SHA-256 {file.sha256}, got {found}: {remedy}")
