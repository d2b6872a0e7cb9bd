# SPDX-License-Identifier: Apache-2.0
"""The fuzzer: profiles, steps, snapshots and records for the runtime, under sanitizers.

`--seconds 20` is CI's form, `make fuzz` the long one. Any finding fails; its input is saved.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from results.result import Row, figure, report, tool_version
from tests.fixtures.firmware.toolchain import ALONE, RUNTIME, run
from tools.cpu_time import children_seconds
from tools.fuzz.coverage import Conditions, Lines, runtime_conditions, runtime_lines
from tools.fuzz.fuzzers import HERE, build, build_pair
from tools.fuzz.seeds import write

CORPUS = HERE / "corpus"
FINDINGS = HERE / "findings"  # inputs that broke something, not in the repository
LONGEST = 1024  # bytes of an input
LONG_SECONDS = 600  # of CPU time, what the kept result must show
KEPT_INPUTS = 1_000_000  # of a campaign of its own, what its kept result must show
LEAST_BRANCHES, LEAST_CONDITIONS = 0.97, 0.95


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the fuzzer did; `found` is its report of a finding, empty if there is none."""

    executions: int
    edges: int
    cpu_seconds: float
    finding: str

    def then(self, later: "Outcome") -> "Outcome":
        """Return both runs as one."""
        return Outcome(
            self.executions + later.executions,
            max(self.edges, later.edges),
            self.cpu_seconds + later.cpu_seconds,
            later.finding,
        )


def fuzz(
    fuzzer: Path,
    corpora: Sequence[Path],
    seconds: int,
    *,
    most: int = -1,
    longest: int = LONGEST,
    seed: int = 0,
) -> Outcome:
    """Run all inputs of the corpora, then new ones in the first, for so long or so many.

    The same seed gives the same inputs; 0: others each time.
    """
    before = children_seconds()
    done = subprocess.run(
        [fuzzer, f"-max_total_time={seconds}", f"-runs={most}", f"-max_len={longest}",
         f"-seed={seed}",
         "-len_control=0", "-timeout=10", "-print_final_stats=1", *corpora],
        cwd=fuzzer.parent, capture_output=True, text=True, errors="replace", check=False,
        timeout=seconds + 120,
    )  # fmt: skip
    spent = children_seconds() - before
    executions = _last(r"number_of_executed_units: (\d+)", done.stderr)
    report_lines = [line for line in done.stderr.splitlines() if not line.startswith("#")]
    finding = "\n".join(report_lines[-60:]) if done.returncode else ""
    return Outcome(executions, _last(r" cov: (\d+)", done.stderr), spent, finding)


def replay(fuzzer: Path, corpora: Sequence[Path]) -> Outcome:
    """Run the inputs of the corpora and no others."""
    return fuzz(fuzzer, corpora, 60, most=0)


def _last(pattern: str, text: str) -> int:
    numbers = re.findall(pattern, text)
    return int(numbers[-1]) if numbers else 0


def merge(fuzzer: Path, corpora: Sequence[Path], into: Path) -> None:
    """Write the fewest inputs that reach every edge the corpora reach."""
    into.mkdir()
    run([fuzzer, "-set_cover_merge=1", "-use_counters=0", into, *corpora], cwd=fuzzer.parent)


def save_findings(folder: Path) -> list[Path]:
    """Copy inputs that broke something to a folder that no build removes."""
    copies = []
    for prefix in ("crash", "timeout", "oom", "leak"):
        for path in folder.glob(f"*/{prefix}-*"):
            FINDINGS.mkdir(exist_ok=True)
            copies.append(Path(shutil.copy(path, FINDINGS)))
    return copies


def stop_at_finding(outcome: Outcome, folder: Path) -> None:
    """Save the finding of a campaign and exit with it if there is one."""
    if outcome.finding:
        print(outcome.finding)
        sys.exit(f"fuzz: saved {' '.join(map(str, save_findings(folder)))}")


