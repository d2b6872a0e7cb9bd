# SPDX-License-Identifier: Apache-2.0
"""Input health on emulated CPUs: its statistics, and the instructions a sample takes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tools.firmware.emulator import read_counts
from tools.firmware.toolchain import FLAGS, HERE, RUNTIME, Cpu, compile_runtime, run, symbols

Samples = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Layout:
    """Groups as (channels, spread), and how many frames are added at once."""

    groups: tuple[tuple[int, bool], ...]
    at_once: int = 1

    @property
    def width(self) -> int:
        """Channels of a frame."""
        return sum(channels for channels, _ in self.groups)

    @property
    def statistics(self) -> int:
        """Statistics of a window."""
        return sum(4 if spread else 3 for _, spread in self.groups)

    @property
    def function(self) -> str:
        """The function that adds frames."""
        return "tcuq_health_fold" if self.at_once == 1 else "tcuq_health_fold_frames"


def build_health(cpu: Cpu, folder: Path, optimise: str = "-O2") -> Path:
    """The firmware that makes statistics, as an ELF file."""
    objects = compile_runtime(cpu, folder, optimise)
    sources = [HERE / cpu.startup, HERE / "semihosting.c", HERE / "health.c"]
    elf = folder / "health.elf"
    run(
        [f"{cpu.prefix}gcc", *cpu.flags, *FLAGS, optimise, f"-I{RUNTIME}", f"-I{HERE}", "-nostdlib",
         "-nostartfiles", "-Wl,--gc-sections", f"-L{HERE / 'ld'}", "-T", HERE / f"ld/{cpu.name}.ld",
         *sources, *objects, "-lgcc", "-o", elf],
        cwd=folder,
    )  # fmt: skip
    return elf


def statistics_on(cpu: Cpu, elf: Path, windows: Samples, layout: Layout) -> Samples:
    """The firmware's statistics of windows (steps, frames, channels)."""
    _emulate(cpu, elf, windows, layout, [])
    statistics = np.fromfile(elf.parent / "statistics.bin", "<i2")
    return statistics.reshape(-1, layout.statistics)


def instructions_per_call(
    cpu: Cpu, elf: Path, plugin: Path, windows: Samples, layout: Layout, *, function: str
) -> float:
    """The mean number of instructions that a call of one of the functions takes."""
    out = elf.parent / "counts.txt"
    out.unlink(missing_ok=True)
    entry = symbols(cpu, elf)[function][0] & ~1
    _emulate(cpu, elf, windows, layout, ["-plugin", f"{plugin},out={out},step={entry:#x}"])
    return read_counts(out, {}).mean


def instructions_per_sample(
    cpu: Cpu, elf: Path, plugin: Path, windows: Samples, layout: Layout
) -> float:
    """The mean number of instructions that one sample of one channel takes, calls included."""
    per_call = instructions_per_call(cpu, elf, plugin, windows, layout, function=layout.function)
    return per_call / (layout.width * layout.at_once)


def _emulate(cpu: Cpu, elf: Path, windows: Samples, layout: Layout, options: list[str]) -> None:
    folder = elf.parent
    pairs = bytes(value for group in layout.groups for value in group)
    sizes = np.array([windows.shape[1], layout.at_once], "<u4").tobytes()
    (folder / "layout.bin").write_bytes(bytes([len(layout.groups)]) + pairs + sizes)
    windows.astype("<i2").tofile(folder / "frames.bin")
    (folder / "statistics.bin").unlink(missing_ok=True)
    run(
        [*cpu.emulator, "-nographic", "-monitor", "none", "-serial", "none",
         "-semihosting-config", "enable=on,target=native", *options, "-kernel", elf],
        cwd=folder,
    )  # fmt: skip
