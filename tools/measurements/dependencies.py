# SPDX-License-Identifier: Apache-2.0
"""The unit tests with the lowest and the newest versions of every dependency, on every Python."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import RESULTS, ROOT, Row, exit_code, not_reached, parser, show, write_rows
from tools.packaging.pythons import VERSIONS, Interpreter, find, uv

TEST_TOOLS = ("pytest", "hypothesis", "jsonschema", "pyyaml", "playwright", "httpx", "mypy")
LOWEST, NEWEST = "lowest-direct", "highest"
RESOLUTIONS = {LOWEST: "lowest", NEWEST: "newest"}
TORCH = re.compile(r"^\s*(?:import torch|from torch|torch = )", re.MULTILINE)


def install(interpreter: Interpreter, resolution: str, wheel: Path, site: Path) -> dict[str, str]:
    """Install the library, its extras and the test tools; return the resolved versions."""
    requirements = site.with_name(f"{site.name}.txt")
    version = ["--python-version", interpreter.version, "--only-binary", ":all:", "--quiet"]
    resolve = ["pip", "compile", "pyproject.toml", "--extra", "all", "--resolution", resolution]
    plain = ["--no-annotate", "--no-header", "--output-file", str(requirements)]
    subprocess.run([*uv(), *resolve, *version, *plain], cwd=ROOT, check=True, capture_output=True)
    into = [*uv(), "pip", "install", "--target", str(site), *version]
    subprocess.run([*into, "--no-deps", "-r", str(requirements), str(wheel)], check=True)
    subprocess.run([*into, "-c", str(requirements), *TEST_TOOLS], check=True)
    lines = requirements.read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def tests_of(interpreter: Interpreter, folder: Path) -> Path:
    """Return a checkout of this repository without the library, where the interpreter sees it."""
    checkout = (interpreter.root or folder) / f"checkout-{interpreter.version}"
    if not checkout.is_dir():
        subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
    return checkout


def run_tests(
    interpreter: Interpreter, resolution: str, wheel: Path, folder: Path
) -> tuple[Row, dict[str, str]]:
    """Run the unit tests in one environment."""
    site = (interpreter.root or folder) / f"site-{interpreter.version}-{resolution}"
    versions = install(interpreter, resolution, wheel, site)
    checkout = tests_of(interpreter, folder)
    # Torch is too large to install eight times: CI runs these files with the pinned version.
    ignored = [
        f"--ignore={path.relative_to(ROOT)}"
        for path in sorted((ROOT / "tests/unit").glob("*.py"))
        if TORCH.search(path.read_text("utf-8"))
    ]
    words = ["-m", "pytest", "-q", "tests/unit", "-p", "no:cacheprovider", *ignored]
    if resolution == LOWEST:  # old libraries warn of newer ones beside them
        words += ["-o", "filterwarnings=default"]
    result = interpreter.run(words, checkout, site)
    lines = result.stdout.splitlines() or result.stderr.splitlines() or ["no output"]
    print("\n".join(line for line in lines if line.startswith(("FAILED", "ERROR"))), flush=True)
    what = what_runs(interpreter.version, RESOLUTIONS[resolution])
    counted = re.sub(r" in [\d.]+s.*| *=+ *", "", lines[-1])
    return Row(what, "all pass", counted, result.returncode == 0), versions


def what_runs(version: str, resolution: str) -> str:
    """Return the name of a row."""
    return f"unit tests, Python {version}, {resolution} dependencies"


def earlier_passes() -> dict[str, tuple[Row, dict[str, str]]]:
    """Return the rows of the committed result that passed, with their versions."""
    result = json.loads((RESULTS / "dependencies.json").read_text("utf-8"))
    environments = {
        what_runs(*name.split()): versions for name, versions in result["resolved"].items()
    }
    rows = [Row(**row) for row in result["rows"]]
    return {row.what: (row, environments[row.what]) for row in rows if row.passed}


def environment_rows(
    args: argparse.Namespace, folder: Path
) -> Iterator[tuple[str, Row, dict[str, str]]]:
    """Yield an environment's name, its row and its versions, the oldest of both kinds first."""
    passed = earlier_passes() if args.failed else {}
    subprocess.run(
        [*uv(), "build", "--quiet", "--wheel", "--out-dir", folder / "dist", ROOT], check=True
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    oldest, *later = VERSIONS
    runs = [(oldest, LOWEST), *((version, NEWEST) for version in [*later[::-1], oldest])]
    runs += [(version, LOWEST) for version in later]
    for number, (version, resolution) in enumerate(runs):
        name = f"{version} {RESOLUTIONS[resolution]}"
        what = what_runs(*name.split())
        interpreter = find(version, folder) if number < args.runs and what not in passed else None
        if what in passed:
            row, versions = passed[what]
        elif interpreter is None:
            row, versions = Row(what, "all pass", "not run", passed=False), {}
        else:
            row, versions = run_tests(interpreter, resolution, wheel, folder)
        yield name, show(row), versions


def main() -> None:
    """Run the environments and report."""
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=8, help="how many of the eight, the first")
    options.add_argument("--failed", action="store_true", help="repeat only what failed last time")
    options.add_argument("--folder", type=Path, help="leave environments here to run again")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        environments = list(environment_rows(args, folder))
    rows = [row for _, row, _ in environments]
    reason = "No interpreter of this version, or left out by --runs; run `make dependencies`."
    missing = [row for row in rows if row.measured == "not run"]
    resolved = {name: versions for name, _, versions in environments if versions}
    more = {"resolved": resolved, **not_reached(missing, {"unit tests": reason})}
    if args.write:
        write_rows("dependencies", rows, ("uv",), {}, more)
    sys.exit(exit_code(rows))


if __name__ == "__main__":
    main()
