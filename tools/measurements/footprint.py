# SPDX-License-Identifier: Apache-2.0
"""Measure the table of `tcuq size`: code, stack and instructions on every emulated CPU.

    python -m tools.measurements.footprint --write   # minutes; after the runtime's code has changed
    python -m tools.measurements.footprint --check   # at once: was the table measured on this code?

Code and stack are those of every build of the runtime. Instructions are those of one step of the
standard profiles (tests/fixtures/firmware/scenarios.py). `--write` also renews docs/howto/size.md.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

from results.result import ROOT
from tcuq.demo import demo_profile
from tcuq.firmware import cpus
from tcuq.firmware.compiler import FLASH_SECTIONS, gcc, linked_sections
from tcuq.firmware.footprint import (
    OPTIMISATIONS,
    Interface,
    build_name,
    interface_functions,
    profile_shape,
)
from tcuq.firmware.profile_c import PARTS, required_parts
from tcuq.firmware.runtime_files import code_digest
from tcuq.profile.quantize import quantize
from tests.fixtures.firmware.emulator import build_plugin, count
from tests.fixtures.firmware.scenarios import (
    Scenario,
    box_scenarios,
    outputs_scenario,
    synthetic_scenarios,
)
from tests.fixtures.firmware.sizes import stack
from tests.fixtures.firmware.toolchain import (
    CPUS,
    FLAGS,
    Cpu,
    build,
    compile_runtime,
    compiler_version,
)

TABLE = ROOT / "src/tcuq/firmware/footprint.json"
PAGE = ROOT / "docs/howto/size.md"
LINE_WIDTH = 160
WORKERS = 3  # threads that wait for compilers
STEPS = 1000
PROFILE_NAMES = {
    "tcuq_keywords": "paper preset on the demo streams",
    "full_keywords": "recommended preset on the demo streams",
    "tcuq_10": "paper preset on synthetic streams",
    "full_10": "recommended preset with two score terms on synthetic streams",
    "recommended_10": "recommended preset on synthetic streams with input health",
    "default_10": "recommended preset on synthetic streams",
    "outputs_1": "recommended preset on a regressor",
}

Build = tuple[str, ...]


def builds() -> list[Build]:
    """Return every choice of optional parts, with classes; without, those with terms."""
    kinds, others = PARTS[:2], PARTS[2:]
    choices = itertools.product((False, True), repeat=len(others))
    chosen = [tuple(itertools.compress(others, choice)) for choice in choices]
    with_classes = [(kinds[0], *parts) for parts in chosen]
    return with_classes + [(kinds[1], *parts) for parts in chosen if others[0] in parts]


def options(parts: Iterable[str]) -> list[str]:
    """Return the compiler options that leave the other parts out."""
    return [f"-DTCUQ_WITH_{part.upper()}={int(part in parts)}" for part in PARTS]


def standard_profiles() -> list[Scenario]:
    """Return the profiles whose instructions are counted, each with its steps."""
    every = (*box_scenarios(), *synthetic_scenarios(), outputs_scenario())
    return [scenario.first(STEPS) for scenario in every]


def measure_build(cpu: Cpu, optimise: str, parts: Build, folder: Path) -> dict[str, int]:
    """Measure the code that each interface links, and the stack, in bytes, of one build."""
    objects = compile_runtime(cpu, folder, optimise, options(parts))
    runtime = [path for path in objects if path.stem != "library"]
    code = {}
    for interface in get_args(Interface):
        roots = interface_functions(interface, telemetry="telemetry" in parts)
        sections = linked_sections(gcc(cpus.CPUS[cpu_key(cpu)]), runtime, roots, optimise)
        code[interface] = sum(sections.get(section, 0) for section in FLASH_SECTIONS)
    return code | {"stack": stack(folder).size}


def measure_instructions(
    cpu: Cpu, optimise: str, scenario: Scenario, plugin: Path, folder: Path
) -> dict[str, int]:
    """Count the instructions of one step of a standard profile: mean and worst."""
    elf = build(cpu, folder, scenario.monitor(), optimise=optimise, options=scenario.options)
    counts, _ = count(cpu, elf, plugin, scenario.steps)
    return {"mean": round(counts.mean), "worst": counts.whole.worst}


def cpu_key(cpu: Cpu) -> str:
    """Return the name of a CPU in `tcuq size`."""
    return cpu.title.lower()


def measure(folder: Path) -> dict[str, Any]:
    """Measure the whole table."""
    plugin = build_plugin(folder)
    table: dict[str, Any] = {
        "command": "python -m tools.measurements.footprint --write",
        "runtime": code_digest(),
        "compilers": {cpu.prefix: compiler_version(cpu) for cpu in CPUS},
        "flags": [flag for flag in FLAGS if not flag.startswith("-W")],
        "builds": {cpu_key(cpu): _measure_builds(cpu, folder) for cpu in CPUS},
        "standard_profiles": {},
    }
    for scenario in standard_profiles():
        spec = quantize(scenario.profile)
        counts = {
            cpu_key(cpu): {
                optimise: measure_instructions(
                    cpu, optimise, scenario, plugin, folder / cpu.name / scenario.name / optimise
                )
                for optimise in OPTIMISATIONS
            }
            for cpu in CPUS
        }
        parts = list(required_parts(spec, telemetry=scenario.whole))
        table["standard_profiles"][PROFILE_NAMES[scenario.name]] = {
            "measured": profile_shape(spec) | {"parts": parts, "steps": len(scenario.steps)},
            "instructions": counts,
        }
    return table


def _measure_builds(cpu: Cpu, folder: Path) -> dict[str, Any]:
    def one(parts: Build) -> dict[str, dict[str, int]]:
        place = folder / cpu.name / build_name(parts)
        return {
            optimise: measure_build(cpu, optimise, parts, place / optimise)
            for optimise in OPTIMISATIONS
        }

    with ThreadPoolExecutor(WORKERS) as pool:
        every = builds()
        return dict(zip(map(build_name, every), pool.map(one, every), strict=True))


def compact_json(value: object, indent: int = 0) -> str:
    """Return JSON with every value that fits on one line on one line."""
    line = json.dumps(value)
    if not isinstance(value, dict | list) or indent + len(line) <= LINE_WIDTH:
        return line
    begin, end = "{}" if isinstance(value, dict) else "[]"
    pairs = value.items() if isinstance(value, dict) else (("", item) for item in value)
    keys = ((f"{json.dumps(key)}: " if key else "", item) for key, item in pairs)
    lines = [f"{' ' * (indent + 1)}{key}{compact_json(item, indent + 1)}" for key, item in keys]
    return "\n".join([begin, ",\n".join(lines), f"{' ' * indent}{end}"])


def complaint() -> str:
    """Return why the table is out of date, or an empty text."""
    table = json.loads(TABLE.read_text("utf-8"))
    if table["runtime"] == code_digest():
        return ""
    return "the runtime's code has changed: run python -m tools.measurements.footprint --write"


def write_page(folder: Path) -> None:
    """Show on the page what `tcuq size` prints for the demo's profile from the new table."""
    profile = folder / "monitor.json"
    demo_profile().save(profile)
    command = [str(Path(sys.executable).with_name("tcuq")), "size", str(profile), "--table"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    before, fence, rest = PAGE.read_text("utf-8").partition("```text\n")
    _, closing, after = rest.partition("```")
    PAGE.write_text(before + fence + printed + closing + after, "utf-8")


def main() -> None:
    """Measure and write the table, or check that it is current."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true")
    action.add_argument("--check", action="store_true")
    if parser.parse_args().write:
        with tempfile.TemporaryDirectory() as folder:
            table = measure(Path(folder))
            TABLE.write_text(compact_json(table) + "\n", "utf-8")
            write_page(Path(folder))
    sys.exit(complaint() or 0)


if __name__ == "__main__":
    main()
