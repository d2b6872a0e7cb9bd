# SPDX-License-Identifier: Apache-2.0
"""What work on the project costs: a newcomer's loop and CI from clean clones, lines, tests, types.

The full form clones the repository beside itself twice, as `../shared/data` must be found there,
and takes as long as CI. The short form counts alone. Run it on a machine that does nothing else.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from results.result import ROOT, Row, figure, measure
from tools.public_types import LEAST, completeness

LANGUAGES = {"py": "Python", "pyi": "Python", "c": "C", "h": "C", "cpp": "C", "S": "C", "js": "JS"}
GENERATED = {"examples/keyword-spotting/weights.h"}
# Before the split into three products.
LINES_BEFORE, TESTS_BEFORE = 100_627, 5_523
MOST_TESTS, MOST_MENU = 3_300, 45


def run(folder: Path, command: str) -> float:
    """Run a command as a newcomer would; return its seconds."""
    environment = {**os.environ, "TCUQ_DATA": "../shared/data"}
    environment.pop("TCUQ_SHORT", None)
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        log = folder.with_suffix(".log")
        log.write_text(done.stdout + done.stderr, "utf-8")
        raise SystemExit(f"{command} failed with {done.returncode}; its output is in {log}")
    return time.monotonic() - begun


def clone(beside: Path) -> Path:
    """Clone the committed state to a new folder."""
    folder = Path(tempfile.mkdtemp(prefix="tcuq-clone-", dir=beside))
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def loop_rows() -> Iterator[Row]:
    """Yield the seconds and megabytes of a newcomer's three commands: clone, setup, check."""
    folder = clone(ROOT.parent)
    try:
        setup, check = run(folder, "make setup"), run(folder, "make check")
        files = (path for path in (folder / ".venv").rglob("*") if path.is_file())
        megabytes = sum(path.lstat().st_size for path in files) / 1e6
    finally:
        shutil.rmtree(folder)
    yield figure("newcomer's loop: seconds of make setup", f"{setup:.0f}")
    yield Row(
        "newcomer's loop: MB of its environment", "≤ 700", f"{megabytes:.0f}", megabytes <= 700
    )
    what = "newcomer's loop: seconds of make check, caches empty"
    yield Row(what, "≤ 120", f"{check:.0f}", check <= 120)


def ci_rows() -> Iterator[Row]:
    """Yield the minutes of CI from a clean clone in a new environment."""
    folder = clone(ROOT.parent)
    try:
        minutes = run(folder, "bash .ci/run") / 60
    finally:
        shutil.rmtree(folder)
    yield Row("bash .ci/run from a clean clone, minutes", "≤ 25", f"{minutes:.1f}", minutes <= 25)


def count_rows() -> Iterator[Row]:
    """Yield lines by product and language, tests, entries of the menu, and typed public names."""
    lines: Counter[tuple[str, str]] = Counter()
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        language = LANGUAGES.get(name.rpartition(".")[2])
        if language and name not in GENERATED:
            product = name.partition("/")[0]
            product = product if product in ("fleet", "benchmark") else "library"
            lines[product, language] += len((ROOT / name).read_bytes().splitlines())
    for (product, language), count in sorted(lines.items()):
        yield figure(f"lines of {language}, {product}", f"{count:,}")
    total, most = lines.total(), LINES_BEFORE - 4_000
    what = f"lines of code in all; {LINES_BEFORE:,} before the split"
    yield Row(what, f"≤ {most:,}", f"{total:,}", total <= most)
    collect = [sys.executable, "-m", "pytest", "--collect-only", "--quiet"]
    output = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tests = int(re.findall(r"(\d+) tests collected", output)[0])
    what = f"tests collected; {TESTS_BEFORE:,} before the split"
    yield Row(what, f"≤ {MOST_TESTS:,}", f"{tests:,}", tests <= MOST_TESTS)
    menu = len(re.findall(r": \S+\.md$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    yield Row("entries of the documentation's menu", f"≤ {MOST_MENU}", f"{menu}", menu <= MOST_MENU)
    typed = completeness()
    what = "public names with a known type, pyright --verifytypes"
    yield Row(what, f"≥ {LEAST:.0%}", f"{typed:.1%}", typed >= LEAST)


def rows(short: bool) -> Iterator[Row]:
    """Yield all rows, or those that need no clone."""
    yield from count_rows()
    if not short:
        yield from loop_rows()
        yield from ci_rows()


if __name__ == "__main__":
    measure("workspace", rows)
