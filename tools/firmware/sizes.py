# SPDX-License-Identifier: Apache-2.0
"""What the runtime takes of a part: flash by object, RAM by state, stack by the deepest path."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.firmware.toolchain import HERE, Cpu, compile_runtime, run, symbols

STEP_API = ("tcuq_init", "tcuq_step")
WHOLE_API = (
    *STEP_API, "tcuq_reset", "tcuq_reset_history", "tcuq_epoch_evidence",
    "tcuq_snapshot_size", "tcuq_snapshot", "tcuq_restore", "tcuq_record", "tcuq_strerror",
)  # fmt: skip
PLACED = re.compile(
    r"^ \.(?:text|rodata|data|srodata)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+) +(\S+)$", re.MULTILINE
)
NODE = re.compile(r'^node: \{ title: "([^"]+)" label: "([^"]*)"', re.MULTILINE)
EDGE = re.compile(r'^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', re.MULTILINE)
STACK = re.compile(r"(\d+) bytes \((static|dynamic|dynamic,bounded)\)")
# Library helpers are assembly the compiler says nothing of: as much as any of them pushes.
HELPER_STACK = 24


@dataclass(frozen=True, slots=True)
class Stack:
    """The deepest path from a function and its bytes."""

    size: int
    path: tuple[str, ...]


def flash(
    cpu: Cpu,
    folder: Path,
    options: Sequence[str],
    roots: Iterable[str],
    optimise: str = "-Os",
) -> tuple[int, dict[str, int]]:
    """Bytes of code and constants that these functions need, whole and by object."""
    objects = compile_runtime(cpu, folder, optimise, options)
    elf, layout = folder / "runtime.elf", folder / "runtime.map"
    run(
        [f"{cpu.prefix}gcc", *cpu.flags, "-nostdlib", "-nostartfiles", "-Wl,--gc-sections",
         f"-Wl,-Map={layout}", "-Wl,-e,tcuq_step", *(f"-Wl,-u,{root}" for root in roots),
         f"-L{HERE / 'ld'}", "-T", HERE / f"ld/{cpu.name}.ld", *objects, "-lgcc", "-o", elf]
    )  # fmt: skip
    placed = layout.read_text("utf-8").partition("Linker script and memory map")[2]
    by_object: dict[str, int] = {}
    for size, path in PLACED.findall(placed):
        name = "libgcc" if "libgcc" in path else Path(path).stem
        if int(size, 16):
            by_object[name] = by_object.get(name, 0) + int(size, 16)
    whole = 0
    for line in run([f"{cpu.prefix}size", "-A", elf]).splitlines():
        fields = line.split()
        whole += int(fields[1]) if fields and fields[0] in (".text", ".data") else 0
    return whole, by_object


def ram(cpu: Cpu, elf: Path) -> dict[str, int]:
    """Bytes of each part of the monitor's state."""
    places = symbols(cpu, elf)
    sizes = {name: size for name, (_, size, _) in places.items()}
    return {n.removeprefix("state_"): s for n, s in sizes.items() if n.startswith("state_")}


def stack(folder: Path, root: str = "tcuq_step") -> Stack:
    """The deepest path from a function, by the compiler's own call graph and frame sizes."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for graph in sorted(folder.glob("*.ci")):
        text = graph.read_text("utf-8")
        for title, label in NODE.findall(text):
            frame = STACK.search(label)
            if frame and frame[2] != "static":
                raise ValueError(f"{title} has a frame of no fixed size")
            if frame:
                frames[title] = int(frame[1])
        for source, target in EDGE.findall(text):
            calls.setdefault(source, set()).add(target)
    return _deepest(root, frames, calls, ())


def _deepest(
    name: str, frames: dict[str, int], calls: dict[str, set[str]], above: tuple[str, ...]
) -> Stack:
    if name in above or name == "__indirect_call":
        raise ValueError(f"recursion or an indirect call: {' > '.join([*above, name])}")
    below = [_deepest(n, frames, calls, (*above, name)) for n in sorted(calls.get(name, ()))]
    most = max(below, key=lambda s: s.size, default=Stack(0, ()))
    return Stack(frames.get(name, HELPER_STACK) + most.size, (_plain(name), *most.path))


def _plain(title: str) -> str:
    return title.rpartition(":")[2]
