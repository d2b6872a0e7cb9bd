# SPDX-License-Identifier: Apache-2.0
"""Measure what `tcuq size` predicts from: code, stack and instructions on every emulated CPU.

    python -m tools.measurements.footprint --write   # minutes; after the runtime's code has changed
    python -m tools.measurements.footprint --check   # at once: was the table made of this code?

Code and stack are of every build of the runtime. Instructions a step are fitted, stage by stage, to
how often each loop turns, over random profiles; the largest error on a quarter of them that a first
fit did not see is in the table.
"""

import argparse
import itertools
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from tcuq.export import cpus
from tcuq.export.compiling import FLASHED, gcc, linked_sections
from tcuq.export.footprint import (
    OPTIMISATIONS,
    Interface,
    build_name,
    code_digest,
    interface_functions,
)
from tcuq.export.sources import parts_needed, runtime_sources
from tcuq.export.work import Work, step_work
from tcuq.profile.quantize import quantize
from tools.firmware.emulator import Counts, build_plugin, count
from tools.firmware.export import write_c
from tools.firmware.sizes import stack
from tools.firmware.toolchain import CPUS, FLAGS, HERE, Cpu, compiler_version, run
from tools.measurements.footprint_profiles import RandomProfile, draw
from tools.measurements.result import ROOT

TABLE = ROOT / "src/tcuq/export/footprint.json"
BEGUN = TABLE.with_name("footprint.part.json")
PARTS = ("anchored", "novelty", "alarm", "telemetry")
PROFILES = 160
STAGES = {
    "signals": "tcuq_signals_run", "novelty": "tcuq_novelty_run", "score": "tcuq_score_run",
    "alarm": "tcuq_alarm_run",
}  # fmt: skip
SUPPORT = ("semihosting", "library", "main")
FIRST_SEED = 1000  # tests draw below it

Build = tuple[str, ...]


def builds() -> list[Build]:
    """Every choice of optional parts."""
    chosen = itertools.product((False, True), repeat=len(PARTS))
    return [tuple(p for p, wanted in zip(PARTS, row, strict=True) if wanted) for row in chosen]


def options(build: Build) -> list[str]:
    """The compiler's options that leave the other parts out."""
    return [f"-DTCUQ_WITH_{part.upper()}={int(part in build)}" for part in PARTS]


@dataclass(frozen=True, slots=True)
class Bench:
    """A CPU at one optimisation, and where it is measured."""

    cpu: Cpu
    optimise: str
    folder: Path
    plugin: Path

    def measure(self, profiles: list[RandomProfile]) -> dict[str, Any]:
        """Code and stack of every build, and the weights of a step's loops."""
        objects = {build: self.compile(build) for build in builds()}
        weights, error = self.fit(objects, profiles)
        return {
            "code": {build_name(b): self.code(b, files) for b, files in objects.items()},
            "stack": {build_name(b): stack(files[0].parent).size for b, files in objects.items()},
            "instructions": weights,
            "error": error,
        }

    def compile(self, build: Build) -> list[Path]:
        """The runtime's objects, beside what its functions call and take of the stack."""
        place = self.folder / build_name(build)
        place.mkdir(parents=True)
        for name, text in runtime_sources().items():
            (place / name).write_text(text, "utf-8")
        sources = sorted(place.glob("*.c"))
        run([*self.gcc(place, build), "-fcallgraph-info=su", "-c", *sources], cwd=place)
        return [place / f"{source.stem}.o" for source in sources]

    def code(self, build: Build, objects: list[Path]) -> dict[str, int]:
        """Bytes that each interface keeps."""
        compiler, sizes = gcc(cpus.CPUS[title(self.cpu)]), {}
        for interface in get_args(Interface):
            roots = interface_functions(interface, telemetry="telemetry" in build)
            sections = linked_sections(compiler, objects, roots, self.optimise)
            sizes[interface] = sum(sections.get(section, 0) for section in FLASHED)
        return sizes

    def fit(
        self, objects: dict[Build, list[Path]], profiles: list[RandomProfile]
    ) -> tuple[dict[str, dict[str, float]], float]:
        """Weights over all profiles, and the error on those that a first fit did not see."""
        work, measured = [], []
        whole = {b: [*files, *self.support(files, b)] for b, files in objects.items()}
        for number, one in enumerate(profiles):
            spec, telemetry = quantize(one.profile), number % 2 == 0
            build = tuple(
                n for n, needed in parts_needed(spec, telemetry=telemetry).items() if needed
            )
            elf = self.firmware(number, write_c(spec, telemetry=telemetry), build, whole[build])
            counts, _ = count(self.cpu, elf, self.plugin, one.posteriors, one.features)
            work.append(step_work(spec, telemetry=telemetry))
            measured.append(_by_stage(counts))
        fitted = len(profiles) * 3 // 4
        tried = _weights(work[:fitted], measured[:fitted])
        errors = [
            abs(_predicted(tried, turns) / sum(took.values()) - 1)
            for turns, took in zip(work[fitted:], measured[fitted:], strict=True)
        ]
        return _weights(work, measured), round(max(errors), 4)

    def support(self, runtime: list[Path], build: Build) -> list[Path]:
        """The emulator's startup and main program for a build of the runtime."""
        sources = [HERE / self.cpu.startup, *(HERE / f"{name}.c" for name in SUPPORT)]
        place = runtime[0].parent / "support"
        place.mkdir()
        run([*self.gcc(runtime[0].parent, build), "-c", *sources], cwd=place)
        return [place / f"{source.stem}.o" for source in sources]

    def firmware(self, number: int, monitor: str, build: Build, objects: list[Path]) -> Path:
        """The emulator's firmware with this monitor."""
        place = self.folder / f"profile_{number}"
        place.mkdir()
        (place / "monitor.c").write_text(monitor, "utf-8")
        elf, script = place / "firmware.elf", HERE / f"ld/{self.cpu.name}.ld"
        run(
            [*self.gcc(objects[0].parent, build), "-nostdlib", "-nostartfiles", "-Wl,--gc-sections",
             f"-L{HERE / 'ld'}", "-T", script, place / "monitor.c", *objects, "-lgcc", "-o", elf],
            cwd=place,
        )  # fmt: skip
        return elf

    def gcc(self, runtime: Path, build: Build) -> list[str]:
        """The compiler as the firmware is built with it."""
        includes = (f"-I{runtime}", f"-I{HERE}")
        flags = (*self.cpu.flags, *FLAGS, self.optimise, *options(build), *includes)
        return [f"{self.cpu.prefix}gcc", *flags]


