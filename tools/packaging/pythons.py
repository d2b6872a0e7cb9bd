# SPDX-License-Identifier: Apache-2.0
"""Python interpreters to test with: those that uv finds, and the newest in a Debian root."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
DEBIAN = ("forky", "python3.14")  # the release that has the newest, and its package
# Packages are extracted, not set up: no essential one comes by itself.
TOOLS = "bash,ca-certificates,coreutils,dash,gcc,git,grep,libc6-dev,sed"
PACKAGES = f"{DEBIAN[1]}-dev,{DEBIAN[1]}-venv,{TOOLS}"
# A mirror of a testing release may lag behind its date; apt still checks the signatures.
LAGGING_MIRROR = 'Acquire::Check-Valid-Until "false"'
ENTER = "import os, sys; os.chdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python version: its executable, and the root that it runs in if it is not this system."""

    version: str
    executable: Path
    root: Path | None = None

    def run(self, words: list[str], folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
        """Run `python words` in a folder with the packages of `site`."""
        command = [str(self.executable), *words]
        path = site
        if self.root is not None:
            inside = f"/{folder.relative_to(self.root)}"
            command = ["chroot", str(self.root), command[0], "-c", ENTER, inside, *command]
            path = Path("/") / site.relative_to(self.root)
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/bin",
            "HOME": str(path),  # a Debian root has no user, and matplotlib wants one's folder
            "PYTHONPATH": str(path),
            "OMP_NUM_THREADS": "1",
        }
        return subprocess.run(
            command,
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip


def find(version: str, folder: Path) -> Interpreter | None:
    """Find an interpreter of this version, or make a Debian root that has it."""
    command = [*uv(), "python", "find", "--system", "--no-python-downloads", version]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if result.returncode == 0:
        return Interpreter(version, Path(result.stdout.strip()))
    for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")):
        return Interpreter(version, path)
    if DEBIAN[1] != f"python{version}" or shutil.which("mmdebstrap") is None:
        return None
    root = folder / DEBIAN[0]
    make = ["mmdebstrap", "--quiet", "--variant=extract", f"--aptopt={LAGGING_MIRROR}"]
    if not root.is_dir():
        subprocess.run([*make, f"--include={PACKAGES}", DEBIAN[0], root], check=True)
    for name in ("bin", "lib", "lib64", "sbin"):  # links that a package's script would make
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    if not (root / "usr/bin/cc").exists():
        (root / "usr/bin/cc").symlink_to("gcc")
    return Interpreter(version, Path("/usr/bin") / DEBIAN[1], root)


def uv() -> list[str]:
    """Return the command of uv, which resolves versions and finds interpreters."""
    return [sys.executable, "-m", "uv"]
