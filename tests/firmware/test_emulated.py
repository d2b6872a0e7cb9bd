# SPDX-License-Identifier: Apache-2.0
"""The runtime on emulated CPUs decides and encodes as the host's engine does, bit for bit."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.firmware.header import number
from tcuq.monitor import Monitor
from tcuq.profile.quantize import quantize
from tcuq.profile.settings import AlarmFlag
from tests.fixtures.conformance import quiet_fit
from tests.fixtures.firmware.emulator import STAGES, build_plugin, count, decide, state
from tests.fixtures.firmware.golden import encoded_on, golden
from tests.fixtures.firmware.scenarios import (
    Scenario,
    box_scenarios,
    field_scenario,
    make_scenario,
    outputs_scenario,
)
from tests.fixtures.firmware.sizes import ram, stack
from tests.fixtures.firmware.toolchain import (
    CPUS,
    FLAGS,
    HERE,
    M4,
    M33,
    RUNTIME,
    Cpu,
    ToolError,
    build,
    emulate,
    link,
)

STEPS = 1000
TOOLS = ("gcc", "arm-none-eabi-gcc", "qemu-system-arm", "riscv64-unknown-elf-gcc",
         "qemu-system-riscv32")  # fmt: skip
PROJECTION = Path(__file__).parent / "bare/projection.c"


@cache
def scenarios() -> dict[str, Scenario]:
    """The profiles of the box and the first steps of its streams; a model without classes."""
    every = (*box_scenarios(), outputs_scenario())
    return {scenario.name: scenario.first(STEPS) for scenario in every}


@cache
def in_the_field() -> Scenario:
    """Steps with input health, gaps and short epochs."""
    return field_scenario(2 * STEPS)


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.fail(
            f"not installed: {', '.join(missing)}; on Debian: apt-get install"
            " --no-install-recommends gcc gcc-arm-none-eabi qemu-system-arm"
            " gcc-riscv64-unknown-elf qemu-system-misc",
            pytrace=False,
        )


@pytest.mark.parametrize("name", ["tcuq_keywords", "full_keywords", "outputs_1"])
@pytest.mark.parametrize("cpu", [*CPUS, M33], ids=lambda cpu: cpu.name)
def test_decisions_are_the_hosts(cpu: Cpu, name: str, tmp_path: Path) -> None:
    """Every member of every decision is the same on the CPU and on the host."""
    scenario = scenarios()[name]
    elf = build(cpu, tmp_path, scenario.monitor(), options=scenario.options)
    decisions = decide(cpu, elf, scenario.steps)
    assert len(decisions) == STEPS
    np.testing.assert_array_equal(decisions, scenario.expected())
    # The comparison is of something: what the fault brings, all outcomes and an alarm.
    assert len(np.unique(decisions["risk"])) > 100
    assert set(decisions["outcome"].tolist()) == {0, 1, 2}
    assert decisions["alarm"].any() == scenario.whole
    if scenario.whole:  # the host's engine always counts: only this build keeps the same state
        assert state(elf) == scenario.expected_state()


@pytest.mark.parametrize("cpu", [*CPUS, M33], ids=lambda cpu: cpu.name)
def test_health_gaps_and_epochs_are_the_hosts(cpu: Cpu, tmp_path: Path) -> None:
    """Input health that some steps lack, gaps, closed epochs and an alarm's cause, bit for bit."""
    scenario = in_the_field()
    elf = build(cpu, tmp_path, scenario.monitor())
    decisions = decide(cpu, elf, scenario.steps)
    np.testing.assert_array_equal(decisions, scenario.expected())
    assert state(elf) == scenario.expected_state()
    alarms = decisions[decisions["alarm"] & AlarmFlag.HEALTH.value != 0]
    assert 4 in alarms["cause"]  # the statistic that is at fault, from 1
    assert (alarms["change"] != 0).any()
    record = state(elf)[-number("TCUQ_RECORD_BYTES") - len(Monitor(scenario.profile).snapshot()) :]
    assert int.from_bytes(record[28:30], "little") == 2 * STEPS // 300


