# SPDX-License-Identifier: Apache-2.0
"""How many examples the property tests were given, and whether any failed."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

from results.result import ROOT, Row, measure

LOADER_CASES = 100_000
STATISTICS = re.compile(r"::(test_\w+):.*?(\d+) passing", re.DOTALL)
THEOREMS = {
    "tests/property/test_step_is_run.py": "step = run, bit for bit",
    "tests/property/test_windows.py": "bound in every window, as integers",
    "tests/property/test_loader.py": "a damaged profile gives a profile or a ProfileError",
}


def examples(path: str, cases: int) -> tuple[bool, dict[str, int]]:
    """Return whether a file's tests passed, and the number of examples of each."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--hypothesis-show-statistics", path],
        cwd=ROOT,
        env={**os.environ, "TCUQ_LOADER_CASES": str(cases)},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode == 0, {name: int(n) for name, n in STATISTICS.findall(run.stdout)}


def rows(short: bool) -> Iterator[Row]:
    """Yield the examples of every property test."""
    cases = 3000 if short else LOADER_CASES
    for path, theorem in THEOREMS.items():
        passed, counts = examples(path, cases)
        least = cases if "loader" in path else 500
        for name, count in counts.items():
            yield Row(
                f"{theorem}: {name.removeprefix('test_').replace('_', ' ')}",
                f"no failure in ≥ {least:,}",
                f"{'none' if passed else 'some'} in {count:,} examples",
                passed and count >= least,
            )


if __name__ == "__main__":
    measure("properties", rows, ("hypothesis",))
