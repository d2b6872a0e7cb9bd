# SPDX-License-Identifier: Apache-2.0
"""Lines and branches of the library and the fleet that their tests execute, emulators apart."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import ROOT, Row, measure

TESTS = ("tests", "fleet/tests")
APART = ("tests/firmware", "tests/statistical")
LEAST = {"lines": 97.83, "branches": 92.81}  # before the split into three products
SETTINGS = """
[run]
branch = true
source = tcuq,tcuq_fleet
parallel = true
patch = subprocess
data_file = {}/.coverage
"""


def counts(folder: Path) -> dict[str, int]:
    """Run the tests and return what they executed."""
    (folder / "settings").write_text(SETTINGS.format(folder), "utf-8")
    environment = {**os.environ, "COVERAGE_RCFILE": str(folder / "settings")}
    apart = [f"--ignore={name}" for name in APART]
    tests = ["run", "-m", "pytest", "-n", "2", "--dist", "worksteal", "--quiet", *TESTS, *apart]
    for words in (tests, ["combine", "--quiet"], ["json", "--quiet", "-o", str(folder / "json")]):
        subprocess.run(
            [sys.executable, "-m", "coverage", *words], cwd=ROOT, env=environment, check=True
        )
    totals: dict[str, int] = json.loads((folder / "json").read_text("utf-8"))["totals"]
    return totals


def rows(_short: bool) -> Iterator[Row]:
    """Yield the shares."""
    with tempfile.TemporaryDirectory() as name:
        totals = counts(Path(name))
    lines = (totals["covered_lines"], totals["num_statements"])
    branches = (totals["covered_branches"], totals["num_branches"])
    for what, (covered, whole) in {"lines": lines, "branches": branches}.items():
        share, least = 100 * covered / whole, LEAST[what]
        text = f"{share:.2f} % of {whole:,}"
        yield Row(f"coverage: {what} of tcuq and tcuq_fleet", f"≥ {least} %", text, share >= least)


if __name__ == "__main__":
    measure("coverage", rows, ("coverage",))