@pytest.mark.parametrize("width", [0, 48])
def test_without_features_and_with_wide_ones(
    width: int, synthetic: Callable[..., tcuq.Stream], tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """No features at all, and more than the signals take, so that they are projected."""
    profile = quiet_fit(synthetic(steps=3000, classes=5, width=width))
    recorded = synthetic(steps=STEPS, classes=5, width=width, seed=1)
    scenario = make_scenario("wide", "wide", profile, [recorded], whole=True)
    assert (quantize(profile)["projection"] is not None) == (width > 32)
    for cpu in CPUS:
        with subtests.test(cpu=cpu.name):
            elf = build(cpu, tmp_path / cpu.name, scenario.monitor())
            decisions = decide(cpu, elf, scenario.steps)
            np.testing.assert_array_equal(decisions, scenario.expected())


def test_a_changed_step_changes_the_decisions(tmp_path: Path) -> None:
    """The comparison can fail: one other posterior is seen."""
    scenario = scenarios()["full_keywords"]
    elf = build(M4, tmp_path, scenario.monitor())
    posteriors = scenario.steps.posteriors.copy()
    posteriors[500] = posteriors[500][::-1]
    decisions = decide(M4, elf, replace(scenario.steps, posteriors=posteriors))
    expected = scenario.expected()
    np.testing.assert_array_equal(decisions[:500], expected[:500])
    assert decisions[500] != expected[500]


def test_counts_repeat(tmp_path: Path) -> None:
    """Two runs take the same instructions, and the stages' add up to the step's."""
    scenario, plugin = in_the_field(), build_plugin(tmp_path)
    elf = build(M4, tmp_path, scenario.monitor())
    first, decisions = count(M4, elf, plugin, scenario.steps)
    text = (tmp_path / "counts.txt").read_bytes()
    again, _ = count(M4, elf, plugin, scenario.steps)
    assert first == again
    assert (tmp_path / "counts.txt").read_bytes() == text
    assert first.steps == len(decisions) == len(scenario.steps)
    assert set(first.stages) == {"tcuq_step", *STAGES}
    assert all(stage.total >= first.steps for stage in first.stages.values())
    assert sum(stage.total for stage in first.stages.values()) == first.whole.total
    assert sum(first.functions.values()) == first.whole.total
    assert first.least <= first.mean <= first.whole.worst


def test_state_is_what_the_engine_keeps(tmp_path: Path) -> None:
    """The exported memory is as large as the host's engine says a device's is."""
    scenario = scenarios()["full_keywords"]
    elf = build(M4, tmp_path, scenario.monitor())
    engine = Monitor(scenario.profile)._engine  # noqa: SLF001 - the device's own figure
    assert sum(ram(M4, elf).values()) == engine.storage_bytes
    assert stack(tmp_path).path[:2] == ("tcuq_step", "tcuq_signals_run_core")


def test_a_profile_the_build_cannot_run_is_refused(tmp_path: Path) -> None:
    """Novelty in a build without it ends the firmware with the code for a refused profile."""
    full, alone = scenarios()["full_keywords"], scenarios()["tcuq_keywords"]
    elf = build(M4, tmp_path, full.monitor(), options=alone.options)
    with pytest.raises(ToolError, match="exit code 1: qemu-system-arm"):
        decide(M4, elf, full.steps)


def test_a_cut_off_file_is_refused(tmp_path: Path) -> None:
    """Half a step at the end is an error, not a decision."""
    scenario = scenarios()["full_keywords"]
    elf = build(M4, tmp_path, scenario.monitor())
    steps = scenario.first(10).steps
    half = replace(steps, posteriors=steps.posteriors[:, :-1])
    with pytest.raises(ToolError, match="exit code 3: qemu-system-arm"):
        decide(M4, elf, half)


@pytest.mark.parametrize("cpu", CPUS, ids=lambda cpu: cpu.name)
def test_every_cpu_encodes_the_same_bytes(cpu: Cpu, tmp_path: Path) -> None:
    """Every golden record and signed acknowledgement, byte for byte, key derivation included."""
    encoded = encoded_on(cpu, tmp_path)
    expected = golden()["records"]
    assert [record.plain.hex() for record in encoded] == [r["plain"] for r in expected]
    assert [record.signed.hex() for record in encoded] == [r["signed"] for r in expected]
    assert [record.signed_ack.hex() for record in encoded] == [r["signed_ack"] for r in expected]


def project(cpu: Cpu, folder: Path, optimise: str, source: Path) -> None:
    """Build the comparison for a CPU and run it; ToolError unless both projections agree."""
    flags = (*FLAGS, optimise, f"-I{RUNTIME}", f"-I{HERE}")
    start = (HERE / cpu.startup, HERE / "semihosting.c", HERE / "library.c")
    elf = folder / "projection.elf"
    link(cpu, elf, *flags, *start, PROJECTION, source)
    emulate(cpu, elf)


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
@pytest.mark.parametrize("cpu", CPUS, ids=lambda cpu: cpu.name)
def test_odd_widths_and_rows_equal_a_plain_projection(
    cpu: Cpu, optimise: str, tmp_path: Path
) -> None:
    """1 to 67 features to 1 to 32, from every alignment; what follows is not overwritten."""
    project(cpu, tmp_path, optimise, RUNTIME / "tcuq_projection.c")


def test_a_wrong_row_of_the_projection_is_seen(tmp_path: Path) -> None:
    """The comparison can fail: weights of another row."""
    text = (RUNTIME / "tcuq_projection.c").read_text("utf-8")
    assert text.count("(next != 0u) ? width : 0u") == 1
    wrong = tmp_path / "tcuq_projection.c"
    wrong.write_text(text.replace("(next != 0u) ? width : 0u", "0u"), "utf-8")
    with pytest.raises(ToolError, match="exit code 1: qemu-system-arm"):
        project(M4, tmp_path, "-O2", wrong)
