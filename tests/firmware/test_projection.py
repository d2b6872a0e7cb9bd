# SPDX-License-Identifier: Apache-2.0
"""Four rows of the projection at a time give what a plain loop gives, on every CPU."""

from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import CPUS, FLAGS, HERE, M4, RUNTIME, Cpu, ToolError, run

SOURCE = Path(__file__).parent / "bare/projection.c"
SEMIHOSTING = ("-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config",
               "enable=on,target=native", "-kernel")  # fmt: skip


def run_on(cpu: Cpu, folder: Path, optimise: str, runtime: Path = RUNTIME) -> None:
    """Build the comparison for a CPU and run it; ToolError unless both projections agree."""
    elf = folder / "projection.elf"
    run(
        [f"{cpu.prefix}gcc", *cpu.flags, *FLAGS, optimise, f"-I{runtime}", f"-I{HERE}",
         "-nostdlib", "-nostartfiles", "-Wl,--gc-sections", f"-L{HERE / 'ld'}",
         "-T", HERE / f"ld/{cpu.name}.ld", HERE / cpu.startup, HERE / "semihosting.c",
         HERE / "library.c", SOURCE, runtime / "tcuq_projection.c", "-lgcc", "-o", elf],
        cwd=folder,
    )  # fmt: skip
    run([*cpu.emulator, *SEMIHOSTING, elf])


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
@pytest.mark.parametrize("cpu", CPUS, ids=lambda cpu: cpu.name)
def test_odd_widths_and_rows_equal_a_plain_projection(
    cpu: Cpu, optimise: str, tmp_path: Path
) -> None:
    """1 to 67 features to 1 to 32, from every alignment; what follows is not overwritten."""
    run_on(cpu, tmp_path, optimise)


def test_a_wrong_row_is_seen(tmp_path: Path) -> None:
    """The comparison can fail: weights of another row."""
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    for path in (*RUNTIME.glob("*.h"), RUNTIME / "tcuq_projection.c"):
        (runtime / path.name).write_text(path.read_text("utf-8"), "utf-8")
    source = runtime / "tcuq_projection.c"
    text = source.read_text("utf-8")
    assert text.count("(next != 0u) ? width : 0u") == 1
    source.write_text(text.replace("(next != 0u) ? width : 0u", "0u"), "utf-8")
    with pytest.raises(ToolError, match="exit code 1: qemu-system-arm"):
        run_on(M4, tmp_path, "-O2", runtime)
