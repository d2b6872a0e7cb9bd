# SPDX-License-Identifier: Apache-2.0
"""Proves the runtime: bounds, overflow and termination by Frama-C's WP, sums' widths by z3.

Fails if a goal is unproved that unproved.toml does not name, if one that it names is proved by
now or is gone, or if a name there is a pattern.
"""

import argparse
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
MOST_OPEN = 40


def unproved_goals() -> dict[str, dict[str, str]]:
    """Exact names of the goals that stay unproved and why, by source."""
    listed: dict[str, dict[str, str]] = tomllib.loads(UNPROVED.read_text("utf-8"))
    for source, goals in listed.items():
        patterns = [goal for goal in goals if set(goal) & set("*?[")]
        if patterns:
            raise ValueError(
                f"unproved.toml, {source}: {patterns[0]!r} must be a goal's exact name"
            )
    return listed


def prove_all(names: Sequence[str]) -> Iterator[Proof]:
    """The sources, one after another on one core; those proved before as they are, from .proof."""
    with tempfile.TemporaryDirectory() as folder:
        environment = configure(Path(folder))
        for name in names:
            yield cached(name, partial(prove, name, environment))


def complaints(proof: Proof, reasons: dict[str, str]) -> Iterator[str]:
    """Why the proof of a source fails: new open goals, goals proved by now, gaps of contracts."""
    for goal in sorted(proof.unproved - reasons.keys()):
        yield f"{proof.source}: {goal} is not proved"
    for goal in sorted(reasons.keys() - proof.unproved):
        yield f"{proof.source}: {goal} is proved by now or gone; take it out of unproved.toml"
    yield from (f"{proof.source}: {gap}" for gap in proof.gaps)


def rows(proofs: Sequence[Proof], unproved: dict[str, dict[str, str]]) -> Iterator[Row]:
    """One a source, then the widths."""
    for proof in proofs:
        listed = unproved.get(proof.source, {})
        problems = list(complaints(proof, listed))
        for complaint in problems:
            print(complaint)
        yield Row(
            f"goals of {proof.source} that are proved",
            f"all of {proof.total}" if not listed else f"all of {proof.total} but those named",
            f"{len(proof.proved)}",
            not problems,
        )
    total, proved = sum(p.total for p in proofs), sum(len(p.proved) for p in proofs)
    yield Row("goals of runtime and uplink that are proved", f"of {total:,}", f"{proved:,}", None)
    opened = total - proved
    yield Row("open goals, each by its exact name", f"≤ {MOST_OPEN}", str(opened),
              opened <= MOST_OPEN)  # fmt: skip
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
    args = parser.parse_args()
    if args.write and args.sources:
        parser.error("a result is of all sources")
    begin = time.monotonic()
    proofs = []
    for proof in prove_all(args.sources or sources()):
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
