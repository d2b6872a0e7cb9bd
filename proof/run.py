# SPDX-License-Identifier: Apache-2.0
"""Proves the runtime: bounds, overflow and termination by Frama-C's WP, sums' widths by z3.

Fails if a goal is unproved that left.toml does not name with its reason, or if one that it names
is proved by now.
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "measurements"))

from proof.kept import kept
from proof.widths import lemmas
from proof.wp import MEANT, Proof, configure, prove, sources, versions
from result import Row, report

LEFT = Path(__file__).with_name("left.toml")


def known() -> dict[str, dict[str, str]]:
    """Patterns of goals that stay unproved and why, by source."""
    return tomllib.loads(LEFT.read_text("utf-8"))


def prove_all(names: Sequence[str], seconds: int) -> Iterator[Proof]:
    """The sources, one after another on one core; those proved before as they are, from .proof."""
    with tempfile.TemporaryDirectory() as folder:
        environment = configure(Path(folder))
        for name in names:
            yield kept(name, seconds, partial(prove, name, environment, seconds=seconds))


def untried(left: dict[str, dict[str, str]]) -> dict[str, str]:
    """Sources without contracts, and why."""
    return {source: goals["*"] for source, goals in left.items() if "*" in goals}


def complaints(proof: Proof, left: dict[str, str]) -> Iterator[str]:
    """What must not be, of one source."""
    for goal in sorted(proof.unproved):
        if not any(fnmatch.fnmatchcase(goal, pattern) for pattern in left):
            yield f"{proof.source}: {goal} is not proved"
    for pattern in left:
        if not fnmatch.filter(proof.unproved, pattern):
            yield f"{proof.source}: {pattern} is proved by now; take it out of left.toml"
    yield from (f"{proof.source}: {gap}" for gap in proof.gaps)


def rows(proofs: Sequence[Proof], left: dict[str, dict[str, str]]) -> Iterator[Row]:
    """One a source, then the widths."""
    for proof in proofs:
        listed = left.get(proof.source, {})
        found = list(complaints(proof, listed))
        for complaint in found:
            print(complaint)
        for goal in sorted(proof.unproved):
            reasons = [why for pattern, why in listed.items() if fnmatch.fnmatch(goal, pattern)]
            print(f"{proof.source}: {goal} is left: {'; '.join(reasons) or 'no reason given'}")
        yield Row(
            f"goals of {proof.source} that are proved",
            f"all of {proof.total}" if not listed else f"all of {proof.total} but those named",
            f"{len(proof.proved)}",
            not found,
        )
    for source, why in untried(left).items():
        what = f"goals of {source} that are proved"
        yield Row(what, "all, or why not", f"not tried: {why}", None)
    total, proved = sum(p.total for p in proofs), sum(len(p.proved) for p in proofs)
    yield Row("goals of the runtime that are proved", f"of {total:,}", f"{proved:,}", None)
    held = [(stated, stated.holds()) for stated in lemmas()]
    for stated, holds in held:
        if not holds:
            print(f"{stated.name}: does not hold")
    good = sum(holds for _, holds in held)
    yield Row(
        "sums and products that cannot leave their C type", f"all of {len(held)}", f"{good}",
        good == len(held),
    )  # fmt: skip


def main() -> None:
    """Prove, compare with what is known to be left, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", help="files of the runtime; all if none")
    parser.add_argument("--json", action="store_true", help="keep the result in results/")
    parser.add_argument("--seconds", type=int, default=10, help="for each goal and prover")
    asked = parser.parse_args()
    if asked.json and asked.sources:
        parser.error("a result is of all sources")
    begin = time.monotonic()
    proofs = []
    tried = [source for source in sources() if source not in untried(known())]
    for proof in prove_all(asked.sources or tried, asked.seconds):
        print(f"{proof.source:20} {len(proof.proved):4} / {proof.total}", flush=True)
        proofs.append(proof)
    made = list(rows(proofs, known()))
    print(f"{time.monotonic() - begin:.0f} s")
    sys.exit(
        report(
            "proof",
            made,
            ("z3-solver",),
            write=asked.json,
            command="python proof/run.py --json",
            tools=versions(),
            more={
                "left": known(),
                "meant": {name: why for name, (_, why) in MEANT.items()},
            },
        )
    )


if __name__ == "__main__":
    main()
