# SPDX-License-Identifier: Apache-2.0
"""The runtime on emulated CPUs: the host's decisions bit for bit, and what a step costs there.

Instructions are QEMU's, exact and the same in every run, at -O2; they are not cycles. Flash is that
of -Os. The default profile's instructions and flash are of the same build, at -O2 and at -Os. The
limits are those of 10 classes and 32 features.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from results.result import Row, arguments, figure, report, tool_version
from tests.fixtures.firmware.emulator import Counts, build_plugin, count
from tests.fixtures.firmware.scenarios import (
    Scenario,
    box_scenarios,
    synthetic_scenarios,
    wide_scenario,
)
from tests.fixtures.firmware.sizes import STEP_API, WHOLE_API, Stack, flash, ram, stack
from tests.fixtures.firmware.toolchain import (
    ALONE,
    CLASSES_ALONE,
    CPUS,
    M4,
    M33,
    NARROW,
    Cpu,
    build,
)
from tools.measurements.budget import DEFAULT, measure

STEPS = {"m4": 10_000}
OTHER_STEPS = 1000
MOST_MEAN = {
    ("m4", "tcuq_10"): 940, ("m7", "tcuq_10"): 1000, ("m4", "full_10"): 3000,
    ("m0", "full_10"): 6850, ("rv32", "full_10"): 6000,
    ("m4", "wide_64"): 7500, ("m4", "wide_256"): 19_000,
}  # fmt: skip
MOST_OVER_MEAN = 600
MOST_FLASH = {"tcuq": 2816, "all but the projection": 7168}
MOST_RAM = {"tcuq_10": 232, "full_10": 416}
MOST_STACK = 256
FLASH = {
    "tcuq": (ALONE, STEP_API),
    "everything": (CLASSES_ALONE, WHOLE_API),
    "all but the projection": ((*NARROW, *CLASSES_ALONE), WHOLE_API),
}
WIDTHS = (64, 256)
COMPILERS = sorted({f"{cpu.prefix}gcc" for cpu in CPUS})
MOST_DEFAULT = {"m4": (2700, 7168), "m0": (6000, 8192), "rv32": (5000, 8704)}  # steps, flash
MOST_DEFAULT_RAM = 432


@dataclass(frozen=True, slots=True)
class Run:
    """One profile on one CPU."""

    cpu: Cpu
    scenario: Scenario
    counts: Counts
    equal: int
    repeated: bool  # counted twice, the same
    ram: dict[str, int]
    stack: Stack


@dataclass(frozen=True, slots=True)
class Size:
    """One build of the runtime for one CPU, at -Os."""

    cpu: Cpu
    name: str
    flash: int
    by_object: dict[str, int]
    stack: Stack


def measure_runs(folder: Path) -> Iterator[Run]:
    """Run every profile on every CPU; wide features on Cortex-M4."""
    plugin = build_plugin(folder)
    scenarios = [*box_scenarios(), *synthetic_scenarios()]
    wide = [wide_scenario(width) for width in WIDTHS]
    for cpu in (*CPUS, M33):
        for recorded in [*scenarios, *(wide if cpu is M4 else ())]:
            scenario = recorded.first(STEPS.get(cpu.name, OTHER_STEPS))
            place = folder / cpu.name / scenario.name
            elf = build(cpu, place, scenario.monitor(), options=scenario.options)
            inputs = (cpu, elf, plugin, scenario.steps)
            (counts, decisions), (again, _) = count(*inputs), count(*inputs)
            expected = scenario.expected()
            equal = int((decisions == expected).sum()) if len(decisions) == len(expected) else 0
            yield Run(cpu, scenario, counts, equal, counts == again, ram(cpu, elf), stack(place))


def measure_sizes(folder: Path) -> Iterator[Size]:
    """Measure every build for every CPU."""
    for cpu in CPUS:
        for name, (options, roots) in FLASH.items():
            place = folder / cpu.name / f"{name}_Os"
            whole, by_object = flash(cpu, place, options, roots)
            yield Size(cpu, name, whole, by_object, stack(place))


def default_rows() -> Iterator[Row]:
    """Yield one row per CPU: instructions and flash of the same build, against both limits."""
    for cpu in (*CPUS, M33):
        costs = measure((cpu,), (DEFAULT,))[cpu.name]
        most = MOST_DEFAULT.get(cpu.name)
        within = [
            most is not None and cost["instructions"] <= most[0] and cost["flash"] <= most[1]
            for cost in costs.values()
        ]
        yield Row(
            f"default profile, {cpu.title}: instructions a step and flash bytes of one build",
            "stated" if most is None else f"a build with ≤ {most[0]:,} and ≤ {most[1]:,}",
            "; ".join(
                f"{name.split()[1]} {cost['instructions']:,} and {cost['flash']:,}"
                for name, cost in costs.items()
            ),
            None if most is None else any(within),
        )
        if cpu is M4:
            ram_bytes = max(cost["ram"] for cost in costs.values())
            yield _limit("default profile: RAM bytes of state", MOST_DEFAULT_RAM, ram_bytes)


def rows(runs: list[Run], sizes: list[Size]) -> Iterator[Row]:
    """Yield what must hold, and what is stated beside it."""
    for cpu in (*CPUS, M33):
        mine = [r for r in runs if r.cpu is cpu]
        steps, equal = sum(r.counts.steps for r in mine), sum(r.equal for r in mine)
        total = sum(len(r.scenario.steps) for r in mine)
        yield Row(
            f"decisions on {cpu.title} that equal the host's",
            f"all of {total:,}", f"{equal:,}", equal == total == steps,
        )  # fmt: skip
    same = sum(r.repeated for r in runs)
    yield Row(
        "instruction counts that a second run repeats",
        f"all of {len(runs)}", f"{same}", same == len(runs),
    )  # fmt: skip
    for r in runs:
        most = MOST_MEAN.get((r.cpu.name, r.scenario.name))
        yield Row(
            f"instructions a step, {r.cpu.title}, {r.scenario.title}: mean",
            "stated" if most is None else f"≤ {most:,}",
            f"{r.counts.mean:,.0f}",
            None if most is None else r.counts.mean <= most,
        )
    here = max((r for r in runs if r.cpu is M4), key=_over)
    yield _limit(
        f"instructions of a worst step over the mean, {M4.title} ({here.scenario.title})",
        MOST_OVER_MEAN, _over(here),
    )  # fmt: skip
    widest = max(runs, key=_over)
    yield figure(
        "instructions of a worst step over the mean, any CPU",
        f"{_over(widest):,.0f} ({widest.cpu.title}, {widest.scenario.title})",
    )
    for size in sizes:
        apis = "tcuq_init and tcuq_step" if size.name == "tcuq" else "the whole interface"
        what = f"flash bytes, {size.cpu.title}, {size.name} ({apis})"
        if size.cpu is M4 and size.name in MOST_FLASH:
            yield _limit(what, MOST_FLASH[size.name], size.flash)
        else:
            yield figure(what, f"{size.flash:,}")
    for name, most in MOST_RAM.items():
        chosen = next(r for r in runs if r.cpu is M4 and r.scenario.name == name)
        yield _limit(f"RAM bytes of state, {chosen.scenario.title}", most, sum(chosen.ram.values()))
    stacks = [*((r.cpu, r.stack) for r in runs), *((s.cpu, s.stack) for s in sizes)]
    on_m4 = max(depth.size for cpu, depth in stacks if cpu is M4)
    yield _limit(f"stack bytes of tcuq_step, {M4.title}, deepest of all builds", MOST_STACK, on_m4)
    cpu, deepest = max(stacks, key=lambda pair: pair[1].size)
    yield figure(
        "stack bytes of tcuq_step, deepest of all CPUs and builds", f"{deepest.size} ({cpu.title})"
    )


def _over(run: Run) -> float:
    return run.counts.whole.worst - run.counts.mean


def _limit(what: str, most: int, measured: float) -> Row:
    return Row(what, f"≤ {most:,}", f"{measured:,.0f}", measured <= most)


def tables(runs: list[Run], sizes: list[Size]) -> Iterator[str]:
    """Yield the measured figures as text."""
    yield "instructions a step: mean / worst"
    names = list(dict.fromkeys(r.scenario.title for r in runs))
    yield f"{'':10}" + "".join(f"{name:>26}" for name in names)
    for cpu in (*CPUS, M33):
        cells = [f"{r.counts.mean:,.0f} / {r.counts.whole.worst:,}" for r in runs if r.cpu is cpu]
        yield f"{cpu.title:10}" + "".join(f"{cell:>26}" for cell in cells)
    for r in runs:
        if r.cpu is M4:
            yield f"\n{r.cpu.title}, {r.scenario.title}, by stage: mean / worst"
            for name, stage in r.counts.stages.items():
                yield f"  {name:24}{stage.total / r.counts.steps:10,.1f} / {stage.worst:,}"
            parts = sorted(r.counts.functions.items(), key=lambda item: -item[1])
            own = ", ".join(f"{name} {total / r.counts.steps:,.0f}" for name, total in parts)
            yield f"  by function: {own}"
            yield f"  RAM {sum(r.ram.values())}: {r.ram}"
            yield f"  stack at -O2 {r.stack.size}: {' > '.join(r.stack.path)}"
    yield "\nflash and stack at -Os"
    for size in sizes:
        yield f"{size.cpu.title:10}{size.name:12}{size.flash:6,}  {size.by_object}"
        yield f"{'':22}stack {size.stack.size}: {' > '.join(size.stack.path)}"


def stages(runs: list[Run]) -> dict[str, object]:
    """Return the instructions of each stage on Cortex-M4, by profile."""
    return {
        r.scenario.name: {
            name: {"mean": round(stage.total / r.counts.steps, 1), "worst": stage.worst}
            for name, stage in r.counts.stages.items()
        }
        for r in runs
        if r.cpu is M4
    }


def main() -> None:
    """Build, run, compare, count and report."""
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        runs = list(measure_runs(Path(folder)))
        sizes = list(measure_sizes(Path(folder)))
    print("\n".join(tables(runs, sizes)), end="\n\n")
    tools = {name: tool_version(name) for name in (CPUS[0].emulator[0], *COMPILERS)}
    results, more = [*rows(runs, sizes), *default_rows()], {"stages_m4": stages(runs)}
    sys.exit(report("firmware", results, (), write=args.write, tools=tools, more=more))


if __name__ == "__main__":
    main()
