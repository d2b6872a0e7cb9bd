# SPDX-License-Identifier: Apache-2.0
"""The CPUs, their compilers and machines, and how firmware is built for them."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tcuq.export import cpus

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNTIME = ROOT / "src/tcuq/runtime"
UPLINK = ROOT / "src/tcuq/uplink"
OTA = ROOT / "src/tcuq/ota"
FLAGS = ("-std=gnu11", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-Wall",
         "-Wextra", "-Werror")  # fmt: skip
NARROW = ("-DTCUQ_WITH_PROJECTION=0",)  # for features that need no projection
ALONE = (
    *NARROW,
    "-DTCUQ_WITH_ANCHORED=0",
    "-DTCUQ_WITH_NOVELTY=0",
    "-DTCUQ_WITH_HEALTH=0",
    "-DTCUQ_WITH_ALARM=0",
    "-DTCUQ_WITH_TELEMETRY=0",
)


class ToolError(RuntimeError):
    """A tool is missing or a command failed; the message says which and what to do."""


def replace_once(path: Path, old: str, new: str, listed_in: str) -> None:
    """Change a text that a file has once; ToolError names the list of changes if it does not."""
    text = path.read_text("utf-8")
    if text.count(old) != 1:
        raise ToolError(f"{path.name} no longer has {old!r} once: bring {listed_in} up to date")
    path.write_text(text.replace(old, new), "utf-8")


@dataclass(frozen=True, slots=True)
class Cpu:
    """A CPU, the machine that has it and the compiler for it."""

    name: str
    title: str
    prefix: str
    flags: tuple[str, ...]
    emulator: tuple[str, ...]
    startup: str


def _cortex(name: str, machine: str) -> Cpu:
    cpu = cpus.CPUS[f"cortex-{name}"]
    emulator = ("qemu-system-arm", "-M", machine)
    return Cpu(name, f"Cortex-{name.upper()}", cpu.prefix, cpu.flags, emulator, "startup_arm.c")


CPUS = (
    _cortex("m0", "microbit"),
    _cortex("m3", "mps2-an385"),
    _cortex("m4", "mps2-an386"),
    _cortex("m7", "mps2-an500"),
    Cpu(
        "rv32",
        "RV32IMC",
        cpus.CPUS["rv32imc"].prefix,
        cpus.CPUS["rv32imc"].flags,
        ("qemu-system-riscv32", "-M", "virt", "-bios", "none"),
        "startup_riscv.S",
    ),
)
M4 = CPUS[2]
# Not among the CPUs of `tcuq size`; in secure state, as after a reset.
M33 = Cpu(
    "m33",
    "Cortex-M33",
    M4.prefix,
    ("-mcpu=cortex-m33", "-mthumb", "-mfloat-abi=soft"),
    ("qemu-system-arm", "-M", "mps2-an505"),
    "startup_arm.c",
)


def run(command: Sequence[str | Path], *, cwd: Path | None = None, seconds: float = 300) -> str:
    """What a command printed; ToolError if it is not there or fails."""
    program = str(command[0])
    if shutil.which(program) is None:
        raise ToolError(
            f"{program} is not installed; on Debian: apt-get install --no-install-recommends"
            " gcc gcc-arm-none-eabi qemu-system-arm gcc-riscv64-unknown-elf qemu-system-misc"
            " clang llvm libclang-rt-dev cppcheck"
        )
    line = [str(part) for part in command]
    try:
        done = subprocess.run(
            line, cwd=cwd, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"no end after {seconds} s: {' '.join(line)}") from error
    if done.returncode:
        raise ToolError(f"exit code {done.returncode}: {' '.join(line)}\n{done.stderr}")
    return done.stdout


def compiler_version(cpu: Cpu) -> str:
    """The compiler's name and version, as it says them."""
    return run([f"{cpu.prefix}gcc", "--version"]).splitlines()[0]


def compile_runtime(
    cpu: Cpu, folder: Path, optimise: str, options: Sequence[str] = ()
) -> list[Path]:
    """The runtime's objects, each beside what its functions call and how much stack they take."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [*sorted(RUNTIME.glob("tcuq*.c")), HERE / "library.c"]
    run(
        [f"{cpu.prefix}gcc", *cpu.flags, *FLAGS, optimise, *options, "-fcallgraph-info=su",
         f"-I{RUNTIME}", "-c", *sources],
        cwd=folder,
    )  # fmt: skip
    return [folder / f"{source.stem}.o" for source in sources]


def build(
    cpu: Cpu, folder: Path, monitor: str, *, optimise: str = "-O2", options: Sequence[str] = ()
) -> Path:
    """The firmware with this monitor (C text of export.write_c) as an ELF file."""
    objects = compile_runtime(cpu, folder, optimise, options)
    (folder / "monitor.c").write_text(monitor, "utf-8")
    sources = [HERE / cpu.startup, HERE / "semihosting.c", HERE / "main.c", folder / "monitor.c"]
    elf = folder / "firmware.elf"
    run(
        [f"{cpu.prefix}gcc", *cpu.flags, *FLAGS, optimise, *options, f"-I{RUNTIME}", f"-I{HERE}",
         "-nostdlib", "-nostartfiles", "-Wl,--gc-sections", f"-L{HERE / 'ld'}",
         "-T", HERE / f"ld/{cpu.name}.ld", *sources, *objects, "-lgcc", "-o", elf],
        cwd=folder,
    )  # fmt: skip
    return elf


def symbols(cpu: Cpu, path: Path) -> dict[str, tuple[int, int, str]]:
    """Address, size and type letter of each symbol that has a size."""
    sizes = {}
    for line in run([f"{cpu.prefix}nm", "-S", path]).splitlines():
        fields = line.split()
        if len(fields) == 4:
            sizes[fields[3]] = (int(fields[0], 16), int(fields[1], 16), fields[2])
    return sizes
