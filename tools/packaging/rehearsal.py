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
from tools.packaging.licences import check_wheel, sdist_licences, summary
from tools.packaging.modules import run_module
from tools.packaging.pythons import VERSIONS, Interpreter, find, uv

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
MIN_PYROMA = 8  # of 10; the others need a public address: the project's URLs, the authors' e-mail
SMOKE = (
    "import tcuq, numpy as np; from tcuq.runtime import Engine; from tcuq_fleet.simulate import"
    " simulator; print(tcuq.__version__, np.__version__)"
)


def build() -> tuple[Path, Path]:
    """Build sdist and wheel, the wheel from the sdist; auditwheel tags the wheel."""
    for path in [*DIST.glob("tcuq-*.whl"), *DIST.glob("tcuq-*.tar.gz")]:
        path.unlink()
    run_module("build", "--quiet", "--outdir", DIST, ROOT)
    (sdist,), (wheel,) = DIST.glob("tcuq-*.tar.gz"), DIST.glob("tcuq-*.whl")
    run_module("auditwheel", "repair", "--wheel-dir", DIST, wheel)
    wheel.unlink()
    (wheel,) = DIST.glob("tcuq-*.whl")
    return sdist, wheel


def smoke(interpreter: Interpreter, wheel: Path, folder: Path) -> str:
    """Install the wheel with its dependencies into an empty folder and import it."""
    site = (interpreter.root or folder) / f"clean-{interpreter.version}"
    version = ["--python-version", interpreter.version, "--only-binary", ":all:", "--quiet"]
    subprocess.run([*uv(), "pip", "install", "--target", site, *version, wheel], check=True)
    result = interpreter.run(["-c", SMOKE], interpreter.root or folder, site)
    if result.returncode != 0:
        raise SystemExit(f"Python {interpreter.version}: {result.stderr}")
    tcuq, numpy = result.stdout.split()
    return f"tcuq {tcuq} with numpy {numpy}"


def write_sbom(folder: Path, wheel: Path) -> Path:
    """Write the CycloneDX list of what a clean installation with all extras holds."""
    clean, sbom = folder / "sbom", DIST / f"tcuq-{__version__}.cdx.json"
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
    sdist, wheel = build()
    print(f"built      {sdist.name}, {wheel.name}")
    passed = run_module("twine", "check", "--strict", sdist, wheel).count("PASSED")
    print(f"twine      {passed} of 2 passed")
    rating = run_module("pyroma", "--min", str(MIN_PYROMA), sdist).rpartition("Final rating: ")[2]
    print(f"pyroma     {rating.split()[0]}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        licences = sdist_licences(sdist, folder / "sdist")
        print(f"licences   {summary(licences)}; {check_wheel(wheel, sdist)} files in the wheel")
        for version in VERSIONS:
            interpreter = find(version, Path(os.environ.get("TCUQ_PYTHONS", folder)))
            result = "no interpreter" if interpreter is None else smoke(interpreter, wheel, folder)
            print(f"install    Python {version}: {result}")
        print(f"SBOM       {write_sbom(folder, wheel).name}")
    print("\nA maintainer would now push:")
    print(f"  git tag --sign v{__version__} && git push origin main v{__version__}")
    print("  # the workflow `wheels` builds every platform and publishes by trusted publishing")
    print("  make registries  # then push dist/registries/tcuq to its repository and tag it")
    if not address:
        print("Not yet: set tool.tcuq.address in pyproject.toml, the address of the repository.")


if __name__ == "__main__":
    main()
