# SPDX-License-Identifier: Apache-2.0
"""Puts each seeded bug into a copy of the slots and tags and says what finds it.

A bug of tags is for their tests; one of slots for so many inputs of the slots' fuzzer, always the
same, then for the slots' tests. `--short` is CI's form: every fifth bug.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import Row, arguments, report
from tests.fixtures.firmware.toolchain import OTA, UPLINK
from tools.fuzz import slots
from tools.fuzz.run import fuzz
from tools.seeded_bugs import Bug, failing_test, read_bugs, seed

BUGS = Path(__file__).with_name("slots_bugs.toml")
INPUTS, SECONDS, SHORT_EVERY = 300_000, 60, 5
TAGS, SLOTS = "tests/ota/test_tags.py", "tests/ota/test_slots.py"


def found_by(bug: Bug, folder: Path) -> str:
    """Return what finds the bug, or ""."""
    for source in (UPLINK, OTA):
        shutil.copytree(source, folder / source.name)
    seed(bug, folder / bug.file, BUGS.name)
    if bug.file.startswith("uplink"):
        return failing_test([TAGS], TCUQ_SOURCES=str(folder))
    fuzzer = slots.build(folder / "build", folder / "ota", folder / "uplink")
    (folder / "fresh").mkdir()
    outcome = fuzz(fuzzer, [folder / "fresh"], SECONDS, most=INPUTS, longest=slots.LONGEST, seed=1)
    if outcome.finding:
        return "fuzzer"
    return failing_test([SLOTS], TCUQ_BUG=f"{bug.old}\x1f{bug.new}")


def run_bugs(every: int = 1) -> Iterator[tuple[Bug, str]]:
    """Yield every so manieth bug with what finds it."""
    with tempfile.TemporaryDirectory() as name:
        for number, bug in enumerate(read_bugs(BUGS)[::every]):
            yield bug, found_by(bug, Path(name) / str(number))


def main() -> None:
    """Seed each bug, look for it, and report."""
    args = arguments()
    outcomes = []
    for bug, by in run_bugs(SHORT_EVERY if args.short else 1):
        outcomes.append((bug.name, by))
        print(f"{by or 'NOT FOUND':24} {bug.name}", flush=True)
    missed = [name for name, by in outcomes if not by]
    count = str(len(outcomes) - len(missed))
    rows = [Row("slots and tags: seeded bugs found by behaviour", f"all of {len(outcomes)}", count,
                not missed)]  # fmt: skip
    sys.exit(report("slots_seeded", rows, (), write=args.write, more={"not_found": missed}))


if __name__ == "__main__":
    main()
