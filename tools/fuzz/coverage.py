# SPDX-License-Identifier: Apache-2.0
"""What the inputs of a corpus cover of C sources: lines, branches and conditions, by clang 19."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fixtures.firmware.toolchain import ALONE, RUNTIME, ToolError, run
from tools.fuzz.fuzzers import BY_HAND, DSP, HERE, without_assembly

COUNTING = ("-std=c99", "-O0", "-fprofile-instr-generate", "-fcoverage-mapping")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
UPLINK = "-DTCUQ_WITH_UPLINK=1"  # the texts of its statuses
Decision = tuple[str, int, int]  # file, line, column


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines with code, and those (file:line) that no input reached in any build."""

    lines: int
    missed: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class Build:
    """Sources that are measured, the harness around them, and the compiler's options."""

    measured: Sequence[Path]
    harness: Sequence[Path]
    options: Sequence[str]

    @contextmanager
    def counted(self, corpora: Sequence[Path], *options: str) -> Iterator[list[str | Path]]:
        """Run the corpora through a build that counts; yield the command that exports counts."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            fuzzer, raw, merged = (folder / part for part in ("fuzzer", "raw", "merged"))
            run(["clang-19", *COUNTING, *options, "-fsanitize=fuzzer", *self.options,
                 *self.harness, *self.measured, "-o", fuzzer])  # fmt: skip
            done = subprocess.run(
                [fuzzer, "-runs=0", *corpora], cwd=folder, capture_output=True, text=True,
                errors="replace", check=False, env={**os.environ, "LLVM_PROFILE_FILE": str(raw)},
            )  # fmt: skip
            if done.returncode:
                raise ToolError(f"the corpus ends with {done.returncode}:\n{done.stderr[-2000:]}")
            run(["llvm-profdata-19", "merge", raw, "-o", merged])
            yield ["llvm-cov-19", "export", f"-instr-profile={merged}", fuzzer]

    def lines(self, corpora: Sequence[Path]) -> dict[str, int]:
        """Count how often each line ran; the public header has macros only."""
        counts: dict[str, int] = {}
        name = ""
        with self.counted(corpora) as export:
            for record in run([*export, "-format=lcov"]).splitlines():
                kind, _, value = record.partition(":")
                if kind == "SF":
                    name = Path(value).name
                elif kind == "DA" and name.startswith("tcuq") and name != "tcuq.h":
                    line, count = value.split(",")[:2]
                    counts[f"{name}:{line}"] = int(count)
        return counts

    def conditions(self, corpora: Sequence[Path], reduced: Sequence[str] = ()) -> Conditions:
        """Measure branches and conditions.

        A condition that is constant in this build counts as covered if a build with the options
        `reduced`, which leave parts out, covers it.
        """
        totals, covered = self._decisions(corpora)
        if reduced:
            _, more = self._decisions(corpora, *reduced)
            for decision, flags in covered.items():
                also = more.get(decision, [])
                if len(also) == len(flags):  # else it has other conditions there
                    covered[decision] = [a or b for a, b in zip(flags, also, strict=True)]
        branches, conditions = totals["branches"], totals["mcdc"]
        decided = sum(map(sum, covered.values()))
        return Conditions(branches["count"], branches["covered"], conditions["count"], decided)

    def _decisions(
        self, corpora: Sequence[Path], *options: str
    ) -> tuple[dict[str, dict[str, int]], dict[Decision, list[bool]]]:
        """Return the sums of all sources, and which conditions of each decision are covered."""
        with self.counted(corpora, "-fcoverage-mcdc", *options) as export:
            data = json.loads(run([*export, *self.measured]))["data"][0]
        covered = {
            (file["filename"], line, column): list(flags)
            for file in data["files"]
            for line, column, *_, flags in file.get("mcdc_records", [])
        }
        return data["totals"], covered


def runtime_build(runtime: Path, sources: Sequence[Path], *options: str) -> Build:
    """Return a build of the runtime's sources."""
    return Build(sources, sorted(HERE.glob("*.c")), [f"-I{runtime}", *options])


def runtime_lines(folder: Path, corpora: Sequence[Path], runtime: Path = RUNTIME) -> Lines:
    """Measure the lines of the runtime over all builds: whole, smallest and DSP."""
    plain = sorted(runtime.glob("tcuq*.c"))
    dsp = without_assembly(runtime, folder)
    builds = (
        runtime_build(runtime, plain, UPLINK),
        runtime_build(runtime, plain, *ALONE),
        runtime_build(folder, dsp, *DSP),
    )
    counts: dict[str, int] = {}
    for build in builds:
        for line, count in build.lines(corpora).items():
            counts[line] = max(count, counts.get(line, 0))
    for line in not_code(runtime):
        counts.pop(line, None)
    return Lines(len(counts), tuple(line for line, count in counts.items() if not count))


def runtime_conditions(corpora: Sequence[Path], runtime: Path = RUNTIME) -> Conditions:
    """Measure the branches and conditions of the runtime in plain C."""
    plain = sorted(runtime.glob("tcuq*.c"))
    return runtime_build(runtime, plain, UPLINK).conditions(corpora, ALONE)


def not_code(runtime: Path) -> Iterator[str]:
    """Yield lines no compiler here sees: directives, contracts, loops in assembly (emulated)."""
    for path in runtime.glob("tcuq*.[ch]"):
        text = path.read_text("utf-8")
        plain = BY_HAND.sub(lambda match: "#\n" * match[0].count("\n"), text)
        code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), plain)
        for number, line in enumerate(code.splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                yield f"{path.name}:{number}"
