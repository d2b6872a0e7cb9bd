# SPDX-License-Identifier: Apache-2.0
"""Which branches and conditions (MC/DC) of the uplink its own tests and its corpus cover."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.firmware.toolchain import ROOT, UPLINK, ToolError, run
from tools.fuzz.uplink import CORPUS, harness_sources, includes

COUNTING = ("-std=c99", "-O0", "-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc")
PROGRAMS = ("uplink_device", "uplink_field", "uplink_cuts")  # that the tests compile


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
    """Run the uplink's tests and its fuzzer's corpus with counters in the uplink."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "LLVM_PROFILE_FILE": str(folder / "%p-%m.profraw")}
        fuzzer = folder / "fuzzer"
        sources = [*harness_sources(), *sorted(UPLINK.glob("*.c"))]
        run(["clang-19", *COUNTING, "-fsanitize=fuzzer", *includes(UPLINK), *sources, "-o", fuzzer])
        _run([fuzzer, "-runs=0", CORPUS], folder, environment)
        tests = sorted((ROOT / "tests/fleet").glob("test_uplink*.py"))
        _run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
             *(path for path in tests if path.stem != "test_uplink_howto")],
            ROOT, {**environment, "TCUQ_UPLINK_COVERAGE": name},
        )  # fmt: skip
        profiles = sorted(folder.glob("*.profraw"))
        run(["llvm-profdata-19", "merge", *profiles, "-o", folder / "merged"])
        objects = [word for p in PROGRAMS for word in ("-object", folder / p)]
        exported = run(
            ["llvm-cov-19", "export", "-summary-only", "-instr-profile", folder / "merged", fuzzer,
             *objects, *sorted(UPLINK.glob("*.c"))],
        )  # fmt: skip
    totals = json.loads(exported)["data"][0]["totals"]
    branches, conditions = totals["branches"], totals["mcdc"]
    return Coverage(
        branches["count"], branches["covered"], conditions["count"], conditions["covered"]
    )


def _run(command: list[str | Path], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
        check=False,
    )  # fmt: skip
    if done.returncode:
        raise ToolError(f"{command[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    print(measure())
