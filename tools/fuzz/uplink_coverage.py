# SPDX-License-Identifier: Apache-2.0
"""Which branches and conditions (MC/DC) of the uplink the inputs of its corpus cover."""

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.firmware.toolchain import UPLINK, ToolError, run
from tools.fuzz.uplink import CORPUS, harness_sources, includes

COUNTING = ("-std=c99", "-O0", "-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Branches and conditions of the uplink, and how many of them were covered."""

    branches: int
    covered_branches: int
    conditions: int
    covered_conditions: int

    @property
    def branch_share(self) -> float:
        """Share of branches that were taken."""
        return self.covered_branches / self.branches

    @property
    def condition_share(self) -> float:
        """Share of conditions shown to decide alone (MC/DC)."""
        return self.covered_conditions / self.conditions


def measure() -> Coverage:
    """Run the corpus with counters in the uplink."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fuzzer = folder / "fuzzer"
        sources = [*harness_sources(), *sorted(UPLINK.glob("*.c"))]
        run(["clang-19", *COUNTING, "-fsanitize=fuzzer", *includes(UPLINK), *sources, "-o", fuzzer])
        done = subprocess.run(
            [fuzzer, "-runs=0", CORPUS], cwd=folder, capture_output=True, text=True,
            errors="replace", check=False, env={**os.environ, "LLVM_PROFILE_FILE": "raw"},
        )  # fmt: skip
        if done.returncode:
            raise ToolError(f"the corpus ends with {done.returncode}:\n{done.stderr[-2000:]}")
        run(["llvm-profdata-19", "merge", "raw", "-o", "merged"], cwd=folder)
        exported = run(
            ["llvm-cov-19", "export", "-summary-only", "-instr-profile=merged", fuzzer,
             *sorted(UPLINK.glob("*.c"))],
            cwd=folder,
        )  # fmt: skip
    totals = json.loads(exported)["data"][0]["totals"]
    branches, conditions = totals["branches"], totals["mcdc"]
    return Coverage(
        branches["count"], branches["covered"], conditions["count"], conditions["covered"]
    )


if __name__ == "__main__":
    print(measure())
