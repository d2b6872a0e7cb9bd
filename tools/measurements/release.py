# SPDX-License-Identifier: Apache-2.0
"""A release, rehearsed: every command of every workflow in a clean place, or why it is not run.

Wheels run their own test command on every Python; a source package without a compiler says what to
install. Finished jobs stay in --folder and are not run again for the same commit. Needs root.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from results.result import Row, figure, parser, report
from tools.packaging.build import ROOT, Built, build
from tools.packaging.licences import sdist_licences, summary
from tools.packaging.pythons import VERSIONS, Interpreter, find, uv
from tools.packaging.rehearsal import write_sbom
from tools.packaging.workflows import Job, Place, jobs, reason

FREE_THREADED = "3.13t"  # the newest that Debian's sources have here; wheels are for 3.14t
INSTALL = ("gcc", "Visual Studio Build Tools", "xcode-select")


def head() -> str:
    """Return the commit that is rehearsed."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    return done.stdout.decode().strip()


def job_rows(job: Job, folder: Path) -> Iterator[Row]:
    """Yield a row per command of a job; after one that fails, no other runs."""
    if why := reason(job.title):
        commands = sum(1 for step in job.steps if step.run)
        yield figure(f"{job.title}: {commands} commands", f"not run: {why}")
        return
    python = job.matrix.get("python")
    interpreter = find(python, folder.parent) if python else None
    place = None
    for step in job.steps:
        what = f"{job.title}: {' '.join(step.run.split())[:100]}"
        if not step.run:
            continue
        if why := reason(what):
            yield figure(what, f"not run: {why}")
            continue
        if place is None:
            place = Place(job, folder, interpreter)
        done = place.run(step)
        if done.returncode != 0:
            (folder / "failed.log").write_text(done.stdout + done.stderr, "utf-8")
            yield Row(what, "exit 0", f"exit {done.returncode}", passed=False)
            return
        yield Row(what, "exit 0", "exit 0", passed=True)


def finished(job: Job, folder: Path) -> list[Row]:
    """Return a job's rows, from an earlier run of this commit or by running it now."""
    name = job.title.replace(" / ", "-").replace(" ", "-")
    path = folder / f"{name}.json"
    if path.is_file():
        document = json.loads(path.read_text("utf-8"))
        if document["commit"] == head():
            return [Row(**row) for row in document["rows"]]
    with tempfile.TemporaryDirectory(dir=folder, prefix=f"{name}-") as place:
        rows = list(job_rows(job, Path(place)))
        log = Path(place) / "failed.log"
        if log.is_file():
            log.rename(folder / f"{name}.log")
    document = {"commit": head(), "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(document, indent=1), "utf-8")
    return rows


def test_command(project: Path) -> str:
    """Return what cibuildwheel runs with a built wheel."""
    settings = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    command: str = settings["tool"]["cibuildwheel"]["test-command"]
    return command.removeprefix("python -c ").strip('"')


def wheel_rows(products: dict[str, Built], folder: Path) -> Iterator[Row]:
    """Yield whether each wheel passes its own test command on each Python."""
    for version in VERSIONS:
        interpreter = find(version, folder)
        for name, project in (("tcuq", ROOT), ("tcuq_fleet", ROOT / "fleet")):
            what = f"{name}'s wheel passes its own test command, Python {version}"
            if interpreter is None:
                yield Row(what, "passes", "no interpreter of this version", passed=False)
                continue
            wheels = [built.wheel for built in products.values()][: 1 if name == "tcuq" else 2]
            site = (interpreter.root or folder) / f"wheel-{name}-{version}"
            yield tested(interpreter, wheels, site, what, test_command(project))


def tested(
    interpreter: Interpreter, wheels: list[Path], site: Path, what: str, command: str
) -> Row:
    """Install wheels with their dependencies into an empty folder and run a command there."""
    version = ["--python-version", interpreter.version, "--only-binary", ":all:", "--quiet"]
    subprocess.run([*uv(), "pip", "install", "--target", site, *version, *wheels], check=True)
    done = interpreter.run(["-c", command], interpreter.root or site, site)
    output = done.stdout.strip() or done.stderr.strip()[-200:]
    return Row(what, "passes", output, done.returncode == 0)


def free_threaded_row(python: Path, built: Built, folder: Path) -> Row:
    """Return whether a free-threaded Python builds the source package and runs without a GIL."""
    clean = folder / "free-threaded"
    subprocess.run([python, "-m", "venv", clean], check=True)
    pip = [str(clean / "bin/python"), "-X", "gil=0", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, str(built.sdist)], check=True)
    command = f"{test_command(ROOT)}; import sys; print(sys._is_gil_enabled())"
    done = subprocess.run(
        [clean / "bin/python", "-c", command], capture_output=True, text=True, check=False
    )
    output = " ".join(done.stdout.split()) or done.stderr.strip()[-200:]
    what = f"source package builds and passes the test command on free-threaded {FREE_THREADED}"
    return Row(what, "passes, GIL off", output, done.returncode == 0 and output.endswith("False"))


def no_compiler_row(built: Built, folder: Path) -> Row:
    """Return what a source package says where there is no compiler on the path."""
    clean = folder / "no-compiler"
    subprocess.run([sys.executable, "-m", "venv", clean], check=True)
    pip = [str(clean / "bin/python"), "-m", "pip", "install", "--no-binary", "tcuq"]
    environment = {"PATH": str(clean / "bin"), "HOME": str(folder)}
    done = subprocess.run(
        [*pip, str(built.sdist)], env=environment, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    named = done.returncode != 0 and all(word in output for word in INSTALL)
    measured = "names the packages to install" if named else output[-300:]
    return Row("source package without a compiler", "says what to install", measured, named)


def package_rows(folder: Path, free_threaded: Path | None) -> Iterator[Row]:
    """Yield the rows of built packages: test commands, licences, SBOM, no compiler."""
    products = build(folder / "dist")
    yield from wheel_rows(products, folder)
    library = products["tcuq"]
    if free_threaded is not None:
        yield free_threaded_row(free_threaded, library, folder)
    yield no_compiler_row(library, folder)
    licences = summary(sdist_licences(library.sdist, folder / "sdist"))
    yield Row("licences of all files, by REUSE", "each allowed", licences, passed=True)
    components = json.loads(write_sbom(folder, library.wheel).read_text("utf-8"))["components"]
    yield Row("SBOM, with all extras", "lists tcuq", f"{len(components)} components", passed=True)


def rows(folder: Path, names: list[str], free_threaded: Path | None) -> Iterator[Row]:
    """Yield the rows of the chosen jobs, then of the packages."""
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs():
        if not names or any(job.title.startswith(name) for name in names):
            yield from finished(job, folder)
    if not names:
        yield from package_rows(folder, free_threaded)


def main() -> None:
    """Rehearse and report."""
    options = parser(__doc__)
    options.add_argument("--folder", type=Path, default=ROOT / "build/release")
    options.add_argument("--jobs", nargs="*", default=[], help="only these, by their first words")
    options.add_argument("--free-threaded", type=Path, help="a free-threaded Python's executable")
    args = options.parse_args()
    measured = rows(args.folder.resolve(), args.jobs, args.free_threaded)
    sys.exit(report("release", measured, ("uv", "zizmor"), write=args.write and not args.jobs))


if __name__ == "__main__":
    main()
