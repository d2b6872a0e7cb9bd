# SPDX-License-Identifier: Apache-2.0
"""Bugs seeded in the uplink: how many its corpus and its tests find.

`--short` is CI's form: every 15th bug.
"""

import sys

from tools.fuzz.uplink_seeded import run_bugs
from tools.measurements.result import Row, arguments, report

LEAST_FOUND = 0.95


def main() -> None:
    """Seed, look for, and report."""
    args = arguments()
    outcomes = list(run_bugs(15 if args.short else 1))
    found = [by for _, by in outcomes if by]
    missed = [f"{bug.file}: {bug.old!r} -> {bug.new!r}" for bug, by in outcomes if not by]
    print("".join(f"not found: {line}\n" for line in missed), end="")
    rows = [
        Row("uplink: seeded bugs found", f"≥ 95 % of {len(outcomes)}", f"{len(found)}",
            len(found) >= LEAST_FOUND * len(outcomes)),
        Row("uplink: of these found by the fuzzer's corpus alone", "stated",
            f"{found.count('corpus')}", None),
    ]  # fmt: skip
    sys.exit(report("uplink_seeded", rows, (), write=args.write, more={"not_found": missed}))


if __name__ == "__main__":
    main()
