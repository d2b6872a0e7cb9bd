# SPDX-License-Identifier: Apache-2.0
"""What `tcuq size` predicts against what the compiler, the linker and the emulator say."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from emulator import build_plugin, count
from export import write_c
from footprint import complaint, options
from footprint_profiles import Drawn, draw
from sizes import stack
from tcuq.export.compiling import best_footprint, compiled_footprint, compiler
from tcuq.export.cpus import CPUS
from tcuq.export.footprint import Footprint, Interface, footprint, measured_table
from tcuq.export.header import size_of, structs
from tcuq.quantize import quantize
from toolchain import M4, RUNTIME, build, run

SEEDS = range(10)  # none of those the table was fitted to
WITHIN = 0.02


@cache
def drawn(seed: int) -> Drawn:
    """A random profile and steps for it."""
    return draw(seed)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The counting plugin."""
    return build_plugin(tmp_path_factory.mktemp("plugin"))


def near(predicted: float, truth: float) -> bool:
    """Within two parts in a hundred."""
    return abs(predicted / truth - 1) <= WITHIN


def test_the_table_is_of_this_runtime() -> None:
    """A changed runtime asks for the table to be measured again."""
    assert complaint() == ""


def test_shapes_differ() -> None:
    """The ten profiles are not ten times the same."""
    specs = [quantize(drawn(seed).profile) for seed in SEEDS]
    assert len({(s["classes"], s["width"], s["lags"]) for s in specs}) == len(specs)
    assert {s["terms"] is None for s in specs} == {True, False}
    assert {s["channels"] is None for s in specs} == {True, False}
    assert {s["whitening"] is None for s in specs} == {True, False}
    assert any(s["width"] == 0 for s in specs)
    assert any(s["projection"] is not None for s in specs)


@pytest.mark.parametrize("seed", SEEDS)
def test_prediction_is_the_compiled_truth(seed: int, plugin: Path, tmp_path: Path) -> None:
    """Flash, RAM, stack and instructions on Cortex-M4, each within 2 % of what is built and run."""
    one, telemetry = drawn(seed), seed % 2 == 0
    predicted = footprint(one.profile, "cortex-m4", telemetry=telemetry)
    truth = compiled_footprint(one.profile, predicted)
    assert near(predicted.flash, truth.flash), (predicted.flash, truth.flash)
    assert near(predicted.ram, truth.ram), (predicted.ram, truth.ram)
    spec = quantize(one.profile)
    elf = build(
        M4,
        tmp_path,
        write_c(spec, telemetry=telemetry),
        optimise="-Os",
        options=options(predicted.parts),
    )
    counts, _ = count(M4, elf, plugin, one.posteriors, one.features)
    assert near(predicted.instructions, counts.mean), (predicted.instructions, counts.mean)
    assert predicted.stack == stack(tmp_path).size


@pytest.mark.parametrize("name", [name for name in CPUS if name != "cortex-m4"])
@pytest.mark.parametrize(("optimise", "interface"), [("-Os", "whole"), ("-O2", "step")])
def test_prediction_on_other_cpus(name: str, optimise: str, interface: Interface) -> None:
    """Flash and RAM on the other CPUs, small and whole or fast and bare."""
    profile = drawn(0).profile
    predicted = footprint(profile, name, optimise=optimise, interface=interface)
    truth = compiled_footprint(profile, predicted)
    assert near(predicted.flash, truth.flash)
    assert near(predicted.ram, truth.ram)


def test_the_fits_errors_are_stated() -> None:
    """On no CPU were instructions of profiles kept out of the fit off by more than 2 %."""
    errors = [build["error"] for cpu in measured_table()["cpus"].values() for build in cpu.values()]
    assert len(errors) == 2 * len(CPUS)
    assert max(errors) <= WITHIN


def test_layout_is_the_compilers(tmp_path: Path) -> None:
    """Every struct of the header has the size that the cross compiler gives it."""
    lines = [f"char size_{name}[sizeof({name})];" for name in structs()]
    (tmp_path / "sizes.c").write_text('#include "tcuq.h"\n' + "\n".join(lines), "utf-8")
    for cpu in CPUS.values():
        run([f"{cpu.prefix}gcc", *cpu.flags, "-ffreestanding", f"-I{RUNTIME}", "-c",
             tmp_path / "sizes.c", "-o", tmp_path / "sizes.o"])  # fmt: skip
        said = dict(_sizes(run([f"{cpu.prefix}nm", "-S", tmp_path / "sizes.o"])))
        assert said == {name: size_of(name)[0] for name in structs()}


def _sizes(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        _, size, _, name = line.split()
        yield name.removeprefix("size_"), int(size, 16)


def test_a_compiler_is_used_if_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cross compiler the figures are its own; without one they come from the table."""
    profile = drawn(0).profile
    assert best_footprint(profile, "cortex-m4").measured.startswith("compiled by arm-none-eabi-gcc")
    monkeypatch.setenv("PATH", "")
    assert compiler(CPUS["cortex-m4"]) is None
    found: Footprint = best_footprint(profile, "cortex-m4")
    assert found.measured.startswith("measured table, arm-none-eabi-gcc")
