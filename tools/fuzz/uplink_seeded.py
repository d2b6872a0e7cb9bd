# SPDX-License-Identifier: Apache-2.0
"""Puts each seeded bug into a copy of the uplink and says what finds it.

First the inputs of the fuzzer's corpus, then the uplink's tests, until the first one fails.
`--short` is CI's form: every 15th bug.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import Row, arguments, figure, report
from tests.fixtures.firmware.toolchain import UPLINK
from tools.fuzz.fuzzers import link
from tools.fuzz.run import replay
from tools.fuzz.uplink import CORPUS, build, compile_uplink, harness_sources
from tools.seeded_bugs import Bug, failing_test, read_bugs, seed

LEAST_FOUND, SHORT_EVERY = 0.95, 15
BUGS = Path(__file__).with_name("uplink_bugs.toml")
TESTS = [f"tests/uplink/test_uplink{part}.py" for part in ("_keep", "_acks", "_flash", "_time", "")]


def corpus_finds(bug: Bug, objects: Path, folder: Path) -> bool:
    """Return whether an input of the corpus shows the bug."""
    uplink = shutil.copytree(UPLINK, folder / "uplink")
    changed_file = seed(bug, uplink / bug.file, BUGS.name)
    shutil.copytree(objects, folder / "build", ignore=shutil.ignore_patterns("fuzzer"))
    header = changed_file.suffix == ".h"
    changed = [*uplink.glob("*.c"), *harness_sources()] if header else [changed_file]
    compile_uplink(folder / "build", changed, uplink)
    return bool(replay(link(folder / "build"), [CORPUS]).finding)


def run_bugs(every: int = 1) -> Iterator[tuple[Bug, str]]:
    """Yield every so manieth bug with what finds it: "corpus", a test's name, or ""."""
    with tempfile.TemporaryDirectory() as name:
        objects, left = Path(name) / "objects", []
        build(objects)
        for number, bug in enumerate(read_bugs(BUGS)[::every]):
            folder = Path(name) / str(number)
            if corpus_finds(bug, objects, folder):
                yield bug, "corpus"
            else:
                left.append((bug, folder / "uplink"))
            shutil.rmtree(folder / "build")
        for bug, uplink in left:
            yield bug, failing_test(TESTS, TCUQ_UPLINK=str(uplink))


def main() -> None:
    """Seed each bug, look for it, and report."""
    args = arguments()
    outcomes = []
    for bug, by in run_bugs(SHORT_EVERY if args.short else 1):
        outcomes.append((str(bug), by))
        print(f"{by or 'NOT FOUND':60} {bug}", flush=True)
    caught = [by for _, by in outcomes if by]
    enough = len(caught) >= LEAST_FOUND * len(outcomes)
    alone = caught.count("corpus")
    rows = [
        Row("uplink: seeded bugs found", f"≥ 95 % of {len(outcomes)}", f"{len(caught)}", enough),
        figure("uplink: of these found by the fuzzer's corpus alone", f"{alone}"),
    ]
    more = {"not_found": [text for text, by in outcomes if not by]}
    sys.exit(report("uplink_seeded", rows, (), write=args.write, more=more))


if __name__ == "__main__":
    main()
