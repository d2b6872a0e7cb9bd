# SPDX-License-Identifier: Apache-2.0
"""The fuzzer of slots: power cuts at every write, failing parts, any flash, counts that wrap.

`--seconds 10` is CI's form; `--runs 1000000` the long one. A finding fails and its input is saved.
"""

from pathlib import Path

from tests.fixtures.firmware.toolchain import OTA, RUNTIME, UPLINK
from tools.fuzz.fuzzers import HERE, WATCHED, compile_objects, link
from tools.fuzz.run import Outcome, fuzz, run_campaign

LONGEST = 256  # bytes of an input


def build(folder: Path, ota: Path = OTA, uplink: Path = UPLINK) -> Path:
    """Build the fuzzer of a copy of the slots."""
    sources = [
        *sorted((HERE / "slots").glob("*.c")), ota / "tcuq_slots.c", ota / "tcuq_switch.c",
        RUNTIME / "tcuq_bytes.c",
    ]  # fmt: skip
    folders = [f"-I{path}" for path in (RUNTIME, uplink, ota, HERE, HERE / "slots")]
    compile_objects(folder, sources, ["-O2", *WATCHED, *folders])
    return link(folder)


def campaign(folder: Path, seconds: int, runs: int) -> Outcome:
    """Run new inputs, for so long or so many."""
    fresh = folder / "fresh"
    fresh.mkdir()
    return fuzz(build(folder / "build"), [fresh], seconds, most=runs, longest=LONGEST)


if __name__ == "__main__":
    run_campaign("slots", campaign, __doc__, 10)
