# SPDX-License-Identifier: Apache-2.0
"""What the runtime may cost: budget.json, and the table of it in the documents.

A figure that grows by more than 1 % fails the check until the budget is written anew on purpose.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.fixtures.firmware.emulator import build_plugin, count
from tests.fixtures.firmware.scenarios import Scenario, synthetic_scenarios
from tests.fixtures.firmware.sizes import STEP_API, WHOLE_API, flash, ram, stack
from tests.fixtures.firmware.toolchain import ALONE, CPUS, NARROW, ROOT, Cpu, build

BUDGET = Path(__file__).with_name("budget.json")
TABLE = ROOT / "docs/cost.md"
BEGIN, END = "<!-- budget -->\n", "<!-- /budget -->\n"
STEPS = 1000
GROWTH = 1.01
BUILDS = {
    "tcuq": (ALONE, STEP_API, "tcuq_10"),
    "everything": ((), WHOLE_API, "full_10"),
    "recommended": (NARROW, WHOLE_API, "recommended_10"),
}
OPTIMISATIONS = ("-O2", "-Os")
COLUMNS = ("instructions", "worst", "flash", "ram", "stack")

Costs = dict[str, dict[str, dict[str, int]]]


def measure(cpus: tuple[Cpu, ...] = CPUS) -> Costs:
    """By CPU and build with its flags: instructions a step, bytes and stack of the same code."""
    scenarios = {s.name: s.first(STEPS) for s in synthetic_scenarios()}
    with tempfile.TemporaryDirectory() as folder:
        plugin = build_plugin(Path(folder))
        return {
            cpu.name: {
                f"{build_name} {optimise}": _cost(
                    cpu, Path(folder), plugin, (build_name, optimise), scenarios[wanted]
                )
                for build_name, (_, _, wanted) in BUILDS.items()
                for optimise in OPTIMISATIONS
            }
            for cpu in cpus
        }


def _cost(
    cpu: Cpu, folder: Path, plugin: Path, flags: tuple[str, str], scenario: Scenario
) -> dict[str, int]:
    build_name, optimise = flags
    options, roots, _ = BUILDS[build_name]
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


def complaints(costs: Costs, budget: Costs) -> Iterator[str]:
    """What costs more than it may, or has no budget."""
    for cpu, builds in costs.items():
        for build_name, cost in builds.items():
            for name, value in cost.items():
                allowed = budget.get(cpu, {}).get(build_name, {}).get(name)
                if allowed is None or value > allowed * GROWTH:
                    yield (
                        f"{name} of {build_name} on {cpu} must be at most 1 % over {allowed},"
                        f" got {value}; if that is worth it:"
                        " python -m tools.measurements.budget --write"
                    )


def table(budget: Costs) -> str:
    """The budget as the documents show it."""
    lines = [
        "| | | " + " | ".join(COLUMNS) + " |",
        "|---|---|" + "---:|" * len(COLUMNS),
        *(
            f"| {cpu.title} | {name} `{optimise}` | "
            + " | ".join(
                f"{budget[cpu.name][f'{name} {optimise}'][column]:,}" for column in COLUMNS
            )
            + " |"
            for name in BUILDS
            for cpu in CPUS
            for optimise in OPTIMISATIONS
        ),
    ]
    return "\n".join(lines) + "\n"


def documented(text: str) -> str:
    """The table that stands in a document."""
    return text.partition(BEGIN)[2].partition(END)[0]


def main() -> None:
    """Measure and compare, or write what is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="make what is measured the budget")
    args = parser.parse_args()
    costs = measure()
    text = TABLE.read_text("utf-8")
    if args.write:
        BUDGET.write_text(json.dumps(costs, indent=1) + "\n", "utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        text = before + BEGIN + table(costs) + END + after
        TABLE.write_text(text, "utf-8")
    budget = json.loads(BUDGET.read_text("utf-8"))
    print(table(costs), end="")
    problems = list(complaints(costs, budget))
    if documented(text) != table(budget):
        problems.append(
            "docs/cost.md does not show the budget: python -m tools.measurements.budget --write"
        )
    sys.exit("\n".join(problems) or 0)


if __name__ == "__main__":
    main()
