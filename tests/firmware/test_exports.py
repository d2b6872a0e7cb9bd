# SPDX-License-Identifier: Apache-2.0
"""Every export compiles as its build system compiles it, and passes its self-test on the CPU."""

import re
import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import tcuq
from tcuq.demo import demo_profile, demo_stream
from tcuq.export import TARGETS, export
from tools.firmware.scenarios import field_scenario
from tools.firmware.toolchain import CPUS, HERE, M4, Cpu, ToolError, run
from tools.registries.package import read_facts, write_package

RV32 = CPUS[-1]
STUBS = Path(__file__).parent / "stubs"
# The flags are those of the build systems' own files (the SAMD core's platform.txt; Zephyr's
# compiler_flags.cmake; ESP-IDF's CMakeLists.txt), with warnings as errors. -ffreestanding is
# Zephyr's own; elsewhere it stands for the C library's headers, which are not installed.
ARDUINO = ("-g", "-Os", "-Wall", "-Wextra", "-Werror", "-ffunction-sections", "-fdata-sections",
           "-nostdlib", "--param", "max-inline-insns-single=500", "-ffreestanding")  # fmt: skip
SKETCH = ("-std=gnu++11", "-fno-threadsafe-statics", "-fno-rtti", "-fno-exceptions")
ZEPHYR = ("-Os", "-ffreestanding", "-fno-common", "-g", "-std=c99", "-Wall", "-Wformat",
          "-Wformat-security", "-Wno-format-zero-length", "-Wno-main", "-Wno-pointer-sign",
          "-Wpointer-arith", "-Wexpansion-to-defined", "-Wno-address-of-packed-member",
          "-Wno-unused-but-set-variable", "-Werror=implicit-int", "-Wimplicit-fallthrough=2",
          "-Wconversion", "-Woverride-init", "-Werror", "-fno-asynchronous-unwind-tables",
          "-fno-pie", "-fno-pic", "-fno-strict-overflow", "-fno-strict-aliasing",
          "-ffunction-sections", "-fdata-sections")  # fmt: skip
ESP_IDF = ("-Os", "-freorder-blocks", "-std=gnu17", "-Wall", "-Wextra", "-Werror",
           "-Wno-unused-parameter", "-Wno-sign-compare", "-Wno-old-style-declaration",
           "-Wwrite-strings", "-fstrict-volatile-bitfields", "-fno-jump-tables",
           "-fno-tree-switch-conversion", "-ffunction-sections", "-fdata-sections",
           "-ffreestanding")  # fmt: skip
PLAIN = ("-std=c99", "-Os", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
         "-ffunction-sections", "-fdata-sections", "-ffreestanding")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Build:
    """How a target's sources are compiled, and what stands in for its framework."""

    cpu: Cpu
    flags: tuple[str, ...]
    program: str
    stand_in: str | None = None
    sketch: tuple[str, ...] = ()


BUILDS = {
    "c": Build(M4, PLAIN, "main.c"),
    "arduino": Build(
        M4, (*ARDUINO, "-std=gnu11"), "examples/Minimal/Minimal.ino", "arduino.cpp",
        (*ARDUINO, *SKETCH),
    ),
    "zephyr": Build(M4, ZEPHYR, "samples/minimal/src/main.c"),
    "esp-idf": Build(RV32, ESP_IDF, "examples/minimal/main/main.c", "esp_idf.c"),
    "platformio": Build(
        M4, (*ARDUINO, "-std=gnu11"), "examples/minimal/src/main.cpp", "arduino.cpp",
        (*ARDUINO, *SKETCH),
    ),
}  # fmt: skip


