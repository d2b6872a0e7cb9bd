# SPDX-License-Identifier: Apache-2.0
"""The figures of `tcuq size` against the compiler, the linker and the emulator."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import tcuq
from tcuq.firmware.compiler import best_footprint, compiled_footprint, gcc, zig
from tcuq.firmware.cpus import CPUS
from tcuq.firmware.footprint import FLASH_ERROR, Interface, footprint, measured_table
from tcuq.firmware.header import size_of, structs
from tcuq.profile.quantize import quantize
from tests.fixtures.effort import every
from tests.fixtures.firmware.emulator import build_plugin
from tests.fixtures.firmware.toolchain import CPUS as EMULATED
from tests.fixtures.firmware.toolchain import RUNTIME, run
from tests.fixtures.random_profiles import random_profile
from tools.measurements.budget import BUDGET, BUILDS, OPTIMISATIONS
from tools.measurements.footprint import PROFILE_NAMES, complaint
from tools.measurements.size import SEEDS, link_errors, repeated_counts, stack_error


@cache
def profile_of(seed: int) -> tcuq.Profile:
    """Return a random profile, cached."""
    return random_profile(seed)


def test_the_table_is_current() -> None:
    """A change of the runtime's code requires a new measurement."""
    assert complaint() == ""


def test_random_profiles_differ() -> None:
    """The ten profiles have ten shapes and every optional part."""
    specs = [quantize(profile_of(seed)) for seed in SEEDS]
    assert len({(s["classes"], s["width"], s["lags"]) for s in specs}) == len(specs)
    assert {s["terms"] is None for s in specs} == {True, False}
    assert {s["channels"] is None for s in specs} == {True, False}
    assert {s["whitening"] is None for s in specs} == {True, False}
    assert any(s["width"] == 0 for s in specs)
    assert any(s["projection"] is not None for s in specs)


@pytest.mark.parametrize("seed", every(2, SEEDS))
def test_the_table_is_what_the_linker_says(seed: int, tmp_path: Path) -> None:
    """On Cortex-M4 flash is within the stated error, RAM and stack are exact."""
    profile, telemetry = profile_of(seed), seed % 2 == 0
    flash, ram = link_errors(profile, "cortex-m4", "-Os", telemetry=telemetry)
    assert flash <= FLASH_ERROR
    assert ram == 0
    assert stack_error(profile, tmp_path, telemetry=telemetry) == 0


@pytest.mark.parametrize("name", [name for name in CPUS if name != "cortex-m4"])
@pytest.mark.parametrize(("optimise", "interface"), [("-Os", "whole"), ("-O2", "step")])
def test_the_table_on_other_cpus(name: str, optimise: str, interface: Interface) -> None:
    """Flash and RAM on the other CPUs, for the whole interface and for a step's alone."""
    profile = profile_of(0)
    table = footprint(profile, name, optimise=optimise, interface=interface)
    linked = compiled_footprint(profile, table, gcc(CPUS[name]))
    assert table.flash == pytest.approx(linked.flash, rel=FLASH_ERROR)
    assert table.ram == linked.ram


def test_instructions_are_the_emulators(tmp_path: Path) -> None:
    """On Cortex-M4 every count of the table is what the emulator counts now."""
    equal = repeated_counts(build_plugin(tmp_path), tmp_path)
    assert equal == [True] * 2 * len(PROFILE_NAMES)


def test_instructions_are_the_budgets() -> None:
    """The counts are those of docs/cost.md, within the budget's tolerance of 1 %."""
    budget, profiles = BUDGET.limits(), measured_table()["standard_profiles"]
    for cpu in EMULATED:
        for (build, (_, _, scenario)), optimise in product(BUILDS.items(), OPTIMISATIONS):
            counts = profiles[PROFILE_NAMES[scenario]]["instructions"][cpu.title.lower()][optimise]
            expected = budget[cpu.name][f"{build} {optimise}"]
            assert counts["mean"] == pytest.approx(expected["instructions"], rel=0.01)
            assert counts["worst"] == pytest.approx(expected["worst"], rel=0.01)


def test_layout_is_the_compilers(tmp_path: Path) -> None:
    """Every struct of the header has the size that the cross compiler gives it."""
    lines = [f"char size_{name}[sizeof({name})];" for name in structs()]
    (tmp_path / "sizes.c").write_text('#include "tcuq.h"\n' + "\n".join(lines), "utf-8")
    for cpu in CPUS.values():
        run([f"{cpu.prefix}gcc", *cpu.flags, "-ffreestanding", f"-I{RUNTIME}", "-c",
             tmp_path / "sizes.c", "-o", tmp_path / "sizes.o"])  # fmt: skip
        sizes = dict(_sizes(run([f"{cpu.prefix}nm", "-S", tmp_path / "sizes.o"])))
        assert sizes == {name: size_of(name)[0] for name in structs()}


def _sizes(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        _, size, _, name = line.split()
        yield name.removeprefix("size_"), int(size, 16)


def test_best_installed_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """GCC's figures, without it Zig's, without both the table's; RAM is the same in all three."""
    profile = profile_of(0)
    table = footprint(profile)
    by_gcc = best_footprint(profile, table)
    assert by_gcc.flash_source.startswith("compiled by arm-none-eabi-gcc")
    monkeypatch.setattr("shutil.which", lambda _: None)
    by_zig = best_footprint(profile, table)
    assert by_zig.flash_source.startswith("compiled by clang")
    assert by_zig.ram == by_gcc.ram == table.ram
    assert by_zig.flash == pytest.approx(by_gcc.flash, rel=0.15)
    monkeypatch.setattr("tcuq.firmware.compiler.find_spec", lambda _: None)
    assert best_footprint(profile, table) is table
    assert table.flash_source.startswith("from the measured table")
    assert table.table_compiler.startswith("arm-none-eabi-gcc")


@pytest.mark.parametrize("name", every(3, list(CPUS)))
def test_zig_knows_every_cpu(name: str) -> None:
    """Clang from the package `ziglang` builds for each CPU."""
    table = footprint(profile_of(0), name)
    linked = compiled_footprint(profile_of(0), table, zig(CPUS[name]))
    assert linked.ram == table.ram
    assert linked.flash == pytest.approx(table.flash, rel=0.15)
