# SPDX-License-Identifier: Apache-2.0
"""The error of the table of `tcuq size` against the linker and the emulator."""

import dataclasses
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from results.result import Row, figure, measure
from tcuq import Profile
from tcuq.demo import demo_profile
from tcuq.firmware.compiler import compiled_footprint, gcc, zig
from tcuq.firmware.cpus import CPUS
from tcuq.firmware.footprint import FLASH_ERROR, OPTIMISATIONS, footprint, measured_table
from tcuq.monitor import Monitor
from tests.fixtures.conformance import probabilities_of
from tests.fixtures.firmware.emulator import build_plugin
from tests.fixtures.firmware.sizes import stack
from tests.fixtures.firmware.toolchain import M4, compile_runtime
from tests.fixtures.random_profiles import random_profile
from tools.measurements.footprint import (
    PROFILE_NAMES,
    cpu_key,
    measure_instructions,
    options,
    standard_profiles,
)

SEEDS = range(10)


def link_errors(
    profile: Profile, cpu: str, optimise: str, *, telemetry: bool
) -> tuple[float, float]:
    """Return the relative errors of the table's flash and RAM against the linker's."""
    table = footprint(profile, cpu, optimise=optimise, telemetry=telemetry)
    linked = compiled_footprint(profile, table, gcc(CPUS[cpu]))
    return abs(table.flash / linked.flash - 1), abs(table.ram / linked.ram - 1)


def stack_error(profile: Profile, folder: Path, *, telemetry: bool) -> float:
    """Return the relative error of the table's stack on Cortex-M4 against the call graph."""
    table = footprint(profile, cpu_key(M4), telemetry=telemetry)
    compile_runtime(M4, folder, table.optimise, options(table.parts))
    return abs(table.stack / stack(folder).size - 1)


def repeated_counts(plugin: Path, folder: Path) -> list[bool]:
    """Return whether the emulator repeats the table's counts, by standard profile."""
    equal = []
    for scenario, optimise in itertools.product(standard_profiles(), OPTIMISATIONS):
        place = folder / f"{scenario.name}{optimise}"
        counts = measure_instructions(M4, optimise, scenario, plugin, place)
        table = measured_table()["standard_profiles"][PROFILE_NAMES[scenario.name]]
        equal.append(counts == table["instructions"][cpu_key(M4)][optimise])
    return equal


def input_effect(plugin: Path, folder: Path) -> list[float]:
    """Return the ratio of instructions on random posteriors to those on a profile's own."""
    ratios = []
    for scenario, optimise in itertools.product(standard_profiles(), OPTIMISATIONS):
        rng = np.random.default_rng(0)
        logits = rng.normal(size=scenario.steps.posteriors.shape)
        labels = np.repeat(rng.integers(0, logits.shape[1], len(logits) // 10 + 1), 10)
        logits[np.arange(len(logits)), labels[: len(logits)]] += 3
        features = np.zeros((len(logits), scenario.profile.inputs.width))
        kind = scenario.profile.inputs.kind
        rows = logits if kind == "logits" else probabilities_of(logits)
        posteriors, _ = Monitor(scenario.profile).quantize(rows, features)
        steps = dataclasses.replace(scenario.steps, posteriors=posteriors)
        other = dataclasses.replace(scenario, steps=steps)
        place = folder / f"{scenario.name}{optimise}"
        own, changed = (
            measure_instructions(M4, optimise, s, plugin, place)["mean"] for s in (scenario, other)
        )
        ratios.append(changed / own)
    return ratios


def clang_flash() -> list[float]:
    """Return the flash of the demo's profile by Zig's Clang over that by GCC, on every CPU."""
    profile, ratios = demo_profile(), []
    for cpu in CPUS.values():
        table = footprint(profile, cpu.name)
        by_clang = compiled_footprint(profile, table, zig(cpu))
        ratios.append(by_clang.flash / compiled_footprint(profile, table, gcc(cpu)).flash)
    return ratios


def rows(_short: bool) -> Iterator[Row]:
    """Yield the table's errors against the linker, the call graph and the emulator."""
    profiles = [random_profile(seed) for seed in SEEDS]
    cases = list(itertools.product(enumerate(profiles), CPUS, OPTIMISATIONS))
    errors = [
        link_errors(profile, cpu, optimise, telemetry=number % 2 == 0)
        for (number, profile), cpu, optimise in cases
    ]
    where = f"{len(profiles)} random profiles, {len(CPUS)} CPUs, -Os and -O2"
    flash, ram = (max(column) for column in zip(*errors, strict=True))
    yield _error_row(f"size: flash from the table, {where}", FLASH_ERROR, flash)
    yield _error_row(f"size: RAM, {where}", 0.0, ram)
    with tempfile.TemporaryDirectory() as name:
        yield from emulated_rows(profiles, Path(name))
    yield _range_row("size: flash of the demo's profile by Clang over that by GCC", clang_flash())


def emulated_rows(profiles: list[Profile], folder: Path) -> Iterator[Row]:
    """Yield stack and instructions on Cortex-M4."""
    stacks = [
        stack_error(profile, folder / str(number), telemetry=number % 2 == 0)
        for number, profile in enumerate(profiles)
    ]
    what = f"size: stack from the table, {len(profiles)} random profiles, {M4.title}"
    yield _error_row(what, 0.0, max(stacks))
    plugin = build_plugin(folder)
    equal = repeated_counts(plugin, folder)
    what = f"size: instruction counts of the standard profiles that a new run repeats, {M4.title}"
    yield Row(what, f"all of {len(equal)}", f"{sum(equal)}", all(equal))
    effect = f"size: instructions on other posteriors, standard profiles, {M4.title}"
    yield _range_row(effect, input_effect(plugin, folder))


def _error_row(what: str, bound: float, error: float) -> Row:
    must = f"within {bound:.1%}" if bound else "exact"
    return Row(what, must, f"off by {error:.2%} at most", error <= bound)


def _range_row(what: str, ratios: list[float]) -> Row:
    return figure(what, f"{min(ratios) - 1:+.0%} to {max(ratios) - 1:+.0%}")


if __name__ == "__main__":
    measure("size", rows, tools=("qemu-system-arm", "arm-none-eabi-gcc"))
