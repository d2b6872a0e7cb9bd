# SPDX-License-Identifier: Apache-2.0
"""Flags that firmware is often built with: the runtime compiles and decides as without them."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.fixtures.firmware.emulator import decide
from tests.fixtures.firmware.scenarios import Scenario, synthetic_scenarios
from tests.fixtures.firmware.toolchain import CPUS, M4, Cpu, ToolError, build, run

STEPS = 200
FRAME_POINTER = ("-fno-omit-frame-pointer",)
PIC_BASE_R9 = ("-fpic", "-msingle-pic-base", "-mpic-register=r9")
FIXED_R9 = ("-ffixed-r9",)
ALIGNED = ("-mno-unaligned-access", "-DTRAP_UNALIGNED")
# The CPUs that have loops in assembly.
ASSEMBLED = tuple(cpu for cpu in CPUS if cpu.name in ("m0", "m4"))


@cache
def scenario() -> Scenario:
    """Return the default profile over synthetic steps."""
    (chosen,) = (s for s in synthetic_scenarios() if s.name == "recommended_10")
    return chosen.first(STEPS)


def assert_same_decisions(
    cpu: Cpu, folder: Path, flags: tuple[str, ...], optimise: str = "-O2"
) -> None:
    """Build with these flags and compare every decision with the host's."""
    elf = build(cpu, folder, scenario().monitor(), optimise=optimise, options=flags)
    np.testing.assert_array_equal(decide(cpu, elf, scenario().steps), scenario().expected())


@pytest.mark.parametrize("flags", [FRAME_POINTER, PIC_BASE_R9], ids=["frame pointer", "PIC base"])
@pytest.mark.parametrize("cpu", ASSEMBLED, ids=lambda cpu: cpu.name)
def test_the_runtime_compiles_without_r7_or_r9(
    cpu: Cpu, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """A frame pointer takes r7, position-independent code r9, both of which assembly once named."""
    assert_same_decisions(cpu, tmp_path, flags)


@pytest.mark.parametrize("cpu", ASSEMBLED, ids=lambda cpu: cpu.name)
def test_a_reserved_r9_is_not_touched(cpu: Cpu, tmp_path: Path) -> None:
    """No instruction of the runtime touches r9 if it is reserved, not even for a moment."""
    assert_same_decisions(cpu, tmp_path, FIXED_R9)
    for path in tmp_path.glob("tcuq*.o"):
        code = run([f"{cpu.prefix}objdump", "-d", path])
        assert re.search(r"\b(r9|sb)\b", code) is None, path.name


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
@pytest.mark.parametrize("cpu", ASSEMBLED, ids=lambda cpu: cpu.name)
def test_frame_pointer_and_fixed_r9_leave_enough_registers(
    cpu: Cpu, optimise: str, tmp_path: Path
) -> None:
    """Both reserved at once: the loops in assembly take twelve registers at most."""
    assert_same_decisions(cpu, tmp_path, (*FRAME_POINTER, *FIXED_R9), optimise)


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
def test_an_unaligned_load_faulted_where_it_is_trapped(optimise: str, tmp_path: Path) -> None:
    """With -mno-unaligned-access features and posteriors at odd addresses are read by bytes."""
    assert_same_decisions(M4, tmp_path, ALIGNED, optimise)


def test_the_trap_for_unaligned_loads_is_on(tmp_path: Path) -> None:
    """Compiled for unaligned access, the same firmware faults: the emulator sees such loads."""
    elf = build(M4, tmp_path, scenario().monitor(), options=("-DTRAP_UNALIGNED",))
    with pytest.raises(ToolError, match="exit code 4: qemu-system-arm"):
        decide(M4, elf, scenario().steps)
