# SPDX-License-Identifier: Apache-2.0
"""What input health's sample fold costs: sample_fold.json, which `tcuq size` reads, and its table.

A figure that grows by more than 1 % fails the check until the table is written anew on purpose.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.fixtures.firmware.emulator import build_plugin
from tests.fixtures.firmware.health import (
    AUDIO,
    AXES,
    build_health,
    instructions_per_call,
    instructions_per_sample,
)
from tests.fixtures.firmware.sizes import STEP_API, flash, stack
from tests.fixtures.firmware.toolchain import CPUS, ROOT, Cpu
from tools.measurements.budget import GROWTH

COSTS = ROOT / "src/tcuq/firmware/sample_fold.json"
TABLE = ROOT / "docs/cost.md"
BEGIN, END = "<!-- sample fold -->\n", "<!-- /sample fold -->\n"
FOLD, FINISH = "tcuq_health_fold", "tcuq_health_finish"
HEALTH_API = ("tcuq_health_init", FOLD, "tcuq_health_fold_frames", FINISH)
COLUMNS = {
    "frame": "axes, per sample", "stuck": "axes, stuck", "block": "audio, per sample",
    "statistics": "statistics", "flash": "flash", "stack": "stack, fold",
    "statistics_stack": "stack, statistics",
}  # fmt: skip

Costs = dict[str, dict[str, float]]


def key(cpu: Cpu) -> str:
    """The CPU's name as `tcuq size` takes it."""
    return "rv32imc" if cpu.name == "rv32" else f"cortex-{cpu.name}"


def measure(cpus: tuple[Cpu, ...] = CPUS) -> Costs:
    """By CPU: instructions at -O2, bytes at -Os beside tcuq_step, deepest stack of both builds."""
    with tempfile.TemporaryDirectory() as name:
        plugin = build_plugin(Path(name))
        return {key(cpu): _cost(cpu, Path(name) / cpu.name, plugin) for cpu in cpus}


def _cost(cpu: Cpu, folder: Path, plugin: Path) -> dict[str, float]:
    rng = np.random.default_rng(0)
    axes = rng.normal(0, 1000, (10, 128, 6)).astype(np.int16)
    audio = rng.normal(0, 1000, (2, 1024, 1)).astype(np.int16)
    elf = build_health(cpu, folder / "O2")
    cases = {"frame": (axes, AXES), "stuck": (np.zeros_like(axes), AXES), "block": (audio, AUDIO)}
    per_sample = {
        name: round(instructions_per_sample(cpu, elf, plugin, *case), 1)
        for name, case in cases.items()
    }
    without, _ = flash(cpu, folder / "Os", (), STEP_API)
    whole, _ = flash(cpu, folder / "Os", (), (*STEP_API, *HEALTH_API))
    builds = (folder / "O2", folder / "Os")
    return {
        **per_sample,
        "statistics": round(instructions_per_call(cpu, elf, plugin, axes, AXES, function=FINISH)),
        "flash": whole - without,
        "stack": max(stack(build, FOLD).size for build in builds),
        "statistics_stack": max(stack(build, FINISH).size for build in builds),
    }


def problems(costs: Costs, text: str) -> list[str]:
    """Figures that grew, and a document that shows others."""
    limit: Costs = json.loads(COSTS.read_text("utf-8"))
    violations = [
        f"{name} of the sample fold on {cpu} must be at most 1 % over {limit[cpu][name]},"
        f" got {cost}"
        for cpu, figures in costs.items()
        for name, cost in figures.items()
        if cost > limit[cpu][name] * GROWTH
    ]
    shown = text.partition(BEGIN)[2].partition(END)[0]
    return (
        violations if shown == table(limit) else [*violations, "docs/cost.md shows other figures"]
    )


def table(costs: Costs) -> str:
    """The costs as the documents show them."""
    lines = [
        "| | " + " | ".join(COLUMNS.values()) + " |",
        "|---|" + "---:|" * len(COLUMNS),
        *(
            f"| {cpu.title} | " + " | ".join(f"{costs[key(cpu)][c]:,}" for c in COLUMNS) + " |"
            for cpu in CPUS
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and compare, or write what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make what is measured the budget")
    args = parser.parse_args()
    costs, text = measure(), TABLE.read_text("utf-8")
    if args.write:
        COSTS.write_text(json.dumps(costs, indent=1) + "\n", "utf-8")
        text = text.partition(BEGIN)[0] + BEGIN + table(costs) + END + text.partition(END)[2]
        TABLE.write_text(text, "utf-8")
    print(table(costs), end="")
    violations = problems(costs, text)
    again = "if it is worth it: python -m tools.measurements.sample_fold --write"
    sys.exit("\n".join([*violations, again]) if violations else 0)


if __name__ == "__main__":
    main()
