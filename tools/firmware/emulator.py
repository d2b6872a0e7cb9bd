# SPDX-License-Identifier: Apache-2.0
"""Firmware under QEMU: its decisions, and the instructions it took for them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tools.firmware.toolchain import HERE, Cpu, run, symbols

DECISION = np.dtype(
    [("label", "<u2"), ("risk", "<u2"), ("threshold_q16", "<i4"), ("exceeded", "u1"),
     ("outcome", "u1"), ("alarm", "u1"), ("cause", "u1"), ("novelty_q10", "<u4")]
)  # fmt: skip
STAGES = (
    "tcuq_signals_run", "tcuq_novelty_run", "tcuq_health_run", "tcuq_score_run",
    "tcuq_threshold_run", "tcuq_budget_run", "tcuq_alarm_run", "tcuq_telemetry_count",
)  # fmt: skip

RECORDING_BEGINS, NO_HEALTH = 1, 2  # bits of a step's mark

Decisions = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class Steps:
    """Quantised steps as the firmware reads them; marks say what differs at a step."""

    posteriors: NDArray[np.uint8]
    features: NDArray[np.int8] | None = None
    health: NDArray[np.int16] | None = None
    marks: NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.posteriors)

    def at(self, index: NDArray[np.int64] | slice) -> "Steps":
        """Return the steps at these places."""
        return Steps(
            self.posteriors[index],
            None if self.features is None else self.features[index],
            None if self.health is None else self.health[index],
            None if self.marks is None else self.marks[index],
        )

    def write(self, folder: Path) -> None:
        """Write the files that main.c reads."""
        parts = [part for part in (self.posteriors, self.features, self.health) if part is not None]
        rows = [np.ascontiguousarray(part).view(np.uint8) for part in parts]
        np.hstack(rows).tofile(folder / "steps.bin")
        (folder / "marks.bin").unlink(missing_ok=True)
        if self.marks is not None:
            self.marks.tofile(folder / "marks.bin")


def recordings(count: int, starts: ArrayLike) -> NDArray[np.uint8]:
    """Return the marks of this many steps, of which recordings begin at some."""
    return np.where(np.isin(np.arange(count), starts), RECORDING_BEGINS, 0).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class Count:
    """Instructions of all steps and of the worst one."""

    total: int
    worst: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Instructions of tcuq_step, by stage (tcuq_step: its own) and by function."""

    steps: int
    least: int
    worst_at: int
    whole: Count
    stages: dict[str, Count]
    functions: dict[str, int]

    @property
    def mean(self) -> float:
        """Instructions a step."""
        return self.whole.total / self.steps


def build_plugin(folder: Path) -> Path:
    """The counting plugin, for this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin = folder / "icount.so"
    run(["gcc", "-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
         HERE / "icount.c", "-o", plugin])  # fmt: skip
    return plugin


def decide(cpu: Cpu, elf: Path, steps: Steps) -> Decisions:
    """The firmware's decisions on these steps."""
    _emulate(cpu, elf, steps, [])
    return np.fromfile(elf.parent / "decisions.bin", DECISION)


def state(elf: Path) -> bytes:
    """What the last run left: snapshot, record if telemetry is kept, snapshot without a past."""
    return (elf.parent / "state.bin").read_bytes()


def count(cpu: Cpu, elf: Path, plugin: Path, steps: Steps) -> tuple[Counts, Decisions]:
    """The firmware's decisions on these steps, and their instructions."""
    known, out = symbols(cpu, elf), elf.parent / "counts.txt"
    out.unlink(missing_ok=True)
    stages = [f"stage={name}:{known[name][0] & ~1:#x}" for name in STAGES if name in known]
    marks = ",".join([f"out={out}", f"step={known['tcuq_step'][0] & ~1:#x}", *stages])
    _emulate(cpu, elf, steps, ["-plugin", f"{plugin},{marks}"])
    counts = read_counts(out, {n: (a & ~1, s) for n, (a, s, kind) in known.items() if kind in "tT"})
    return counts, np.fromfile(elf.parent / "decisions.bin", DECISION)


def _emulate(cpu: Cpu, elf: Path, steps: Steps, options: list[str]) -> None:
    steps.write(elf.parent)
    (elf.parent / "decisions.bin").unlink(missing_ok=True)
    run(
        [*cpu.emulator, "-nographic", "-monitor", "none", "-serial", "none",
         "-semihosting-config", "enable=on,target=native", *options, "-kernel", elf],
        cwd=elf.parent,
    )  # fmt: skip


def read_counts(path: Path, places: dict[str, tuple[int, int]]) -> Counts:
    """Read what the plugin wrote; `places` are the functions by name: address and size."""
    stages: dict[str, Count] = {}
    functions: dict[str, int] = {}
    head: dict[str, int] = {}
    mask = 2**18 - 1
    for line in path.read_text("utf-8").splitlines():
        fields = line.split()
        if fields[0] == "steps":
            head = {k: int(v) for k, v in zip(fields[::2], fields[1::2], strict=True)}
        elif fields[0] == "stage":
            stages[fields[1]] = Count(int(fields[3]), int(fields[5]))
        else:
            at = int(fields[1])
            names = [n for n, (a, s) in places.items() if (a & mask) <= at < (a & mask) + s]
            name = names[0] if names else "(library)"
            functions[name] = functions.get(name, 0) + int(fields[3])
    whole = Count(head["total"], head["worst"])
    return Counts(head["steps"], head["least"], head["worst_at"], whole, stages, functions)
