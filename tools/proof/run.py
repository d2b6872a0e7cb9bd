# SPDX-License-Identifier: Apache-2.0
"""Proves the runtime: bounds, overflow and termination by Frama-C's WP, sums' widths by z3.

Fails if a goal is unproved that unproved.toml does not name with its reason, or if one that it
names is proved by now.
"""

import argparse
import fnmatch
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from tools.measurements.result import Row, report
from tools.proof.cache import cached
from tools.proof.widths import lemmas
from tools.proof.wp import MEANT, Proof, configure, prove, sources, versions

UNPROVED = Path(__file__).with_name("unproved.toml")


def unproved_goals() -> dict[str, dict[str, str]]:
    """Patterns of goals that stay unproved and why, by source."""
    return tomllib.loads(UNPROVED.read_text("utf-8"))


def prove_all(names: Sequence[str], seconds: int) -> Iterator[Proof]:
    """The sources, one after another on one core; those proved before as they are, from .proof."""
    with tempfile.TemporaryDirectory() as folder:
        environment = configure(Path(folder))
        for name in names:
            yield cached(name, seconds, partial(prove, name, environment, seconds=seconds))


def untried(unproved: dict[str, dict[str, str]]) -> dict[str, str]:
    """Sources without contracts, and why."""
    return {source: goals["*"] for source, goals in unproved.items() if "*" in goals}


def complaints(proof: Proof, reasons: dict[str, str]) -> Iterator[str]:
    """What must not be, of one source."""
    for goal in sorted(proof.unproved):
        if not any(fnmatch.fnmatchcase(goal, pattern) for pattern in reasons):
            yield f"{proof.source}: {goal} is not proved"
    for pattern in reasons:
        if not fnmatch.filter(proof.unproved, pattern):
            yield f"{proof.source}: {pattern} is proved by now; take it out of unproved.toml"
    yield from (f"{proof.source}: {gap}" for gap in proof.gaps)


def rows(proofs: Sequence[Proof], unproved: dict[str, dict[str, str]]) -> Iterator[Row]:
    """One a source, then the widths."""
    for proof in proofs:
        listed = unproved.get(proof.source, {})
        problems = list(complaints(proof, listed))
        for complaint in problems:
            print(complaint)
        for goal in sorted(proof.unproved):
            reasons = [why for pattern, why in listed.items() if fnmatch.fnmatch(goal, pattern)]
            print(
                f"{proof.source}: {goal} stays unproved: {'; '.join(reasons) or 'no reason given'}"
            )
        yield Row(
            f"goals of {proof.source} that are proved",
            f"all of {proof.total}" if not listed else f"all of {proof.total} but those named",
            f"{len(proof.proved)}",
            not problems,
        )
    for source, why in untried(unproved).items():
        what = f"goals of {source} that are proved"
        yield Row(what, "all, or why not", f"not tried: {why}", None)
    total, proved = sum(p.total for p in proofs), sum(len(p.proved) for p in proofs)
    yield Row("goals of the runtime that are proved", f"of {total:,}", f"{proved:,}", None)
    statements = [(stated, stated.holds()) for stated in lemmas()]
    for stated, holds in statements:
        if not holds:
            print(f"{stated.name}: does not hold")
    good = sum(holds for _, holds in statements)
    yield Row(
        "sums and products that cannot leave their C type", f"all of {len(statements)}", f"{good}",
        good == len(statements),
    )  # fmt: skip


def main() -> None:
    """Prove, compare with the list of unproved goals, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", help="files of the runtime; all if none")
    parser.add_argument("--write", action="store_true", help="keep the result in results/")
    parser.add_argument("--seconds", type=int, default=10, help="for each goal and prover")
    args = parser.parse_args()
    if args.write and args.sources:
        parser.error("a result is of all sources")
    begin = time.monotonic()
    proofs = []
    tried = [source for source in sources() if source not in untried(unproved_goals())]
    for proof in prove_all(args.sources or tried, args.seconds):
        print(f"{proof.source:20} {len(proof.proved):4} / {proof.total}", flush=True)
        proofs.append(proof)
    results = list(rows(proofs, unproved_goals()))
    print(f"{time.monotonic() - begin:.0f} s")
    sys.exit(
        report(
            "proof",
            results,
            ("z3-solver",),
            write=args.write,
            command="python -m tools.proof.run --write",
            tools=versions(),
            more={
                "unproved": unproved_goals(),
                "meant": {name: why for name, (_, why) in MEANT.items()},
            },
        )
    )


if __name__ == "__main__":
    main()
