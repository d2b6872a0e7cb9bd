# SPDX-License-Identifier: Apache-2.0
"""The profile loader under damaged profiles: how many were tried, and whether any got through."""

import os
import re
import subprocess
import sys

from result import ROOT, Row, arguments, leave, report

CASES = 100_000


def main() -> None:
    """Fuzz and report."""
    asked = arguments()
    wanted = 3000 if asked.short else CASES
    found = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--hypothesis-show-statistics"),
            "tests/property/test_loader.py",
        ],
        cwd=ROOT,
        env={**os.environ, "TCUQ_LOADER_CASES": str(wanted)},
        capture_output=True,
        text=True,
        check=False,
    )
    counted = [int(n) for n in re.findall(r"(\d+) passing", found.stdout)]
    cases = sum(counted)
    row = Row(
        "damaged profiles that gave anything but a profile or a ProfileError",
        f"0 of ≥ {wanted:,}",
        f"{'0' if found.returncode == 0 else 'at least 1'} of {cases:,}",
        found.returncode == 0 and cases >= wanted,
    )
    leave(report("loader", [row], ("hypothesis",), write=asked.write))


if __name__ == "__main__":
    main()
