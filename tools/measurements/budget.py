# SPDX-License-Identifier: Apache-2.0
"""What the runtime may cost on each CPU: budget.json, and its table in docs/cost.md."""

import tempfile
from itertools import product
from pathlib import Path

from tests.fixtures.firmware.emulator import build_plugin, count
from tests.fixtures.firmware.scenarios import synthetic_scenarios
from tests.fixtures.firmware.sizes import STEP_API, WHOLE_API, flash, ram, stack
from tests.fixtures.firmware.toolchain import ALONE, CLASSES_ALONE, CPUS, NARROW, Cpu, build
from tools.measurements.cost_budget import CostBudget, Costs, markdown

STEPS = 1000
BUILDS = {
    "tcuq": (ALONE, STEP_API, "tcuq_10"),
    "everything": (CLASSES_ALONE, WHOLE_API, "full_10"),
    "recommended": ((*NARROW, *CLASSES_ALONE), WHOLE_API, "recommended_10"),
}
OPTIMISATIONS = ("-O2", "-Os")
COLUMNS = ("instructions", "worst", "flash", "ram", "stack")


def measure(cpus: tuple[Cpu, ...] = CPUS, builds: tuple[str, ...] = tuple(BUILDS)) -> Costs:
    """Measure by CPU and by build with its flags: figures of the same code."""
    with tempfile.TemporaryDirectory() as name:
        plugin = build_plugin(Path(name))
        return {
            cpu.name: {
                f"{one} {optimise}": _cost(cpu, one, optimise, plugin, Path(name))
                for one, optimise in product(builds, OPTIMISATIONS)
            }
            for cpu in cpus
        }


def _cost(cpu: Cpu, build_name: str, optimise: str, plugin: Path, folder: Path) -> Costs:
    options, roots, scenario_name = BUILDS[build_name]
    scenario = next(s for s in synthetic_scenarios() if s.name == scenario_name).first(STEPS)
    place = folder / cpu.name / build_name / optimise
    elf = build(cpu, place, scenario.monitor(), optimise=optimise, options=options)
    counts, _ = count(cpu, elf, plugin, scenario.steps)
    whole, _ = flash(cpu, place, options, roots, optimise)
    return {
        "instructions": round(counts.mean),
        "worst": counts.whole.worst,
        "flash": whole,
        "ram": sum(ram(cpu, elf).values()),
        "stack": stack(place).size,
    }


def table(costs: Costs) -> str:
    """Return the costs as the page shows them."""
    rows = [
        [cpu.title, f"{name} `{optimise}`"]
        + [f"{costs[cpu.name][f'{name} {optimise}'][column]:,}" for column in COLUMNS]
        for name, cpu, optimise in product(BUILDS, CPUS, OPTIMISATIONS)
    ]
    return markdown(["", "", *COLUMNS], 2, rows)


BUDGET = CostBudget(Path(__file__).with_name("budget.json"), "budget", table)

if __name__ == "__main__":
    BUDGET.main(measure)
