# SPDX-License-Identifier: Apache-2.0
"""What a step costs on an AVR: cycles in simavr, by the ATmega1284P's own timer, and flash."""

import re
from pathlib import Path

import tcuq
from tcuq.firmware import export
from tcuq.firmware.one_file import one_file
from tcuq.firmware.runtime_files import runtime_files
from tests.fixtures.firmware.arduino import printed
from tests.fixtures.firmware.sizes import WHOLE_API
from tests.fixtures.firmware.toolchain import BUILD, CLASSES_ALONE, NARROW, ROOT, run

TITLE = "AVR"
STEPS = 1000
TIMER = 8  # cycles a tick
BARE = ROOT / "tests/firmware/bare"
GCC = ("avr-gcc", "-mmcu=atmega1284p", "-std=gnu99", "-ffunction-sections", "-fdata-sections",
       "-Wl,--gc-sections")  # fmt: skip
SIMAVR = ("simavr", "-m", "atmega1284p", "-f", "16000000")
LINE = re.compile(r"hash \w{8} (\w{8}) (\w{8})")
STORAGE = re.compile(r"^#define TCUQ_DEVICE_STORAGE_BYTES (\d+)u", re.MULTILINE)


def avr_cost(profile: tcuq.Profile, optimise: str, folder: Path) -> dict[str, int]:
    """Measure a profile's pseudo-random steps: cycles in place of instructions, flash and RAM."""
    export(profile, folder / "export", "c")
    source, elf = folder / "export/src", folder / "avr.elf"
    files = [BARE / "long_run.c", BARE / "avr_cycles.c", *sorted(source.glob("*.c"))]
    options = (f"-DLONG_RUN_STEPS={STEPS}u", f"-I{source}", f"-I{BARE}", "-Wl,--wrap=tcuq_step")
    run([*GCC, optimise, *options, *files, "-o", elf])
    ((total, worst),) = LINE.findall(printed([*SIMAVR, elf], LINE.pattern, folder / "log", 300))
    (ram,) = STORAGE.findall((source / "tcuq_device.h").read_text("utf-8"))
    return {
        "instructions": round(int(total, 16) * TIMER / STEPS),
        "worst": int(worst, 16) * TIMER,
        "flash": _flash(optimise, folder / "runtime"),
        "ram": int(ram),
    }


def _flash(optimise: str, folder: Path) -> int:
    """Bytes of code and constants of the whole interface, without a profile."""
    folder.mkdir()
    for name, text in one_file(runtime_files(), BUILD, "").items():
        (folder / name).write_text(text, "utf-8")
    roots = [f"-Wl,-u,{root}" for root in WHOLE_API]
    run(
        [*GCC, optimise, *NARROW, *CLASSES_ALONE, "-nostartfiles", "-Wl,-e,tcuq_step", *roots,
         folder / "tcuq.c", "-o", folder / "runtime.elf"]
    )  # fmt: skip
    lines = run(["avr-size", "-A", folder / "runtime.elf"]).splitlines()
    sections = [line.split() for line in lines]
    return sum(int(part[1]) for part in sections if part and part[0] in (".text", ".data"))
