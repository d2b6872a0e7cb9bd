# SPDX-License-Identifier: Apache-2.0
"""Licences of every file in sdist and wheel, by REUSE; none may forbid commercial use."""

import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

from tools.packaging.build import PROJECTS, run_module

ALLOWED = frozenset({"Apache-2.0", "MIT", "CC-BY-4.0"})  # all permit commercial use
BUILT = (".so", ".pyd")  # compiled of files in the sdist


class LicenceError(Exception):
    """A file has no licence, or one that is not allowed."""


def sdist_licences(sdist: Path, folder: Path) -> dict[str, tuple[str, ...]]:
    """Return the licences of every file in the source package by path."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    command = [sys.executable, "-m", "reuse", "--root", str(root), "lint", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(result.stdout)
    if not report["summary"]["compliant"]:
        raise LicenceError(f"REUSE finds errors: {report['non_compliant']}")
    licences = {
        file["path"]: tuple(sorted(each["value"] for each in file["spdx_expressions"]))
        for file in report["files"]
    }
    check_allowed(licences)
    return licences


def check_allowed(licences: dict[str, tuple[str, ...]]) -> None:
    """Refuse a licence that is not in the list of allowed ones."""
    for path, expressions in licences.items():
        names = {name for expression in expressions for name in expression.split(" AND ")}
        if not names or names - ALLOWED:
            actual = ", ".join(sorted(names)) or "none"
            raise LicenceError(f"{path}: licence must be one of {sorted(ALLOWED)}, is {actual}")


def check_wheel(wheel: Path, sdist: Path) -> int:
    """Check that every file of the wheel comes from the sdist; return how many there are."""
    with tarfile.open(sdist) as source:
        sources = {name.partition("/src/")[2] for name in source.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    for name in names:
        generated = ".dist-info/" in name or PurePosixPath(name).suffix in BUILT
        if not generated and name not in sources:
            raise LicenceError(f"{wheel.name} holds {name}, which the source package has not")
    return len(names)


def summary(licences: dict[str, tuple[str, ...]]) -> str:
    """Return the number of files under each licence."""
    counts = Counter(" AND ".join(sorted(set(expressions))) for expressions in licences.values())
    return ", ".join(f"{name}: {count}" for name, count in counts.most_common())


def main() -> None:
    """Build the library's source package, check it and print how many files each licence has."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run_module("build", "--quiet", "--sdist", "--outdir", folder, PROJECTS["tcuq"])
        (sdist,) = folder.glob("*.tar.gz")
        print(f"{sdist.name}: {summary(sdist_licences(sdist, folder / 'sdist'))}")


if __name__ == "__main__":
    main()
