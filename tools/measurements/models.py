# SPDX-License-Identifier: Apache-2.0
"""Ten models of seven kinds, and MLPerf Tiny's four, from recorder to emulated Cortex-M4."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import ROOT, Row, measure
from tests.fixtures.any_models import CASES, Case, walk
from tests.fixtures.firmware.toolchain import M4, compile_runtime

MLPERF = "tests/firmware/test_mlperf_tiny.py"
MODELS = 4


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


def rows(short: bool) -> Iterator[Row]:
    """Yield a row per model, and one of MLPerf Tiny; the short form has every fourth."""
    with tempfile.TemporaryDirectory() as name:
        runtime = compile_runtime(M4, Path(name) / "runtime", "-O2")
        for number, case in enumerate(CASES[:: 4 if short else 1]):
            folder = Path(name) / str(number)
            folder.mkdir()
            yield model_row(case, folder, runtime)
    yield mlperf_row()


if __name__ == "__main__":
    measure("models", rows, ("scikit-learn", "torch", "keras", "onnxruntime", "executorch"))
