# SPDX-License-Identifier: Apache-2.0
"""What `pip install` brings into a clean environment, and what `import tcuq` costs there."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results.result import ROOT, Row, arguments, report

ROUNDS = 15
IMPORT = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def pip(python: Path, *words: str) -> str:
    """Run pip of that environment."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def import_seconds(python: Path, module: str) -> float:
    """CPU seconds of one import in a new process."""
    command = [str(python), "-c", IMPORT.format(module)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def base_rows(python: Path) -> list[Row]:
    """The base install: NumPy alone, a light import, and a clear word about what is missing."""
    pip(python, "install", "--quiet", str(ROOT))
    installed = {p["name"] for p in json.loads(pip(python, "list", "--format=json"))}
    brought = sorted(installed - {"pip", "setuptools", "tcuq"})
    ratios = []
    for _ in range(ROUNDS + 1):  # numpy and tcuq in turn; the first pair warms the disk cache
        alone = import_seconds(python, "numpy")
        ratios.append(import_seconds(python, "tcuq") / alone)
    ratio = statistics.median(ratios[1:])
    demo = subprocess.run(
        [python.with_name("tcuq"), "demo"], capture_output=True, text=True, check=False
    )
    explained = demo.returncode == 3 and "pip install 'tcuq[fit]'" in demo.stderr
    pairs = f"median of {ROUNDS} pairs"
    return [
        Row("packages a base install brings", "numpy", ", ".join(brought), brought == ["numpy"]),
        Row(
            f"import tcuq against import numpy, CPU time, {pairs}",
            "≤ 2.0",
            f"{ratio:.2f}",
            ratio <= 2.0,
        ),
        Row(
            "demo without the extra says what to install",
            "exit 3",
            f"exit {demo.returncode}",
            explained,
        ),
    ]


def demo_rows(python: Path, begun: float) -> list[Row]:
    """As a new user: the extra, then the demo."""
    pip(python, "install", "--quiet", f"{ROOT}[fit]")
    started = time.monotonic()
    demo = subprocess.run(
        [python.with_name("tcuq"), "demo"], capture_output=True, text=True, check=True
    )
    now = time.monotonic()
    shown = "a softmax threshold would have withheld" in " ".join(demo.stdout.split())
    return [
        Row(
            "tcuq demo, first run, seconds",
            "≤ 10",
            f"{now - started:.1f}",
            shown and now - started <= 10,
        ),
        Row(
            "from an empty environment to the demo's table, seconds",
            "≤ 180",
            f"{now - begun:.0f}",
            shown and now - begun <= 180,
        ),
    ]


def main() -> None:
    """Install, measure and report."""
    args = arguments()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as base, tempfile.TemporaryDirectory() as new:
        subprocess.run([sys.executable, "-m", "venv", base], check=True)
        rows += base_rows(Path(base) / "bin" / "python")
        begun = time.monotonic()
        subprocess.run([sys.executable, "-m", "venv", new], check=True)
        rows += demo_rows(Path(new) / "bin" / "python", begun)
    sys.exit(report("clean_install", rows, (), write=args.write))


if __name__ == "__main__":
    main()
