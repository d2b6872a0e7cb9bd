# SPDX-License-Identifier: Apache-2.0
"""Which branches and conditions (MC/DC) of C sources the inputs of a corpus cover, by clang 19."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fixtures.firmware.toolchain import ALONE, RUNTIME, ToolError, run
from tools.fuzz.fuzzers import HERE

COUNTING = ("-std=c99", "-O0", "-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc")


@dataclass(frozen=True, slots=True)
class Conditions:
    """Branches and conditions of some sources, and how many of them were covered."""

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


Decision = tuple[str, int, int]  # file, line, column


def measure(
    measured: Sequence[Path], harness: Sequence[Path], options: Sequence[str],
    corpora: Sequence[Path], *, reduced: Sequence[str] = (),
) -> Conditions:  # fmt: skip
    """Run the corpora through a build that counts, and through one that leaves parts out.

    A condition that is constant in the whole build counts as covered if the reduced one covers it.
    """
    totals, covered = _counted(measured, harness, options, corpora)
    if reduced:
        _, more = _counted(measured, harness, [*options, *reduced], corpora)
        for decision, flags in covered.items():
            also = more.get(decision, [])
            if len(also) == len(flags):  # else it has other conditions there
                covered[decision] = [a or b for a, b in zip(flags, also, strict=True)]
    branches, conditions = totals["branches"], totals["mcdc"]
    return Conditions(
        branches["count"], branches["covered"], conditions["count"], sum(map(sum, covered.values()))
    )


def _counted(
    measured: Sequence[Path], harness: Sequence[Path], options: Sequence[str],
    corpora: Sequence[Path],
) -> tuple[dict[str, dict[str, int]], dict[Decision, list[bool]]]:  # fmt: skip
    """The sums of all sources, and which conditions of each decision are covered."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fuzzer = folder / "fuzzer"
        run(["clang-19", *COUNTING, "-fsanitize=fuzzer", *options, *harness, *measured,
             "-o", fuzzer])  # fmt: skip
        done = subprocess.run(
            [fuzzer, "-runs=0", *corpora], cwd=folder, capture_output=True, text=True,
            errors="replace", check=False, env={**os.environ, "LLVM_PROFILE_FILE": "raw"},
        )  # fmt: skip
        if done.returncode:
            raise ToolError(f"the corpus ends with {done.returncode}:\n{done.stderr[-2000:]}")
        run(["llvm-profdata-19", "merge", "raw", "-o", "merged"], cwd=folder)
        exported = run(
            ["llvm-cov-19", "export", "-instr-profile=merged", fuzzer, *measured], cwd=folder
        )
    data = json.loads(exported)["data"][0]
    covered = {
        (file["filename"], line, column): list(flags)
        for file in data["files"]
        for line, column, *_, flags in file.get("mcdc_records", [])
    }
    return data["totals"], covered


def runtime_conditions(corpora: Sequence[Path], runtime: Path = RUNTIME) -> Conditions:
    """Of the runtime in plain C."""
    sources, harness = sorted(runtime.glob("tcuq*.c")), sorted(HERE.glob("*.c"))
    return measure(sources, harness, [f"-I{runtime}"], corpora, reduced=ALONE)
