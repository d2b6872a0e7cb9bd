# SPDX-License-Identifier: Apache-2.0
"""The uplink's fuzzer: any clock, flash, network and restart, under sanitizers.

`--seconds 60` is CI's form; `--runs 1000000` the long one. A finding fails and its input is saved.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.fixtures.firmware.toolchain import RUNTIME, UPLINK
from tools.fuzz.fuzzers import HERE, WATCHED, compile_objects, link
from tools.fuzz.run import Outcome, fuzz, merge, run_campaign

CORPUS = HERE / "uplink" / "corpus"
LONGEST = 256  # bytes of an input


def harness_sources() -> list[Path]:
    """Return the harness and what it needs."""
    own = sorted((HERE / "uplink").glob("*.c"))
    return [*own, HERE / "bytes.c", *sorted(RUNTIME.glob("*.c"))]


def includes(uplink: Path) -> list[str]:
    """Return the folders of headers."""
    return [f"-I{folder}" for folder in (RUNTIME, uplink, HERE)]


def compile_uplink(folder: Path, sources: Sequence[Path], uplink: Path = UPLINK) -> None:
    """Compile sources for the fuzzer."""
    compile_objects(folder, sources, ["-O2", *WATCHED, *includes(uplink)])


def build(folder: Path, uplink: Path = UPLINK) -> Path:
    """Build the fuzzer of a copy of the uplink."""
    compile_uplink(folder, [*harness_sources(), *sorted(uplink.glob("*.c"))], uplink)
    return link(folder)


def campaign(folder: Path, seconds: int, runs: int) -> Outcome:
    """Run the corpus, then new inputs, for so long or so many."""
    fresh = folder / "fresh"
    fresh.mkdir()
    return fuzz(build(folder / "build"), [fresh, CORPUS], seconds, most=runs, longest=LONGEST)


def merge_corpus(folders: Sequence[Path]) -> None:
    """Make the corpus anew: the fewest inputs that reach what it and other folders reach."""
    with tempfile.TemporaryDirectory() as name:
        merged = Path(name) / "merged"
        merge(build(Path(name) / "build"), [CORPUS, *folders], merged)
        shutil.rmtree(CORPUS)
        shutil.copytree(merged, CORPUS)


if __name__ == "__main__":
    run_campaign("uplink", campaign, __doc__, 60, merge_corpus)
