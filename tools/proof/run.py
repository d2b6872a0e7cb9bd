# SPDX-License-Identifier: Apache-2.0
"""Proves the runtime: bounds, overflow and termination by Frama-C's WP, sums' widths by z3.

Fails if a goal is unproved that neither unproved.toml nor otherwise.toml names, if one that
unproved.toml names is proved by now, if one that either names is gone, if a name there is a
pattern, or if the statement that proves a goal otherwise does not hold. A run of some sources
tries only some inputs of their functions.
"""

import argparse
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from results.result import Row, report
from tools.proof.cache import cached
from tools.proof.exhaustive import SHORT, exhaustive
from tools.proof.widths import lemmas
from tools.proof.wp import MEANT, UNREAD, Proof, configure, prove, sources, versions

Listed = dict[str, dict[str, str]]  # by source and a goal's exact name

UNPROVED = Path(__file__).with_name("unproved.toml")
OTHERWISE = Path(__file__).with_name("otherwise.toml")
MOST_OPEN = 15


def unproved_goals() -> Listed:
    """Read the exact names of the goals that stay unproved, and why, by source."""
    return _listed(UNPROVED)


def otherwise_goals() -> Listed:
    """Read the exact names of the goals that are proved by other statements, by source."""
    return _listed(OTHERWISE)


def _listed(path: Path) -> Listed:
    listed: Listed = tomllib.loads(path.read_text("utf-8"))
    for source, goals in listed.items():
        patterns = [goal for goal in goals if set(goal) & set("*?[")]
        if patterns:
            raise ValueError(f"{path.name}, {source}: {patterns[0]!r} must be a goal's exact name")
    return listed


def prove_all(names: Sequence[str]) -> Iterator[Proof]:
    """Prove the sources one after another; those proved before are read from the cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = configure(Path(folder))
        for name in names:
            yield cached(name, partial(prove, name, environment))


def complaints(
    proof: Proof, reasons: Mapping[str, str], otherwise: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield why a source's proof fails: new open goals, goals proved by now, gaps."""
    otherwise = otherwise or {}
    for goal in sorted(proof.unproved - reasons.keys() - otherwise.keys()):
        yield f"{proof.source}: {goal} is not proved"
    for goal in sorted(reasons.keys() - proof.unproved):
        yield f"{proof.source}: {goal} is proved by now or gone; take it out of {UNPROVED.name}"
    # One that WP proves too is no fault: near its limit of seconds it may do so or not.
    for goal in sorted(otherwise.keys() - proof.unproved - proof.proved):
        yield f"{proof.source}: {goal} is gone; take it out of {OTHERWISE.name}"
    yield from (f"{proof.source}: {gap}" for gap in proof.gaps)


def refused(source: str, otherwise: Mapping[str, str], holds: Mapping[str, bool]) -> Iterator[str]:
    """Yield goals of otherwise.toml whose statement is missing or does not hold."""
    for goal, statement in otherwise.items():
        if statement not in holds:
            yield f"{source}: {goal}: there is no statement {statement!r}"
        elif not holds[statement]:
            yield f"{source}: {goal}: {statement!r} does not hold"


def rows(
    proofs: Sequence[Proof], unproved: Listed, otherwise: Listed, stride: int = 1
) -> Iterator[Row]:
    """Yield one row per source, then goals proved otherwise, open goals and widths."""
    for proof in proofs:
        listed, others = unproved.get(proof.source, {}), otherwise.get(proof.source, {})
        problems = list(complaints(proof, listed, others))
        for complaint in problems:
            print(complaint)
        yield Row(
            f"goals of {proof.source} that are proved",
            f"all of {proof.total}" + (" but those named" if listed or others else ""),
            f"{len(proof.proved)}",
            not problems,
        )
    total, proved = sum(p.total for p in proofs), sum(len(p.proved) for p in proofs)
    yield Row(
        "goals of runtime, uplink and blobs that are proved", f"of {total:,}", f"{proved:,}", None
    )
    statements = [(statement.name, statement.holds()) for statement in lemmas()]
    chosen = {proof.source: otherwise.get(proof.source, {}) for proof in proofs}
    named = {statement for goals in chosen.values() for statement in goals.values()}
    tried = [(statement.name, statement.holds()) for statement in exhaustive(named, stride)]
    failed = {name for name, holds in (*statements, *tried) if not holds}
    for name in sorted(failed):
        print(f"{name}: does not hold")
    closed = _closed(proofs, chosen, {name: name not in failed for name, _ in statements + tried})
    if named:
        entries = sum(len(chosen[proof.source].keys() & proof.unproved) for proof in proofs)
        by = "every input" if stride == 1 else f"one input in {stride:,}"
        yield Row(f"goals proved otherwise: by a lemma on widths, or by running {by}",
                  f"all of {entries}", str(closed), closed == entries)  # fmt: skip
    opened = total - proved - closed
    yield Row("open goals, each by its exact name", f"≤ {MOST_OPEN}", str(opened),
              opened <= MOST_OPEN)  # fmt: skip
    good = sum(holds for _, holds in statements)
    yield Row(
        "sums and products that cannot leave their C type", f"all of {len(statements)}", f"{good}",
        good == len(statements),
    )  # fmt: skip


def _closed(proofs: Sequence[Proof], otherwise: Listed, holds: Mapping[str, bool]) -> int:
    """Count the goals that are proved otherwise; print why others are not."""
    closed = 0
    for proof in proofs:
        goals = otherwise[proof.source]
        for complaint in refused(proof.source, goals, holds):
            print(complaint)
        closed += sum(holds.get(goals[goal], False) for goal in goals.keys() & proof.unproved)
    return closed


def main() -> None:
    """Prove, compare with the list of unproved goals, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", help="files of the runtime; all if none")
    parser.add_argument("--write", action="store_true", help="keep the result in results/")
    args = parser.parse_args()
    if args.write and args.sources:
        parser.error("a result is of all sources")
    begin = time.monotonic()
    proofs = []
    for proof in prove_all(args.sources or sources()):
        print(f"{proof.source:20} {len(proof.proved):4} / {proof.total}", flush=True)
        proofs.append(proof)
    stride = SHORT if args.sources else 1
    results = list(rows(proofs, unproved_goals(), otherwise_goals(), stride))
    print(f"{time.monotonic() - begin:.0f} s")
    sys.exit(
        report(
            "proof",
            results,
            ("z3-solver",),
            write=args.write,
            tools=versions(),
            more={
                "unproved": unproved_goals(),
                "otherwise": otherwise_goals(),
                "unread": UNREAD,
                "meant": {name: why for name, (_, why) in MEANT.items()},
            },
        )
    )


if __name__ == "__main__":
    main()
