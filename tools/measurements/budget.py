# SPDX-License-Identifier: Apache-2.0
"""What the runtime may cost on each CPU: budget.json, and its table in docs/cost.md."""

import tempfile
from itertools import product
from pathlib import Path

from tests.fixtures.firmware.emulator import build_plugin, count
from tests.fixtures.firmware.scenarios import synthetic_scenarios
from tests.fixtures.firmware.sizes import STEP_API, WHOLE_API, flash, ram, stack
from tests.fixtures.firmware.toolchain import (
    ALONE,
    CLASSES_ALONE,
    CPUS,
    M33,
    NARROW,
    WITHOUT_HEALTH,
    Cpu,
    build,
)
from tools.measurements.avr_cost import TITLE, avr_cost
from tools.measurements.cost_budget import CostBudget, Costs, markdown

STEPS = 1000
BUILDS = {
    "tcuq": (ALONE, STEP_API, "tcuq_10"),
    "everything": (CLASSES_ALONE, WHOLE_API, "full_10"),
    "recommended": ((*NARROW, *CLASSES_ALONE), WHOLE_API, "recommended_10"),
    "default": ((*NARROW, *WITHOUT_HEALTH), WHOLE_API, "default_10"),
}
OPTIMISATIONS = ("-O2", "-Os")
DEFAULT = "default"
MEASURED = (*CPUS, M33)
COLUMNS = ("instructions", "worst", "flash", "ram", "stack")


def measure(cpus: tuple[Cpu, ...] = MEASURED, builds: tuple[str, ...] = tuple(BUILDS)) -> Costs:
    """Measure by CPU and by build with its flags: figures of one code; AVR beside all others."""
    with tempfile.TemporaryDirectory() as name:
        plugin = build_plugin(Path(name))
        more = {"avr": _avr(Path(name))} if cpus is MEASURED else {}
        return more | {
            cpu.name: {
                f"{one} {optimise}": _cost(cpu, one, optimise, plugin, Path(name))
                for one, optimise in product(builds, OPTIMISATIONS)
            }
            for cpu in cpus
        }


def _avr(folder: Path) -> Costs:
    profile = next(s.profile for s in synthetic_scenarios() if s.name == BUILDS[DEFAULT][2])
    costs = {}
    for optimise in OPTIMISATIONS:
        (place := folder / f"avr{optimise}").mkdir()
        costs[f"{DEFAULT} {optimise}"] = avr_cost(profile, optimise, place)
    return costs


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
    titles = {cpu.name: cpu.title for cpu in MEASURED} | {"avr": TITLE}
    rows = [
        [titles[cpu], f"{name} `{optimise}`"]
        + [f"{cost[column]:,}" if column in cost else "" for column in COLUMNS]
        for name, cpu, optimise in product(BUILDS, titles, OPTIMISATIONS)
        if (cost := costs[cpu].get(f"{name} {optimise}"))
    ]
    return markdown(["", "", *COLUMNS], 2, rows)


BUDGET = CostBudget(Path(__file__).with_name("budget.json"), "budget", table)

if __name__ == "__main__":
    BUDGET.main(measure)
