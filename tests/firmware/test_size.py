# SPDX-License-Identifier: Apache-2.0
"""What `tcuq size` predicts against what the compiler, the linker and the emulator say."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tcuq.export.compiling import best_footprint, compiled_footprint, gcc, zig
from tcuq.export.cpus import CPUS
from tcuq.export.footprint import Interface, footprint, measured_table
from tcuq.export.header import size_of, structs
from tcuq.profile.quantize import quantize
from tools.firmware.emulator import build_plugin
from tools.firmware.toolchain import RUNTIME, run
from tools.measurements.footprint import complaint
from tools.measurements.footprint_profiles import RandomProfile, draw
from tools.measurements.size import SEEDS, WITHIN, errors


@cache
def drawn(seed: int) -> RandomProfile:
    """A random profile and steps for it."""
    return draw(seed)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The counting plugin."""
    return build_plugin(tmp_path_factory.mktemp("plugin"))


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
    found = errors(seed, plugin, tmp_path)
    assert max(found.values()) <= WITHIN, found


@pytest.mark.parametrize("name", [name for name in CPUS if name != "cortex-m4"])
@pytest.mark.parametrize(("optimise", "interface"), [("-Os", "whole"), ("-O2", "step")])
def test_prediction_on_other_cpus(name: str, optimise: str, interface: Interface) -> None:
    """Flash and RAM on the other CPUs, small and whole or fast and bare."""
    profile = drawn(0).profile
    predicted = footprint(profile, name, optimise=optimise, interface=interface)
    truth = compiled_footprint(profile, predicted, gcc(CPUS[name]))
    assert predicted.flash == pytest.approx(truth.flash, rel=WITHIN)
    assert predicted.ram == truth.ram


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


def test_the_best_compiler_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """GCC's figures, or Zig's without it, or the table's; RAM is the same by all three."""
    profile = drawn(0).profile
    predicted = footprint(profile)
    by_gcc = best_footprint(profile, predicted)
    assert by_gcc.measured.startswith("compiled by arm-none-eabi-gcc")
    monkeypatch.setattr("shutil.which", lambda _: None)
    by_zig = best_footprint(profile, predicted)
    assert by_zig.measured.startswith("compiled by clang")
    assert by_zig.ram == by_gcc.ram == predicted.ram
    assert by_zig.flash == pytest.approx(by_gcc.flash, rel=0.15)
    monkeypatch.setattr("tcuq.export.compiling.find_spec", lambda _: None)
    assert best_footprint(profile, predicted) is predicted
    assert predicted.measured.startswith("measured table, arm-none-eabi-gcc")


@pytest.mark.parametrize("name", CPUS)
def test_zig_knows_every_cpu(name: str) -> None:
    """Clang of the package `ziglang` builds for each CPU."""
    predicted = footprint(drawn(0).profile, name)
    found = compiled_footprint(drawn(0).profile, predicted, zig(CPUS[name]))
    assert found.ram == predicted.ram
    assert found.flash == pytest.approx(predicted.flash, rel=0.15)
