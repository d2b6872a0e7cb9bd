# SPDX-License-Identifier: Apache-2.0
"""The same figures by compiling, where a cross compiler is installed: what the linker keeps."""

import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from tcuq.errors import ExportError
from tcuq.export.cpus import CPUS, Cpu
from tcuq.export.footprint import Footprint, interface_functions
from tcuq.export.sources import shared_sources
from tcuq.profile import Profile

FLAGS = ("-std=c99", "-ffreestanding", "-ffunction-sections", "-fdata-sections")
FLASHED = (".text", ".rodata", ".data", ".sdata", ".srodata")
IN_RAM = (".data", ".bss", ".sdata", ".sbss")
# Functions of the C library that a compiler may call stand for nothing: firmware has them.
LIBRARY = tuple(f"-Wl,--defsym={name}=0" for name in ("memcpy", "memset", "memmove", "memcmp"))
SECONDS = 300


@dataclass(frozen=True, slots=True)
class Compiler:
    """A cross compiler: its command, and what it is told after the sources."""

    command: tuple[str, ...]
    last: tuple[str, ...]

    @property
    def version(self) -> str:
        """Its name and version, as it says them."""
        return _run([*self.command, "--version"], Path.cwd()).splitlines()[0]


def gcc(cpu: Cpu) -> Compiler:
    """GCC for a CPU, installed or not."""
    last = ("-nostdlib", "-nostartfiles", *LIBRARY, "-lgcc")
    return Compiler((f"{cpu.prefix}gcc", *cpu.flags), last)


def zig(cpu: Cpu) -> Compiler:
    """Clang for a CPU, as the package `ziglang` brings it."""
    return Compiler((sys.executable, "-m", "ziglang", "cc", *cpu.zig_flags), ())


def installed_compiler(cpu: Cpu) -> Compiler | None:
    """GCC if it is installed, else Zig's, else None."""
    if shutil.which(f"{cpu.prefix}gcc") is not None:
        return gcc(cpu)
    return None if find_spec("ziglang") is None else zig(cpu)


def compiled_footprint(profile: Profile, predicted: Footprint, compiler: Compiler) -> Footprint:
    """The prediction with code and RAM as the linker has them."""
    telemetry = "telemetry" in predicted.parts
    sources, _ = shared_sources(profile, telemetry=telemetry)
    roots = (*interface_functions(predicted.interface, telemetry=telemetry), "tcuq_device")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in sources.items():
            (folder / file).write_text(text, "utf-8")
        sections = linked_sections(compiler, folder.glob("*.c"), roots, predicted.optimise)
    return replace(
        predicted,
        code=sum(sections.get(section, 0) for section in FLASHED) - predicted.tables,
        ram=sum(sections.get(section, 0) for section in IN_RAM),
        measured=f"compiled by {compiler.version}",
    )


def linked_sections(
    compiler: Compiler, inputs: Iterable[Path], roots: Iterable[str], optimise: str
) -> dict[str, int]:
    """Bytes of each section of sources or objects when only what these symbols need is kept."""
    places = sorted(inputs)
    elf = places[0].with_name("linked.elf")
    keep = [f"-Wl,-u,{root}" for root in roots]
    _run(
        [*compiler.command, *FLAGS, optimise, "-Wl,--gc-sections", "-Wl,-e,tcuq_step", *keep,
         *places, *compiler.last, "-o", elf],
        elf.parent,
    )  # fmt: skip
    return _sections(elf.read_bytes())


def _sections(elf: bytes) -> dict[str, int]:
    """Section sizes by name, from the header table of a 32-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<I", elf, 32)
    entry, count, names = struct.unpack_from("<3H", elf, 46)
    rows = [struct.unpack_from("<6I", elf, table + entry * i) for i in range(count)]
    text = rows[names][4]
    found = {}
    for name, _, _, _, _, size in rows:
        begin = text + name
        found[elf[begin : elf.index(0, begin)].decode()] = size
    return found


def best_footprint(profile: Profile, predicted: Footprint) -> Footprint:
    """By compiling if a cross compiler is there, else as predicted from the measured table."""
    compiler = installed_compiler(CPUS[predicted.cpu])
    return predicted if compiler is None else compiled_footprint(profile, predicted, compiler)


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
