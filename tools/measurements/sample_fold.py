# SPDX-License-Identifier: Apache-2.0
"""What the sample fold of input health costs: sample_fold.json, for `tcuq size`, and its table."""

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
from tools.measurements.cost_budget import CostBudget, Costs, markdown
from tools.measurements.footprint import cpu_key

FOLD, FINISH = "tcuq_health_fold", "tcuq_health_finish"
HEALTH_API = ("tcuq_health_init", FOLD, "tcuq_health_fold_frames", FINISH)
COLUMNS = {
    "frame": "axes, per sample", "stuck": "axes, stuck", "block": "audio, per sample",
    "statistics": "statistics", "flash": "flash", "stack": "stack, fold",
    "statistics_stack": "stack, statistics",
}  # fmt: skip


def measure(cpus: tuple[Cpu, ...] = CPUS) -> Costs:
    """Measure by CPU: instructions at -O2, flash at -Os beside tcuq_step, stack of both builds."""
    with tempfile.TemporaryDirectory() as name:
        plugin = build_plugin(Path(name))
        return {cpu_key(cpu): _cost(cpu, Path(name) / cpu.name, plugin) for cpu in cpus}


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


def table(costs: Costs) -> str:
    """Return the costs as the page shows them."""
    rows = [[cpu.title, *(f"{costs[cpu_key(cpu)][name]:,}" for name in COLUMNS)] for cpu in CPUS]
    return markdown(["", *COLUMNS.values()], 1, rows)


BUDGET = CostBudget(ROOT / "src/tcuq/firmware/sample_fold.json", "sample fold", table)

if __name__ == "__main__":
    BUDGET.main(measure)
