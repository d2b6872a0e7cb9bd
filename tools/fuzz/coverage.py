# SPDX-License-Identifier: Apache-2.0
"""Which lines of the runtime the corpus covers, over all builds: whole, smallest and DSP."""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fixtures.firmware.toolchain import ALONE, RUNTIME, ToolError, run
from tools.fuzz.fuzzers import BY_HAND, DSP, HERE, without_assembly

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Lines with code, and those (file:line) that no input reached in any build."""

    lines: int
    missed: tuple[str, ...]


def line_coverage(folder: Path, corpora: Sequence[Path], runtime: Path = RUNTIME) -> Coverage:
    """Run the corpora through builds that count lines."""
    plain = sorted(runtime.glob("tcuq*.c"))
    builds: dict[str, tuple[list[Path], Sequence[str]]] = {
        "whole": (plain, ()),
        "alone": (plain, ALONE),
        "dsp": (without_assembly(runtime, folder / "dsp_sources"), DSP),
    }
    counts: dict[str, int] = {}
    for name, (sources, options) in builds.items():
        for line, count in _counted(folder / name, corpora, sources, options).items():
            counts[line] = max(count, counts.get(line, 0))
    for line in not_code(runtime):
        counts.pop(line, None)
    return Coverage(len(counts), tuple(line for line, count in counts.items() if not count))


def not_code(runtime: Path) -> Iterator[str]:
    """Lines no compiler here sees: directives, contracts, and loops by hand (emulated instead)."""
    for path in runtime.glob("tcuq*.[ch]"):
        text = path.read_text("utf-8")
        plain = BY_HAND.sub(lambda match: "#\n" * match[0].count("\n"), text)
        code = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), plain)
        for number, line in enumerate(code.splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                yield f"{path.name}:{number}"


def _counted(
    folder: Path, corpora: Sequence[Path], sources: Sequence[Path], options: Sequence[str]
) -> dict[str, int]:
    folder.mkdir(parents=True)
    mine, runtime = sorted(HERE.glob("*.c")), sources[0].parent
    counting = ("-fprofile-instr-generate", "-fcoverage-mapping")
    run(["clang", "-std=c99", "-O0", *options, *counting, "-c", *sources], cwd=folder)
    run(["clang", "-std=c99", "-O1", *options, f"-I{runtime}", "-c", *mine], cwd=folder)
    objects = [folder / f"{source.stem}.o" for source in (*sources, *mine)]
    run(["clang", "-fsanitize=fuzzer", counting[0], *objects, "-o", folder / "fuzzer"])
    done = subprocess.run(
        [folder / "fuzzer", "-runs=0", *corpora],
        env={**os.environ, "LLVM_PROFILE_FILE": str(folder / "raw")},
        cwd=folder, capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        raise ToolError(f"the corpus ends with code {done.returncode}:\n{done.stderr[-2000:]}")
    run(["llvm-profdata", "merge", "raw", "-o", "merged"], cwd=folder)
    exported = run(
        ["llvm-cov", "export", "-format=lcov", "-instr-profile=merged", folder / "fuzzer"],
        cwd=folder,
    )
    return _lines(exported)


def _lines(tracefile: str) -> dict[str, int]:
    """How often each line ran; the public header has macros only, arm_acle.h is ours."""
    counts: dict[str, int] = {}
    name = ""
    for record in tracefile.splitlines():
        kind, _, value = record.partition(":")
        if kind == "SF":
            name = Path(value).name
        elif kind == "DA" and name not in ("tcuq.h", "arm_acle.h"):
            line, count = value.split(",")[:2]
            counts[f"{name}:{line}"] = int(count)
    return counts