def _compiled(build: Build, folder: Path, objects: Path) -> list[Path]:
    """Objects of the export's own sources, library and program."""
    objects.mkdir(parents=True, exist_ok=True)
    includes = (f"-I{folder / 'src'}", f"-I{STUBS}")
    gcc, gxx = (f"{build.cpu.prefix}{name}" for name in ("gcc", "g++"))
    sources = sorted((folder / "src").glob("*.c"))
    run([gcc, *build.cpu.flags, *build.flags, *includes, "-c", *sources], cwd=objects)
    paths = [objects / f"{source.stem}.o" for source in sources]
    programs = [folder / build.program, *([STUBS / build.stand_in] if build.stand_in else [])]
    for program in programs:
        out = objects / f"program_{program.stem}.o"
        if program.suffix == ".c":
            words = [gcc, *build.cpu.flags, *build.flags]
        else:  # the Arduino builder puts this include before a sketch
            words = [gxx, *build.cpu.flags, *build.sketch, "-include", "Arduino.h", "-xc++"]
        run([*words, *includes, "-c", program, "-o", out])
        paths.append(out)
    return paths


def emulated(build: Build, folder: Path, objects: Path) -> None:
    """Build the export with the emulator's startup and run it; ToolError unless it exits with 0."""
    cpu, elf = build.cpu, objects / "firmware.elf"
    compiled = _compiled(build, folder, objects)
    bare = [HERE / cpu.startup, HERE / "semihosting.c", HERE / "library.c"]
    run(
        [f"{cpu.prefix}gcc", *cpu.flags, "-std=gnu11", "-Os", "-ffreestanding", "-nostdlib",
         "-nostartfiles", "-Wl,--gc-sections", f"-L{HERE / 'ld'}", "-T", HERE / f"ld/{cpu.name}.ld",
         *bare, *compiled, "-lgcc", "-o", elf]
    )  # fmt: skip
    run(
        [*cpu.emulator, "-nographic", "-monitor", "none", "-serial", "none",
         "-semihosting-config", "enable=on,target=native", "-kernel", elf],
        seconds=60,
    )  # fmt: skip


@pytest.fixture(scope="module")
def paper() -> tcuq.Profile:
    """The paper's profile of the streams in the box: no anchored score, no novelty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        streams = demo_stream("calibration"), demo_stream("development")
        return tcuq.fit(*streams, preset="paper")


def test_every_target_is_built() -> None:
    """No target is left out below; the profile alone has a test of its own."""
    assert {*BUILDS, "profile"} == set(TARGETS)


def test_a_profile_beside_the_runtime_package(tmp_path: Path) -> None:
    """A profile exported without the runtime decides as the host with the published runtime."""
    out = tmp_path / "out"
    write_package(out, read_facts(), tmp_path / "example")
    export(demo_profile(), tmp_path / "profile", "profile")
    assert not (tmp_path / "profile/src/tcuq.h").exists()
    shutil.copytree(tmp_path / "profile/src", out / "src", dirs_exist_ok=True)
    program = '#include "tcuq_device.h"\nint main(void)\n{\n    return tcuq_device_selftest();\n}\n'
    (out / "main.c").write_text(program, "utf-8")
    emulated(BUILDS["c"], out, tmp_path / "objects")


@pytest.mark.parametrize("target", sorted(BUILDS))
def test_self_test_passes_on_the_cpu(target: str, tmp_path: Path) -> None:
    """Exported, compiled with the build system's flags, run: every decision is the host's."""
    export(demo_profile(), tmp_path / "out", target)
    emulated(BUILDS[target], tmp_path / "out", tmp_path / "objects")


@pytest.mark.parametrize("cpu", CPUS, ids=lambda cpu: cpu.name)
def test_self_test_passes_on_every_cpu(cpu: Cpu, tmp_path: Path) -> None:
    """The same sources of the C export on each emulated CPU, with steps of a recorded stream."""
    export(demo_profile(), tmp_path / "out", "c", stream=demo_stream("fault_clipping"))
    emulated(Build(cpu, PLAIN, "main.c"), tmp_path / "out", tmp_path / "objects")


def test_the_papers_profile_without_telemetry(tmp_path: Path, paper: tcuq.Profile) -> None:
    """A build that leaves parts out passes too."""
    export(paper, tmp_path / "out", "c", telemetry=False)
    build = (tmp_path / "out/src/tcuq_build.h").read_text("utf-8")
    for part in ("ANCHORED", "NOVELTY", "TELEMETRY"):
        assert f"#define TCUQ_WITH_{part} 0" in build
    emulated(BUILDS["c"], tmp_path / "out", tmp_path / "objects")


def test_input_health(tmp_path: Path) -> None:
    """A profile that reads input health: its self-test holds statistics, its README names them."""
    scenario = field_scenario(100)
    export(scenario.profile, tmp_path / "out", "c")
    emulated(BUILDS["c"], tmp_path / "out", tmp_path / "objects")
    readme = (tmp_path / "out/README.md").read_text("utf-8")
    assert "tcuq_step(&tcuq_device, posterior, features, health, &decision);" in readme
    assert "3 statistic 4" in readme


@pytest.mark.parametrize("width", [0, 48])
def test_without_features_and_with_wide_ones(
    width: int, synthetic: Callable[..., tcuq.Stream], tmp_path: Path
) -> None:
    """No features, and features that are projected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        profile = tcuq.fit(synthetic(3000, classes=5, width=width))
    export(profile, tmp_path / "out", "c")
    emulated(BUILDS["c"], tmp_path / "out", tmp_path / "objects")


