# SPDX-License-Identifier: Apache-2.0
"""The uplink's fuzzer: any clock, flash, network and restart, under sanitizers.

`--seconds 60` is CI's form; `--runs 1000000` the long one. A finding fails and its input is saved.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fixtures.firmware.toolchain import RUNTIME, UPLINK, run
from tests.fixtures.uplink.device import STAGES
from tools.fuzz.fuzzers import PLAIN, STRICT
from tools.fuzz.run import Outcome, finish, fuzz, merge

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "uplink" / "corpus"
LONGEST = 256  # bytes of an input
WRAPS = f"-fsanitize-ignorelist={HERE / 'wraps.txt'}"
WATCHED = (*STRICT, "-fsanitize=fuzzer-no-link,address,undefined",
           "-fno-sanitize-coverage=trace-cmp", WRAPS)  # fmt: skip


def harness_sources() -> list[Path]:
    """The harness and what it needs."""
    stages = [RUNTIME / f"tcuq_{stage}.c" for stage in STAGES]
    return [*sorted((HERE / "uplink").glob("*.c")), HERE / "bytes.c", *stages]


def includes(uplink: Path) -> list[str]:
    """The folders of headers."""
    return [f"-I{folder}" for folder in (RUNTIME, uplink, HERE)]


def compile_objects(folder: Path, sources: Sequence[Path], uplink: Path = UPLINK) -> None:
    """Compile sources for the fuzzer."""
    folder.mkdir(parents=True, exist_ok=True)
    run(["clang", *PLAIN, "-O2", *WATCHED, *includes(uplink), "-c", *sources], cwd=folder)


def link(folder: Path) -> Path:
    """Link the fuzzer of a folder's objects."""
    fuzzer = folder / "fuzzer"
    objects = sorted(folder.glob("*.o"))
    run(["clang", "-fsanitize=fuzzer,address,undefined", *objects, "-o", fuzzer])
    return fuzzer


def build(folder: Path, uplink: Path = UPLINK) -> Path:
    """Build the fuzzer of a copy of the uplink."""
    compile_objects(folder, [*harness_sources(), *sorted(uplink.glob("*.c"))], uplink)
    return link(folder)


def campaign(folder: Path, seconds: int, runs: int) -> Outcome:
    """Run the corpus, then new inputs, for so long or so many."""
    fresh = folder / "fresh"
    fresh.mkdir()
    return fuzz(build(folder / "build"), [fresh, CORPUS], seconds, most=runs, longest=LONGEST)


def main() -> None:
    """Build, fuzz and report; with --merge, keep what was learned in the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long to fuzz (60)")
    parser.add_argument("--runs", type=int, default=-1, help="at most so many inputs")
    parser.add_argument("--merge", nargs="*", type=Path, help="make the corpus anew, with these")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.merge is not None:
            merge(build(folder / "build"), [CORPUS, *args.merge], folder / "merged")
            for path in CORPUS.iterdir():
                path.unlink()
            for path in (folder / "merged").iterdir():
                path.rename(CORPUS / path.name)
            return
        outcome = campaign(folder, args.seconds, args.runs)
        finish(outcome, folder)


if __name__ == "__main__":
    main()
