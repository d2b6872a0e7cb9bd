# SPDX-License-Identifier: Apache-2.0
"""Every source that an export copies, in every build, through every compiler: no warning."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from tests.fixtures.firmware.toolchain import ALONE, CPUS, OTA, RUNTIME, UPLINK, ToolError, run

WARNINGS = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Wshadow",
    "-Wcast-qual", "-Wmissing-prototypes", "-Wundef", "-Werror",
)  # fmt: skip
COMPILERS: dict[str, tuple[str, ...]] = {
    "gcc": ("gcc",),
    "clang": ("clang",),
    **{
        cpu.title: (f"{cpu.prefix}gcc", *cpu.flags, "-ffreestanding")
        for cpu in CPUS
        if cpu.name in ("m0", "m4", "rv32")
    },
}
BUILDS: dict[str, tuple[str, ...]] = {
    "everything": (),
    **{option[2:]: (option,) for option in ALONE},
    "alone": ALONE,
}


def complaints(
    runtime: Path = RUNTIME,
    compilers: Iterable[str] = tuple(COMPILERS),
    builds: Iterable[str] = tuple(BUILDS),
) -> Iterator[str]:
    """Yield what compilers say, one text for each compiler and build that says anything."""
    for compiler, build in product(compilers, builds):
        command, options = COMPILERS[compiler], BUILDS[build]
        counts = "-DTCUQ_WITH_TELEMETRY=0" not in options  # who does not count sends no records
        sources = [*runtime.glob("tcuq*.c"), *OTA.glob("*.c")]
        sources += UPLINK.glob("*.c") if counts else ()
        with tempfile.TemporaryDirectory() as folder:
            try:
                options = (*options, f"-I{runtime}", f"-I{UPLINK}", "-c")
                run([*command, *WARNINGS, "-O2", *options, *sources], cwd=Path(folder))
            except ToolError as error:
                yield f"{compiler}, {build}: {error}"


def main() -> None:
    """Compile all; fail if a compiler complains."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="try the largest and smallest build")
    parser.add_argument("--runtime", type=Path, default=RUNTIME, help="another copy of the runtime")
    args = parser.parse_args()
    builds = ("everything", "alone") if args.short else tuple(BUILDS)
    warnings = list(complaints(args.runtime.resolve(), builds=builds))
    print("\n".join(warnings) or f"{len(COMPILERS)} compilers, {len(builds)} builds: no warning")
    sys.exit(1 if warnings else 0)


if __name__ == "__main__":
    main()