def test_the_self_test_can_fail(tmp_path: Path) -> None:
    """A changed anchor is seen, and the program says so."""
    export(demo_profile(), tmp_path / "out", "c")
    path = tmp_path / "out/src/tcuq_device.c"
    text = path.read_text("utf-8")
    path.write_text(re.sub(r"anchor = \d+", "anchor = 1", text), "utf-8")
    with pytest.raises(ToolError, match="exit code 1: qemu-system-arm"):
        emulated(BUILDS["c"], tmp_path / "out", tmp_path / "objects")


def test_the_self_test_sees_state(tmp_path: Path) -> None:
    """A block twice as long shows in no decision yet, but in the state."""
    export(demo_profile(), tmp_path / "out", "c")
    path = tmp_path / "out/src/tcuq_device.c"
    text = path.read_text("utf-8")
    start = text.index(".block = ") + len(".block = ")
    end = text.index(",", start)
    longer = str(2 * int(text[start:end]))
    path.write_text(text[:start] + longer + text[end:], "utf-8")
    with pytest.raises(ToolError, match="exit code 1: qemu-system-arm"):
        emulated(BUILDS["c"], tmp_path / "out", tmp_path / "objects")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("tcuq_build.h", "DIGEST 0x", "DIGEST 0x1", "exported with another runtime"),
        ("tcuq.h", '#include "tcuq_build.h"', "", "exported with another runtime"),
        ("tcuq.h", "TCUQ_PROFILE_FORMAT 3u", "TCUQ_PROFILE_FORMAT 4u", "has format 3"),
        ("tcuq.h", "    int32_t ledger_q16;\n", "    int32_t ledger_q16, more;\n",
         "tcuq_device_storage_is_exact"),
    ],
)  # fmt: skip
def test_another_runtime_does_not_compile(
    file: str, old: str, new: str, message: str, tmp_path: Path
) -> None:
    """A profile beside a runtime of another digest, format or state is refused by the compiler."""
    export(demo_profile(), tmp_path / "out", "c")
    path = tmp_path / "out/src" / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ToolError) as refused:
        _compiled(BUILDS["c"], tmp_path / "out", tmp_path / "objects")
    assert message in str(refused.value)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("optimise", ["-O0", "-O3"])
def test_the_c_export_on_the_host(compiler: str, optimise: str, tmp_path: Path) -> None:
    """One command of the README, with every warning an error; the program passes its self-test."""
    assert shutil.which(compiler) is not None
    export(demo_profile(), tmp_path, "c")
    sources = [tmp_path / "main.c", *sorted((tmp_path / "src").glob("*.c"))]
    run(
        [compiler, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow",
         "-Werror", optimise, f"-I{tmp_path / 'src'}", *sources, "-o", tmp_path / "minimal"]
    )  # fmt: skip
    run([tmp_path / "minimal"])
