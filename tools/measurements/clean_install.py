# SPDX-License-Identifier: Apache-2.0
"""What `pip install` brings into a clean environment, and what `import tcuq` costs there."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from results.result import ROOT, Row, measure

ROUNDS = 15
IMPORT = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def pip(python: Path, *words: str) -> str:
    """Run pip of that environment."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def import_seconds(python: Path, module: str) -> float:
    """Return the CPU seconds of one import in a new process."""
    command = [str(python), "-c", IMPORT.format(module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def base_rows(python: Path) -> Iterator[Row]:
    """Yield what a base install brings, what its import costs, and its hint on extras."""
    pip(python, "install", "--quiet", str(ROOT))
    installed = {p["name"] for p in json.loads(pip(python, "list", "--format=json"))}
    brought = sorted(installed - {"pip", "setuptools", "tcuq"})
    yield Row("packages a base install brings", "numpy", ", ".join(brought), brought == ["numpy"])
    ratios = []
    for _ in range(ROUNDS + 1):  # numpy and tcuq in turn; the first pair warms the disk cache
        alone = import_seconds(python, "numpy")
        ratios.append(import_seconds(python, "tcuq") / alone)
    ratio = statistics.median(ratios[1:])
    what = f"import tcuq against import numpy, CPU time, median of {ROUNDS} pairs"
    yield Row(what, "≤ 2.0", f"{ratio:.2f}", ratio <= 2.0)
    demo = run_demo(python)
    yield Row(
        "demo without the extra says what to install",
        "exit 3",
        f"exit {demo.returncode}",
        demo.returncode == 3 and "pip install 'tcuq[fit]'" in demo.stderr,
    )


def demo_rows(python: Path, begun: float) -> Iterator[Row]:
    """Yield the seconds until a new user sees the demo's table."""
    pip(python, "install", "--quiet", f"{ROOT}[fit]")
    started = time.monotonic()
    demo = run_demo(python)
    now = time.monotonic()
    complete = "a softmax threshold would have withheld" in " ".join(demo.stdout.split())
    took, whole = now - started, now - begun
    yield Row("tcuq demo, first run, seconds", "≤ 10", f"{took:.1f}", complete and took <= 10)
    what = "from an empty environment to the demo's table, seconds"
    yield Row(what, "≤ 180", f"{whole:.0f}", complete and whole <= 180)


def run_demo(python: Path) -> subprocess.CompletedProcess[str]:
    """Run `tcuq demo` in an environment."""
    command = [str(python.with_name("tcuq")), "demo"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def new_environment(folder: str) -> Path:
    """Create an environment and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return Path(folder) / "bin/python"


def rows(_short: bool) -> Iterator[Row]:
    """Yield the figures of a base install, and of one with the demo's extra."""
    with tempfile.TemporaryDirectory() as base:
        yield from base_rows(new_environment(base))
    with tempfile.TemporaryDirectory() as new:
        begun = time.monotonic()
        yield from demo_rows(new_environment(new), begun)


if __name__ == "__main__":
    measure("clean_install", rows)
