# SPDX-License-Identifier: Apache-2.0
"""Frama-C's WP over one source of the runtime: which goals there are and which are proved.

A goal is a contract, a loop invariant or variant, or the absence of one overflow or wild access.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNTIME = ROOT / "src/tcuq/runtime"
TABLES = "tcuq_tables.c"  # no code; every source is proved with the values in it
TOOLS = ("frama-c", "why3", "z3", "cvc4")
# Proved once, with tcuq_math.c: the header's functions and the lemmas are in every source.
SHARED = ("tcuq_dot", "tcuq_floor_shift")
HOME_OF_SHARED = "tcuq_math.c"
# Unsigned arithmetic that is meant to wrap, by function; everywhere else a wrap is an error.
WRAPS = {"tcuq_telemetry.c": {"tcuq_telemetry_count": "counters go on from 0 after 2^32 - 1"}}
# 32-bit pointers and int, as the devices have.
COMMAND = ("frama-c", "-machdep", "x86_32", "-wp", "-wp-rte", "-wp-prover", "z3,cvc4",
           "-warn-signed-overflow", "-warn-signed-downcast")  # fmt: skip

OUTCOME = re.compile(r"^\[wp\] \[[^\]]+\] Goal (\S+)(?: \([^)]*\))?( : Valid)?", re.MULTILINE)
COUNTS = re.compile(r"^\[wp\] Proved goals:\s+(\d+) / (\d+)", re.MULTILINE)
# What would make a proof say less than it seems to.
GAPS = re.compile(
    r"^.*(?:Missing assigns|Neither code nor spec|Cast with incompatible|[Dd]egenerated).*$",
    re.MULTILINE,
)
ASM_OR_LOOP = re.compile(r"^\s*(?:\} )?(?:for|while) \(", re.MULTILINE)


class ProofError(RuntimeError):
    """The prover is not installed, or did not understand the source."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The goals of one source."""

    source: str
    proved: frozenset[str]
    unproved: frozenset[str]
    gaps: tuple[str, ...]  # loops without a variant, calls without a contract

    @property
    def total(self) -> int:
        """How many goals there are."""
        return len(self.proved) + len(self.unproved)


def versions() -> dict[str, str]:
    """What each tool says it is."""
    asked = {"frama-c": "-version", "why3": "--version", "z3": "--version", "cvc4": "--version"}
    return {tool: _run([tool, option]).splitlines()[0].strip() for tool, option in asked.items()}


def configure(folder: Path) -> dict[str, str]:
    """An environment in which Why3 knows the provers installed here, and no others."""
    environment = os.environ | {"WHY3CONFIG": str(folder / "why3.conf")}
    _run(["why3", "config", "detect"], environment=environment)
    return environment


def prove(
    source: str,
    environment: dict[str, str],
    *,
    runtime: Path = RUNTIME,
    seconds: int = 10,
    functions: Sequence[str] = (),
    processes: int = 1,
) -> Proof:
    """Every goal of a source (or of some functions), each tried for some seconds."""
    wraps = WRAPS.get(source, {})
    elsewhere = () if source == HOME_OF_SHARED else SHARED
    strict = ["-warn-unsigned-overflow"]
    if functions:
        strict += ["-wp-fct", ",".join(functions)]
    elif wraps or elsewhere:
        strict += ["-wp-skip-fct", ",".join([*wraps, *elsewhere])]
    runs = [strict] + ([["-wp-fct", ",".join(wraps)]] if wraps and not functions else [])
    command = [
        *COMMAND, "-wp-timeout", str(seconds), "-wp-par", str(processes),
        f"-cpp-extra-args=-I{runtime} -include {runtime / TABLES}",
        *([] if source == HOME_OF_SHARED else ["-wp-prop=-@lemma"]),
        str(runtime / source),
    ]  # fmt: skip
    texts = [_run([*command, *options], environment=environment) for options in runs]
    gaps = [line.strip() for text in texts for line in GAPS.findall(text)]
    gaps += _loops_without_variant((runtime / source).read_text("utf-8"))
    proved: set[str] = set()
    unproved: set[str] = set()
    for text in texts:
        yes, no = read(text)
        proved |= yes
        unproved |= no
    return Proof(source, frozenset(proved), frozenset(unproved), tuple(gaps))


def read(text: str) -> tuple[set[str], set[str]]:
    """The names of the proved and the unproved goals in what WP printed."""
    goals = {name: bool(valid) for name, valid in OUTCOME.findall(text)}
    proved = {name for name, valid in goals.items() if valid}
    counts = COUNTS.search(text)
    if counts is None or (len(proved), len(goals)) != (int(counts[1]), int(counts[2])):
        raise ProofError(f"cannot make out the goals in:\n{text[-2000:]}")
    return proved, goals.keys() - proved


def _loops_without_variant(text: str) -> list[str]:
    loops, variants = len(ASM_OR_LOOP.findall(text)), text.count("loop variant")
    return [] if loops <= variants else [f"{loops} loops, {variants} variants"]


def _run(command: Sequence[str], *, environment: dict[str, str] | None = None) -> str:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise ProofError(
            f"not installed: {', '.join(missing)}; on Debian: apt-get install"
            " --no-install-recommends frama-c-base why3 z3 cvc4 gcc"
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise ProofError(f"exit code {done.returncode}: {' '.join(command)}\n{done.stdout[-2000:]}")
    return done.stdout