def _by_stage(counts: Counts) -> dict[str, float]:
    """Instructions a step of each stage that has loops, and of the rest."""
    took = {
        stage: counts.stages[name].total / counts.steps if name in counts.stages else 0.0
        for stage, name in STAGES.items()
    }
    return took | {"rest": counts.mean - sum(took.values())}


def _weights(work: list[Work], measured: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Least squares of each stage's errors, relative to the whole step."""
    whole = np.array([sum(took.values()) for took in measured])
    by_stage = {}
    for stage in work[0]:
        names = list(work[0][stage])
        turns = np.array([[row[stage][name] for name in names] for row in work])
        took = np.array([row[stage] for row in measured])
        weights, *_ = np.linalg.lstsq(turns / whole[:, None], took / whole, rcond=None)
        by_stage[stage] = {n: round(float(w), 3) for n, w in zip(names, weights, strict=True)}
    return by_stage


def _predicted(weights: dict[str, dict[str, float]], work: Work) -> float:
    return sum(weights[stage][name] * n for stage in work for name, n in work[stage].items())


def title(cpu: Cpu) -> str:
    """The name `tcuq size` knows a CPU by."""
    return cpu.title.lower()


def measure() -> dict[str, Any]:
    """The whole table; CPUs that an interrupted run finished are not measured again."""
    table = _begun()
    profiles = [draw(FIRST_SEED + seed) for seed in range(PROFILES)]
    with tempfile.TemporaryDirectory() as name:
        plugin = build_plugin(Path(name))
        for cpu, optimise in itertools.product(CPUS, OPTIMISATIONS):
            by_optimisation = table["cpus"].setdefault(title(cpu), {})
            if optimise in by_optimisation:
                continue
            bench = Bench(cpu, optimise, Path(name) / f"{cpu.name}{optimise}", plugin)
            result = by_optimisation[optimise] = bench.measure(profiles)
            print(f"{cpu.title} {optimise}: instructions within {result['error']:.2%}", flush=True)
            BEGUN.write_text(json.dumps(table), "utf-8")
    return table


def _begun() -> dict[str, Any]:
    """What an interrupted run left of the same code, or an empty table."""
    table: dict[str, Any] = {
        "command": "python -m tools.measurements.footprint --write",
        "runtime": code_digest(),
        "compilers": {cpu.prefix: compiler_version(cpu) for cpu in CPUS},
        "profiles": PROFILES,
        "cpus": {},
    }
    if BEGUN.is_file():
        left: dict[str, Any] = json.loads(BEGUN.read_text("utf-8"))
        if {**left, "cpus": {}} == table:
            return left
    return table


def complaint() -> str:
    """What is wrong with the table, or nothing."""
    table = json.loads(TABLE.read_text("utf-8"))
    if table["runtime"] == code_digest():
        return ""
    return "the runtime's code has changed since: python -m tools.measurements.footprint --write"


def main() -> None:
    """Measure, or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--write", action="store_true")
    group.add_argument("--check", action="store_true")
    if parser.parse_args().write:
        TABLE.write_text(json.dumps(measure(), indent=1) + "\n", "utf-8")
        BEGUN.unlink(missing_ok=True)
    sys.exit(complaint() or 0)


if __name__ == "__main__":
    main()
