# SPDX-License-Identifier: Apache-2.0
"""The fuzzer: profiles, steps, snapshots and records for the runtime, under sanitizers.

`--seconds 60` is CI's form, `make fuzz` the long one. Any finding fails; its input is kept.
"""

import argparse
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "measurements"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "firmware"))

from fuzzers import build, build_pair
from reach import Reach, reach
from result import Row, report
from seeds import write
from toolchain import ALONE, RUNTIME, run

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
KEPT = HERE / "found"  # inputs that broke something, not in the repository
LONGEST = 1024  # bytes of an input
LONG_SECONDS = 600  # of CPU time, what the kept result must show


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the fuzzer did; `found` is its report of a finding, empty if there is none."""

    executions: int
    edges: int
    cpu_seconds: float
    found: str

    def then(self, later: "Outcome") -> "Outcome":
        """Both runs as one."""
        return Outcome(
            self.executions + later.executions,
            max(self.edges, later.edges),
            self.cpu_seconds + later.cpu_seconds,
            later.found,
        )


def fuzz(fuzzer: Path, corpora: Sequence[Path], seconds: int, *, most: int = -1) -> Outcome:
    """Run all inputs of the corpora, then new ones in the first, for so long or so many."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [fuzzer, f"-max_total_time={seconds}", f"-runs={most}", f"-max_len={LONGEST}",
         "-len_control=0", "-timeout=10", "-print_final_stats=1", *corpora],
        cwd=fuzzer.parent, capture_output=True, text=True, errors="replace", check=False,
        timeout=seconds + 120,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    executions = _last(r"number_of_executed_units: (\d+)", done.stderr)
    report_lines = [line for line in done.stderr.splitlines() if not line.startswith("#")]
    found = "\n".join(report_lines[-60:]) if done.returncode else ""
    return Outcome(executions, _last(r" cov: (\d+)", done.stderr), spent, found)


def replay(fuzzer: Path, corpora: Sequence[Path]) -> Outcome:
    """Run the inputs of the corpora and no others."""
    return fuzz(fuzzer, corpora, 60, most=0)


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def merge(fuzzer: Path, corpora: Sequence[Path], into: Path) -> None:
    """The fewest inputs that reach every edge the corpora reach."""
    into.mkdir()
    run([fuzzer, "-set_cover_merge=1", "-use_counters=0", into, *corpora], cwd=fuzzer.parent)


def keep_inputs(folder: Path) -> list[Path]:
    """The inputs that broke something, where the next build does not remove them."""
    kept = []
    for prefix in ("crash", "timeout", "oom", "leak"):
        for path in folder.glob(f"*/{prefix}-*"):
            KEPT.mkdir(exist_ok=True)
            kept.append(Path(shutil.copy(path, KEPT)))
    return kept


def rows(outcome: Outcome, seen: Reach, *, long: bool) -> Iterator[Row]:
    """What must hold, and what is stated beside it."""
    yield Row(
        "findings of the fuzzer under address, undefined and integer sanitizers",
        "0", "1" if outcome.found else "0", not outcome.found,
    )  # fmt: skip
    yield Row(
        "CPU seconds of fuzzing",
        f"≥ {LONG_SECONDS}" if long else "stated",
        f"{outcome.cpu_seconds:.0f}",
        outcome.cpu_seconds >= LONG_SECONDS if long else None,
    )
    yield Row("inputs executed", "stated", f"{outcome.executions:,}", None)
    yield Row("edges of the runtime reached", "stated", f"{outcome.edges:,}", None)
    yield Row(
        "lines of the runtime that the kept inputs reach",
        f"all of {seen.lines:,}", f"{seen.lines - len(seen.missed):,}", not seen.missed,
    )  # fmt: skip


def attack(folder: Path, runtime: Path, seconds: int, *, long: bool, keep: bool) -> Outcome:
    """Fuzz, then run what was found through the builds that leave parts out."""
    fresh, seeds = folder / "fresh", folder / "seeds"
    fresh.mkdir()
    write(seeds)
    CORPUS.mkdir(exist_ok=True)
    corpora = [fresh, seeds, CORPUS]
    fuzzer = build_pair(folder / "pair", runtime)
    outcome = fuzz(fuzzer, corpora, seconds)
    while long and not outcome.found and outcome.cpu_seconds < LONG_SECONDS:  # a busy machine
        outcome = outcome.then(fuzz(fuzzer, corpora, seconds // 4))
    for options in [*((option,) for option in ALONE if long), ALONE]:
        if not outcome.found:
            reduced = build(folder / "-".join(options), runtime, options)
            outcome = outcome.then(replay(reduced, corpora))
    if keep and not outcome.found:
        merge(fuzzer, corpora, folder / "merged")
        shutil.rmtree(CORPUS)
        shutil.copytree(folder / "merged", CORPUS)
    return outcome


def main() -> None:
    """Build, fuzz, report; with --merge, keep what was learned in the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long to fuzz (60)")
    parser.add_argument("--merge", action="store_true", help="make attack/corpus anew")
    parser.add_argument("--json", action="store_true", help="keep the result in results/")
    parser.add_argument("--runtime", type=Path, default=RUNTIME, help="another copy of the runtime")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, runtime = Path(name), asked.runtime.resolve()
        outcome = attack(folder, runtime, asked.seconds, long=asked.json, keep=asked.merge)
        if outcome.found:
            print(outcome.found)
            sys.exit(f"fuzz: kept {' '.join(map(str, keep_inputs(folder)))}")
        seen = reach(folder / "reach", [folder / "seeds", CORPUS], runtime)
    for line in seen.missed:
        print(f"not reached: {line}")
    made = list(rows(outcome, seen, long=asked.json))
    clang = run(["clang", "--version"]).splitlines()[0]
    command = f"python attack/fuzz.py --seconds {asked.seconds} --json"
    sys.exit(report("fuzz", made, (), write=asked.json, command=command, tools={"clang": clang}))


if __name__ == "__main__":
    main()
