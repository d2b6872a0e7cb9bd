# SPDX-License-Identifier: Apache-2.0
"""The same figures by compiling, where a cross compiler is installed: what the linker keeps."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tcuq.errors import ExportError
from tcuq.export.cpus import CPUS, Cpu
from tcuq.export.footprint import Footprint, footprint, interface_functions
from tcuq.export.sources import shared_sources
from tcuq.profile import Profile

FLAGS = ("-std=c99", "-ffreestanding", "-ffunction-sections", "-fdata-sections")
FLASHED = (".text", ".rodata", ".data", ".sdata", ".srodata")
IN_RAM = (".data", ".bss", ".sdata", ".sbss")
SECONDS = 120


def compiler(cpu: Cpu) -> str | None:
    """The cross compiler's path, None if it is not installed."""
    return shutil.which(f"{cpu.prefix}gcc")


def compiled_footprint(profile: Profile, predicted: Footprint) -> Footprint:
    """The prediction with code, tables and RAM as the linker has them."""
    cpu = CPUS[predicted.cpu]
    telemetry = "telemetry" in predicted.parts
    sources, _ = shared_sources(profile, telemetry=telemetry)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in sources.items():
            (folder / file).write_text(text, "utf-8")
        objects = compile_objects(cpu, folder, predicted.optimise)
        roots = (*interface_functions(predicted.interface, telemetry=telemetry), "tcuq_device")
        sections = linked_sections(cpu, objects, roots)
    flash = sum(sections.get(section, 0) for section in FLASHED)
    return replace(
        predicted,
        code=flash - predicted.tables,
        ram=sum(sections.get(section, 0) for section in IN_RAM),
        measured=f"compiled by {compiler_version(cpu)}",
    )


def compile_objects(
    cpu: Cpu, folder: Path, optimise: str, options: Sequence[str] = ()
) -> list[Path]:
    """The objects of all C sources in a folder."""
    sources = sorted(path for path in folder.glob("*.c") if path.stem != "tcuq_device_selftest")
    _run([f"{cpu.prefix}gcc", *cpu.flags, *FLAGS, optimise, *options, "-c", *sources], folder)
    return [folder / f"{source.stem}.o" for source in sources]


def linked_sections(cpu: Cpu, objects: Iterable[Path], roots: Iterable[str]) -> dict[str, int]:
    """Bytes of each section when only what these symbols need is kept.

    Functions of the C library that a compiler may call stand for nothing: firmware has them.
    """
    places = list(objects)
    elf = places[0].parent / "linked.elf"
    library = [f"-Wl,--defsym={name}=0" for name in ("memcpy", "memset", "memmove", "memcmp")]
    _run(
        [f"{cpu.prefix}gcc", *cpu.flags, "-nostdlib", "-nostartfiles", "-Wl,--gc-sections",
         "-Wl,-e,tcuq_step", *library, *(f"-Wl,-u,{root}" for root in roots), *places, "-lgcc",
         "-o", elf],
        elf.parent,
    )  # fmt: skip
    found = {}
    for line in _run([f"{cpu.prefix}size", "-A", elf], elf.parent).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1].isdigit():
            found[fields[0]] = int(fields[1])
    return found


def compiler_version(cpu: Cpu) -> str:
    """The compiler's name and version, as it says them."""
    return _run([f"{cpu.prefix}gcc", "--version"], Path.cwd()).splitlines()[0]


def best_footprint(profile: Profile, cpu: str, **options: object) -> Footprint:
    """By compiling if the cross compiler is there, else from the measured table."""
    predicted = footprint(profile, cpu, **options)  # type: ignore[arg-type]
    return predicted if compiler(CPUS[cpu]) is None else compiled_footprint(profile, predicted)


def _run(words: Sequence[str | Path], folder: Path) -> str:
    line = [str(word) for word in words]
    try:
        done = subprocess.run(
            line, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExportError(f"{line[0]} cannot be run: {error}") from None
    if done.returncode:
        said = "; ".join(done.stderr.splitlines()[:3])
        raise ExportError(f"{line[0]} failed with exit code {done.returncode}: {said}")
    return done.stdout
