# SPDX-License-Identifier: Apache-2.0
"""Puts each seeded bug into a copy of the C sources and checks that the proof gate refuses it.

The sound function must pass first. `--short` is CI's form.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import Row, arguments, report
from tests.fixtures.firmware.toolchain import ToolError
from tools.proof.run import complaints, otherwise_goals, unproved_goals
from tools.proof.wp import FOLDERS, PACKAGE, Proof, configure, locate, prove, seconds, versions
from tools.seeded_bugs import Bug, read_bugs, seed

BUGS = Path(__file__).with_name("seeded.toml")
LEAST_BUGS = 20
PATIENCE = 1 / 3  # of the limit of a goal: what is sound is proved in it, a bug's goal never


def seeded_package(bug: Bug, folder: Path) -> Path:
    """Copy the C sources with the bug in them."""
    for name in FOLDERS:
        shutil.copytree(PACKAGE / name, folder / name)
    seed(bug, locate(bug.file, folder), BUGS.name)
    return folder


def refusals(proof: Proof, function: str) -> list[str]:
    """Return what the gate says against the proof of one function."""
    unproved, otherwise = (
        {goal: why for goal, why in listed.get(proof.source, {}).items()
         if goal.startswith(f"typed_{function}_")}
        for listed in (unproved_goals(), otherwise_goals())
    )  # fmt: skip
    return list(complaints(proof, unproved, otherwise))


def run_bugs(*, short: bool) -> Iterator[tuple[Bug, list[str]]]:
    """Yield each bug with what the gate says against it."""
    chosen = [bug for bug in read_bugs(BUGS) if bug.short or not short]
    sound: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory() as name:
        environment = configure(Path(name))
        for number, bug in enumerate(chosen):
            only, limit = (bug.function,), round(PATIENCE * seconds(bug.file))
            if (bug.file, bug.function) not in sound:
                against = refusals(
                    prove(bug.file, environment, only=only, limit=limit), bug.function
                )
                if against:
                    raise ToolError(f"without a bug: {'; '.join(against)}")
                sound.add((bug.file, bug.function))
            package = seeded_package(bug, Path(name) / str(number))
            broken = prove(bug.file, environment, package=package, only=only, limit=limit)
            yield bug, refusals(broken, bug.function)


def main() -> None:
    """Seed each bug, prove its function, and report."""
    args = arguments()
    outcomes = []
    for bug, against in run_bugs(short=args.short):
        print(f"{'refused' if against else 'ACCEPTED'}  {bug}", flush=True)
        outcomes.append((str(bug), against))
    refused = sum(bool(against) for _, against in outcomes)
    least = 0 if args.short else LEAST_BUGS
    rows = [
        Row("proof: seeded bugs that the proof gate refuses", f"all of {len(outcomes)}",
            str(refused), refused == len(outcomes) >= least),
    ]  # fmt: skip
    more = {"accepted": [change for change, against in outcomes if not against]}
    sys.exit(report("proof_seeded", rows, (), write=args.write,
                    tools=versions(), more=more))  # fmt: skip


if __name__ == "__main__":
    main()
