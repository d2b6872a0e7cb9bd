# SPDX-License-Identifier: Apache-2.0
"""Rehearses a release: builds, checks, installs on every Python, and prints what to push."""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tcuq.version import __version__
from tools.packaging.build import ROOT, build, run_module
from tools.packaging.licences import check_wheel, sdist_licences, summary
from tools.packaging.pythons import VERSIONS, Interpreter, find, uv

DIST = ROOT / "dist"
MIN_PYROMA = 8  # of 10; the others need a public address: the project's URLs, the authors' e-mail
SMOKE = (
    "import tcuq, numpy as np; from tcuq.runtime import Engine; from tcuq_fleet.simulate import"
    " simulator; print(tcuq.__version__, np.__version__)"
)


def smoke(interpreter: Interpreter, wheels: list[Path], folder: Path) -> str:
    """Install the wheels with their dependencies into an empty folder and import them."""
    site = (interpreter.root or folder) / f"clean-{interpreter.version}"
    version = ["--python-version", interpreter.version, "--only-binary", ":all:", "--quiet"]
    subprocess.run([*uv(), "pip", "install", "--target", site, *version, *wheels], check=True)
    result = interpreter.run(["-c", SMOKE], interpreter.root or folder, site)
    if result.returncode != 0:
        raise SystemExit(f"Python {interpreter.version}: {result.stderr}")
    tcuq, numpy = result.stdout.split()
    return f"tcuq {tcuq} with numpy {numpy}"


def write_sbom(folder: Path, wheel: Path) -> Path:
    """Write the CycloneDX list of what a clean installation with all extras holds."""
    clean, sbom = folder / "sbom", wheel.with_name(f"tcuq-{__version__}.cdx.json")
    subprocess.run([*uv(), "venv", "--quiet", "--python", sys.executable, clean], check=True)
    python = clean / "bin/python"
    install = [*uv(), "pip", "install", "--quiet", "--python", str(python), f"{wheel}[all]"]
    subprocess.run(install, check=True)
    words = ("environment", python, "--output-reproducible", "--output-file", sbom)
    run_module("cyclonedx_py", *words)
    parts = json.loads(sbom.read_text("utf-8"))["components"]
    if not any(part["name"] == "tcuq" for part in parts):
        raise SystemExit(f"{sbom.name} must list tcuq")
    return sbom


def main() -> None:
    """Rehearse; the environment variable TCUQ_PYTHONS is a folder that keeps Debian's root."""
    address = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["tcuq"]["address"]
    products = build(DIST)
    wheels = [built.wheel for built in products.values()]
    files = [path for built in products.values() for path in (built.sdist, built.wheel)]
    print(f"built      {', '.join(path.name for path in files)}")
    passed = run_module("twine", "check", "--strict", *files).count("PASSED")
    print(f"twine      {passed} of {len(files)} passed")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, built in products.items():
            rated = run_module(
                "pyroma", "--min", str(MIN_PYROMA), built.sdist, PIP_FIND_LINKS=str(DIST)
            )
            print(f"pyroma     {name}: {rated.rpartition('Final rating: ')[2].split()[0]}")
            count = check_wheel(built.wheel, built.sdist)
            if name == "tcuq":  # the repository's licences are stated at its root
                licences = summary(sdist_licences(built.sdist, folder / "sdist"))
                print(f"licences   {licences}; {count} files in the wheel")
        for version in VERSIONS:
            interpreter = find(version, Path(os.environ.get("TCUQ_PYTHONS", folder)))
            result = "no interpreter" if interpreter is None else smoke(interpreter, wheels, folder)
            print(f"install    Python {version}: {result}")
        print(f"SBOM       {write_sbom(folder, products['tcuq'].wheel).name}")
    print("\nA maintainer would now push:")
    print(f"  git tag --sign v{__version__} && git push origin main v{__version__}")
    print("  # the workflow `release` builds every platform and publishes by trusted publishing")
    print("  make registries  # then push dist/registries/tcuq to its repository and tag it")
    if not address:
        print("Not yet: set tool.tcuq.address in pyproject.toml, the address of the repository.")


if __name__ == "__main__":
    main()
