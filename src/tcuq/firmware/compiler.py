# SPDX-License-Identifier: Apache-2.0
"""Flash and RAM by compiling and linking a profile, where a cross compiler is installed."""

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
from tcuq.firmware.cpus import CPUS, Cpu
from tcuq.firmware.footprint import Footprint, interface_functions
from tcuq.firmware.sources import shared_sources
from tcuq.profile import Profile

FLAGS = ("-std=c99", "-ffreestanding", "-ffunction-sections", "-fdata-sections")
FLASH_SECTIONS = (".text", ".rodata", ".data", ".sdata", ".srodata")
RAM_SECTIONS = (".data", ".bss", ".sdata", ".sbss")
# A compiler may call these functions of the C library; firmware has them, so they count as 0 bytes.
LIBRARY_STUBS = tuple(
    f"-Wl,--defsym={name}=0" for name in ("memcpy", "memset", "memmove", "memcmp")
)
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Compiler:
    """A cross compiler: its command, and the arguments that follow the sources."""

    command: tuple[str, ...]
    libraries: tuple[str, ...]

    @property
    def version(self) -> str:
        """The first line of its `--version`."""
        return _run([*self.command, "--version"], Path.cwd()).splitlines()[0]


def gcc(cpu: Cpu) -> Compiler:
    """GCC for a CPU, installed or not."""
    libraries = ("-nostdlib", "-nostartfiles", *LIBRARY_STUBS, "-lgcc")
    return Compiler((f"{cpu.prefix}gcc", *cpu.flags), libraries)


def zig(cpu: Cpu) -> Compiler:
    """Clang for a CPU, from the package `ziglang`."""
    return Compiler((sys.executable, "-m", "ziglang", "cc", *cpu.zig_flags), ())


def best_footprint(profile: Profile, table: Footprint) -> Footprint:
    """The footprint by GCC or Zig's Clang if one is installed, else the table's, unchanged."""
    cpu = CPUS[table.cpu]
    if shutil.which(f"{cpu.prefix}gcc") is not None:
        return compiled_footprint(profile, table, gcc(cpu))
    return table if find_spec("ziglang") is None else compiled_footprint(profile, table, zig(cpu))


def compiled_footprint(profile: Profile, table: Footprint, compiler: Compiler) -> Footprint:
    """The table's footprint with the linker's code and RAM in place of the table's."""
    telemetry = "telemetry" in table.parts
    sources, _, _ = shared_sources(profile, telemetry=telemetry)
    roots = (*interface_functions(table.interface, telemetry=telemetry), "tcuq_device")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in sources.items():
            (folder / file).write_text(text, "utf-8")
        sections = linked_sections(compiler, folder.glob("*.c"), roots, table.optimise)
    return replace(
        table,
        code=sum(sections.get(section, 0) for section in FLASH_SECTIONS) - table.tables,
        ram=sum(sections.get(section, 0) for section in RAM_SECTIONS),
        flash_source=f"compiled by {compiler.version}",
    )


def linked_sections(
    compiler: Compiler, inputs: Iterable[Path], roots: Iterable[str], optimise: str
) -> dict[str, int]:
    """Bytes of each section after linking sources or objects with only what the roots need."""
    paths = sorted(inputs)
    elf = paths[0].with_name("linked.elf")
    undefined = [f"-Wl,-u,{root}" for root in roots]
    _run(
        [*compiler.command, *FLAGS, optimise, "-Wl,--gc-sections", "-Wl,-e,tcuq_step", *undefined,
         *paths, *compiler.libraries, "-o", elf],
        elf.parent,
    )  # fmt: skip
    return _section_sizes(elf.read_bytes())


def _section_sizes(elf: bytes) -> dict[str, int]:
    """Section sizes by name, from the header table of a 32-bit little-endian ELF file."""
    (table,) = struct.unpack_from("<I", elf, 32)
    entry, count, names = struct.unpack_from("<3H", elf, 46)
    rows = [struct.unpack_from("<6I", elf, table + entry * i) for i in range(count)]
    text = rows[names][4]
    sizes = {}
    for name, _, _, _, _, size in rows:
        begin = text + name
        sizes[elf[begin : elf.index(0, begin)].decode()] = size
    return sizes


def _run(command: Sequence[str | Path], folder: Path) -> str:
    line = [str(word) for word in command]
    try:
        process = subprocess.run(
            line, cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExportError(
            f"{line[0]} cannot be run: {error}; tcuq size --table needs none"
        ) from None
    if process.returncode:
        message = "; ".join(process.stderr.splitlines()[:3])
        raise ExportError(f"{line[0]} failed with exit code {process.returncode}: {message}")
    return process.stdout
