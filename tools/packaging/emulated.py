# SPDX-License-Identifier: Apache-2.0
"""Runs the aarch64 wheel under qemu-user: Debian's Python and NumPy's wheel for aarch64."""

import os
import subprocess
import sys
from pathlib import Path

DIGEST = Path(__file__).with_name("digest.py")


def host_digest(library: Path, profile: Path) -> str:
    """Return the hash that an unpacked wheel of this machine gives."""
    environment = {**os.environ, "PYTHONPATH": str(library)}
    command = [sys.executable, str(DIGEST), str(profile)]
    return subprocess.check_output(command, env=environment, text=True).strip()


def arm_digest(library: Path, profile: Path, folder: Path) -> str:
    """Return the hash that an unpacked aarch64 wheel gives under qemu."""
    root, packages = folder / "arm64", folder / "arm64-packages"
    if not root.is_dir():
        make = ["mmdebstrap", "--quiet", "--variant=extract", "--architectures=arm64"]
        subprocess.run([*make, "--include=python3,libstdc++6", "bookworm", str(root)], check=True)
    if not packages.is_dir():
        install = ["pip", "install", "--quiet", "--no-deps", "--only-binary=:all:", "numpy"]
        platforms = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
        named = [f"--platform={name}" for name in platforms]
        where = ["--target", str(packages), "--python-version", "3.11"]
        subprocess.run([sys.executable, "-m", *install, *named, *where], check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{library}:{packages}",
        "PYTHONHOME": str(root / "usr"),
        "QEMU_LD_PREFIX": str(root),
        "LD_LIBRARY_PATH": "",
    }
    python = str(root / "usr/bin/python3.11")
    command = ["qemu-aarch64", python, str(DIGEST), str(profile)]
    return subprocess.check_output(command, env=environment, text=True).strip()
