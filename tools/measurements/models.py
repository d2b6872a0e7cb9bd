# SPDX-License-Identifier: Apache-2.0
"""Ten models of seven kinds, and MLPerf Tiny's four, from recorder to emulated Cortex-M4.

Then what a step without classes costs there: one output, sixteen features, the default profile.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import ROOT, Row, figure, measure
from tests.fixtures.any_models import CASES, Case, walk
from tests.fixtures.firmware.emulator import build_plugin, count
from tests.fixtures.firmware.scenarios import outputs_scenario
from tests.fixtures.firmware.sizes import STEP_API, WHOLE_API, flash, ram
from tests.fixtures.firmware.toolchain import M4, build, compile_runtime

MLPERF = "tests/firmware/test_mlperf_tiny.py"
MODELS = 4
STEPS = 1000
MOST_MEAN, MOST_FLASH, MOST_RAM = 1600, 5632, 320
WITHOUT_ALARM = ("-DTCUQ_WITH_ALARM=0",)


def model_row(case: Case, folder: Path, runtime: list[Path]) -> Row:
    """Return what became of a model."""
    result = walk(case, folder, runtime)
    options = ", ".join(f"{name}={value}" for name, value in case.options.items())
    right = result.what == case.what and result.untold == ("" if case.options else result.kind)
    return Row(
        f"{case.name}: recorded, fitted, run, reported, exported, on an emulated Cortex-M4",
        f"{case.what}, never taken for another kind; decisions equal the host's",
        f"{result.what}, {options or 'recognised'}; {result.equal} of {result.steps} equal",
        right and result.reported and result.equal == result.steps,
    )


def mlperf_row() -> Row:
    """Return how many models of MLPerf Tiny pass their test."""
    command = [sys.executable, "-m", "pytest", "-q", MLPERF]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    match = re.search(r"(\d+) passed", done.stdout)
    passed = int(match[1]) if match else 0
    return Row(
        "models of MLPerf Tiny from `tcuq record` to an emulated Cortex-M4, the anomaly detector on"
        f" recorded speech, by pytest {MLPERF}",
        f"{MODELS} of {MODELS}",
        f"{passed} of {MODELS}",
        passed == MODELS,
    )


def cost_rows(folder: Path) -> Iterator[Row]:
    """Yield instructions, RAM and flash of a profile without classes."""
    scenario = outputs_scenario().first(STEPS)
    elf = build(M4, folder, scenario.monitor(), options=scenario.options)
    counts, _ = count(M4, elf, build_plugin(folder), scenario.steps)
    state = sum(ram(M4, elf).values())
    sizes = {
        name: flash(M4, folder, options, roots)[0]
        for name, options, roots in (
            ("all functions", scenario.options, WHOLE_API),
            ("tcuq_init and tcuq_step", scenario.options, STEP_API),
            ("these without the alarm", (*scenario.options, *WITHOUT_ALARM), STEP_API),
        )
    }
    what = f"{scenario.title}, no classes, Cortex-M4"
    yield Row(f"{what}: instructions a step at -O2", f"≤ {MOST_MEAN:,}", f"{counts.mean:,.0f}",
              counts.mean <= MOST_MEAN)  # fmt: skip
    yield Row(f"{what}: bytes of state", f"≤ {MOST_RAM}", f"{state}", state <= MOST_RAM)
    whole = sizes["all functions"]
    yield Row(f"{what}: bytes of flash at -Os, all functions", f"≤ {MOST_FLASH:,}", f"{whole:,}",
              whole <= MOST_FLASH)  # fmt: skip
    for name, size in list(sizes.items())[1:]:
        yield figure(f"{what}: bytes of flash at -Os, {name}", f"{size:,}")


def rows(short: bool) -> Iterator[Row]:
    """Yield a row per model, MLPerf Tiny's and the costs; the short form has every fourth model."""
    with tempfile.TemporaryDirectory() as name:
        runtime = compile_runtime(M4, Path(name) / "runtime", "-O2")
        for number, case in enumerate(CASES[:: 4 if short else 1]):
            folder = Path(name) / str(number)
            folder.mkdir()
            yield model_row(case, folder, runtime)
        yield from cost_rows(Path(name))
    yield mlperf_row()


if __name__ == "__main__":
    measure("models", rows, ("scikit-learn", "torch", "keras", "onnxruntime", "executorch"))
