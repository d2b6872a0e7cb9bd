# SPDX-License-Identifier: Apache-2.0
"""Every export compiles as its build system compiles it, and passes its self-test on the CPU."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import tcuq
from tcuq.demo import demo_profile, demo_stream
from tcuq.firmware import TARGETS, export
from tests.fixtures.conformance import quiet_fit, recorded_profile
from tests.fixtures.firmware.exports import BUILDS, PLAIN, Build, compiled, emulated
from tests.fixtures.firmware.scenarios import field_scenario
from tests.fixtures.firmware.toolchain import CPUS, Cpu, ToolError, run


@pytest.mark.parametrize("target", sorted({*TARGETS} - {"profile"}))
def test_self_test_passes_on_the_cpu(target: str, tmp_path: Path) -> None:
    """Exported, compiled with the build system's flags, run: every decision is the host's."""
    export(demo_profile(), tmp_path / "out", target)
    emulated(BUILDS[target], tmp_path / "out", tmp_path / "objects")


@pytest.mark.parametrize("cpu", CPUS, ids=lambda cpu: cpu.name)
def test_self_test_passes_on_every_cpu(cpu: Cpu, tmp_path: Path) -> None:
    """The same sources of the C export on each emulated CPU, with steps of a recorded stream."""
    export(demo_profile(), tmp_path / "out", "c", stream=demo_stream("fault_clipping"))
    emulated(Build(cpu, PLAIN, "main.c"), tmp_path / "out", tmp_path / "objects")


def test_the_papers_profile_without_telemetry(tmp_path: Path) -> None:
    """A build that leaves parts out passes too."""
    export(recorded_profile("paper"), tmp_path / "out", "c", telemetry=False)
    build = (tmp_path / "out/src/tcuq.h").read_text("utf-8")
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
    assert "4 statistic 4" in readme


@pytest.mark.parametrize("width", [0, 48])
def test_without_features_and_with_wide_ones(
    width: int, synthetic: Callable[..., tcuq.Stream], tmp_path: Path
) -> None:
    """No features, and features that are projected."""
    profile = quiet_fit(synthetic(3000, classes=5, width=width))
    export(profile, tmp_path / "out", "c")
    emulated(BUILDS["c"], tmp_path / "out", tmp_path / "objects")


@pytest.mark.parametrize(
    ("member", "value"), [("anchor", "1"), ("block", "16384")], ids=["decisions", "state"]
)
def test_the_self_test_sees_decisions_and_state(member: str, value: str, tmp_path: Path) -> None:
    """Another anchor shows in the decisions; a longer block shows in the state alone."""
    export(demo_profile(), tmp_path / "out", "c")
    path = tmp_path / "out/src/tcuq_device.c"
    text, changes = re.subn(
        rf"\.{member} = \d+", f".{member} = {value}", path.read_text("utf-8"), count=1
    )
    assert changes == 1
    path.write_text(text, "utf-8")
    with pytest.raises(ToolError, match="exit code 1: qemu-system-arm"):
        emulated(BUILDS["c"], tmp_path / "out", tmp_path / "objects")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("tcuq.h", "DIGEST 0x", "DIGEST 0x1", "exported with another runtime"),
        ("tcuq.h", "#define TCUQ_RUNTIME_DIGEST", "#define OTHER", "exported with another runtime"),
        ("tcuq.h", "TCUQ_PROFILE_FORMAT 5u", "TCUQ_PROFILE_FORMAT 6u", "has format 5"),
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
        compiled(BUILDS["c"], tmp_path / "out", tmp_path / "objects")
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