def run_campaign(
    name: str,
    campaign: Callable[[Path, int, int], Outcome],
    description: str | None,
    seconds: int,
    merge_corpus: Callable[[Sequence[Path]], None] | None = None,
) -> None:
    """Run a fuzzer of its own from the command line, or make its corpus anew.

    `--write` keeps what it did in results/fuzz_NAME.json.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=int, default=seconds, help=f"how long ({seconds})")
    parser.add_argument("--runs", type=int, default=-1, help="at most so many inputs")
    parser.add_argument("--write", action="store_true", help="write the result to results/")
    if merge_corpus is not None:
        parser.add_argument("--merge", nargs="*", type=Path, help="make the corpus anew, of these")
    args = parser.parse_args()
    if merge_corpus is not None and args.merge is not None:
        merge_corpus(args.merge)
        return
    with tempfile.TemporaryDirectory() as folder:
        outcome = campaign(Path(folder), args.seconds, args.runs)
        stop_at_finding(outcome, Path(folder))
    done = [
        Row(
            f"{name}: inputs without a finding under address, undefined and integer sanitizers",
            f"≥ {KEPT_INPUTS:,}" if args.write else "stated",
            f"{outcome.executions:,}",
            outcome.executions >= KEPT_INPUTS if args.write else None,
        ),
        figure(f"{name}: edges reached", f"{outcome.edges:,}"),
    ]
    tools = {"clang": tool_version("clang")}
    sys.exit(report(f"fuzz_{name}", done, (), write=args.write, tools=tools))


def rows(outcome: Outcome, coverage: Lines, conditions: Conditions, *, long: bool) -> Iterator[Row]:
    """Yield what must hold, and what is stated beside it."""
    yield Row(
        "findings of the fuzzer under address, undefined and integer sanitizers",
        "0", "1" if outcome.finding else "0", not outcome.finding,
    )  # fmt: skip
    yield Row(
        "CPU seconds of fuzzing",
        f"≥ {LONG_SECONDS}" if long else "stated",
        f"{outcome.cpu_seconds:.0f}",
        outcome.cpu_seconds >= LONG_SECONDS if long else None,
    )
    yield figure("inputs executed", f"{outcome.executions:,}")
    yield figure("edges of the runtime reached", f"{outcome.edges:,}")
    covered = coverage.lines - len(coverage.missed)
    what = "lines of the runtime that the kept inputs reach"
    yield Row(what, f"all of {coverage.lines:,}", f"{covered:,}", not coverage.missed)
    yield Row(
        f"branches of the runtime that the kept inputs cover, of {conditions.branches:,}",
        f"≥ {100 * LEAST_BRANCHES:.0f} %", f"{100 * conditions.branch_share:.1f} %",
        conditions.branch_share >= LEAST_BRANCHES,
    )  # fmt: skip
    yield Row(
        f"MC/DC of the runtime by the kept inputs, of {conditions.conditions:,} conditions",
        f"≥ {100 * LEAST_CONDITIONS:.0f} %", f"{100 * conditions.condition_share:.1f} %",
        conditions.condition_share >= LEAST_CONDITIONS,
    )  # fmt: skip


def campaign(folder: Path, runtime: Path, seconds: int, *, long: bool, keep: bool) -> Outcome:
    """Fuzz, then run all inputs through the builds that leave parts out."""
    fresh, seeds = folder / "fresh", folder / "seeds"
    fresh.mkdir()
    write(seeds)
    CORPUS.mkdir(exist_ok=True)
    corpora = [fresh, seeds, CORPUS]
    fuzzer = build_pair(folder / "pair", runtime)
    outcome = fuzz(fuzzer, corpora, seconds)
    while long and not outcome.finding and outcome.cpu_seconds < LONG_SECONDS:  # a busy machine
        outcome = outcome.then(fuzz(fuzzer, corpora, seconds // 4))
    for options in [*((option,) for option in ALONE if long), ALONE]:
        if not outcome.finding:
            reduced = build(folder / "-".join(options), runtime, options)
            outcome = outcome.then(replay(reduced, corpora))
    if keep and not outcome.finding:
        merge(fuzzer, corpora, folder / "merged")
        shutil.rmtree(CORPUS)
        shutil.copytree(folder / "merged", CORPUS)
    return outcome


def main() -> None:
    """Build, fuzz, report; with --merge, keep what was learned in the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long to fuzz (60)")
    parser.add_argument("--merge", action="store_true", help="make tools/fuzz/corpus anew")
    parser.add_argument("--write", action="store_true", help="keep the result in results/")
    parser.add_argument("--runtime", type=Path, default=RUNTIME, help="another copy of the runtime")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, runtime = Path(name), args.runtime.resolve()
        outcome = campaign(folder, runtime, args.seconds, long=args.write, keep=args.merge)
        stop_at_finding(outcome, folder)
        corpora = [folder / "seeds", CORPUS]
        coverage = runtime_lines(folder / "coverage", corpora, runtime)
        conditions = runtime_conditions(corpora, runtime)
    for line in coverage.missed:
        print(f"not reached: {line}")
    results = list(rows(outcome, coverage, conditions, long=args.write))
    tools = {"clang": tool_version("clang")}
    sys.exit(report("fuzz", results, (), write=args.write, tools=tools))


if __name__ == "__main__":
    main()
