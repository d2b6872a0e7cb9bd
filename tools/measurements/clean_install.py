# SPDX-License-Identifier: Apache-2.0
"""What `pip install` of each wheel brings into a clean environment, and what its import costs."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from results.result import ROOT, Row, measure
from tools.cpu_time import children_seconds

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


def install(python: Path, wheels: Path, product: str) -> None:
    """Install a product from the folder of wheels, with what it depends on."""
    pip(python, "install", "--quiet", "--find-links", str(wheels), product)


def base_rows(python: Path, wheels: Path) -> Iterator[Row]:
    """Yield what a base install brings, what its import costs, and its hints on what is missing."""
    install(python, wheels, "tcuq")
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
    for command, package in (("demo", "tcuq[fit]"), ("fleet", "tcuq-fleet")):
        result = run(python, command)
        hint = f"pip install '{package}'" in result.stderr
        what = f"{command} without {package} says what to install"
        yield Row(what, "exit 3", f"exit {result.returncode}", result.returncode == 3 and hint)


def demo_rows(python: Path, wheels: Path, begun: float) -> Iterator[Row]:
    """Yield the seconds until a new user sees the demo's table."""
    install(python, wheels, "tcuq[fit]")
    before = children_seconds()
    demo = run(python, "demo")
    took, now = children_seconds() - before, time.monotonic()
    complete = "of as many chosen by a softmax threshold" in " ".join(demo.stdout.split())
    whole = now - begun
    yield Row("tcuq demo, first run, CPU seconds", "≤ 10", f"{took:.1f}", complete and took <= 10)
    what = "from an empty environment to the demo's table, seconds"
    yield Row(what, "≤ 180", f"{whole:.0f}", complete and whole <= 180)


def fleet_rows(python: Path, wheels: Path) -> Iterator[Row]:
    """Yield whether the fleet's wheel alone brings its command, which judges a device's record."""
    install(python, wheels, "tcuq-fleet")
    golden = json.loads((ROOT / "tests/golden/records.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        record = bytes.fromhex(golden["records"][0]["plain"])
        (Path(folder) / "device.bin").write_bytes(record)
        report = run(python, "fleet", "report", folder)
    works = report.returncode == 0 and "1 device" in report.stdout
    actual = "report of 1 device" if works else (report.stdout + report.stderr)[-200:]
    yield Row("tcuq-fleet in an environment of its own", "report of 1 device", actual, works)


def run(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `tcuq words` in an environment."""
    command = [str(python.with_name("tcuq")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def new_environment(folder: Path) -> Path:
    """Create an environment and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / "bin/python"


def rows(_short: bool) -> Iterator[Row]:
    """Yield the figures of a base install, of one with the demo's extra, and of the fleet."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheels = folder / "wheels"
        projects = (str(ROOT), str(ROOT / "fleet"))
        pip(Path(sys.executable), "wheel", "--quiet", "--no-deps", "-w", str(wheels), *projects)
        yield from base_rows(new_environment(folder / "base"), wheels)
        begun = time.monotonic()
        yield from demo_rows(new_environment(folder / "fit"), wheels, begun)
        yield from fleet_rows(new_environment(folder / "fleet"), wheels)


if __name__ == "__main__":
    measure("clean_install", rows)
