# SPDX-License-Identifier: Apache-2.0
"""How many examples the property tests were given, and whether any failed."""

import os
import re
import subprocess
import sys

from results.result import ROOT, Row, arguments, report

LOADER_CASES = 100_000
STATED = re.compile(r"::(test_\w+):.*?(\d+) passing", re.DOTALL)
THEOREMS = {
    "tests/property/test_step_is_run.py": "step = run, bit for bit",
    "tests/property/test_windows.py": "bound in every window, as integers",
    "tests/property/test_loader.py": "a damaged profile gives a profile or a ProfileError",
}


def examples(path: str, cases: int) -> tuple[bool, dict[str, int]]:
    """Whether a file's tests passed, and the examples each was given."""
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--hypothesis-show-statistics", path],
        cwd=ROOT,
        env={**os.environ, "TCUQ_LOADER_CASES": str(cases)},
        capture_output=True,
        text=True,
        check=False,
    )
    counted = {name: int(count) for name, count in STATED.findall(run.stdout)}
    return run.returncode == 0, counted


def main() -> None:
    """Run and report."""
    args = arguments()
    rows = []
    for path, theorem in THEOREMS.items():
        cases = 3000 if args.short else LOADER_CASES
        passed, counted = examples(path, cases)
        wanted = cases if "loader" in path else 500
        for name, count in counted.items():
            what = f"{theorem}: {name.removeprefix('test_').replace('_', ' ')}"
            measured = f"{'none' if passed else 'some'} in {count:,} examples"
            rows.append(
                Row(what, f"no failure in ≥ {wanted:,}", measured, passed and count >= wanted)
            )
    sys.exit(report("properties", rows, ("hypothesis",), write=args.write))


if __name__ == "__main__":
    main()
