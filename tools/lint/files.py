# SPDX-License-Identifier: Apache-2.0
"""The files that are checked: those that Git tracks or would track."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked() -> list[Path]:
    """Return the repository's files, also in a checkout that another user owns."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    return [path for name in names if (path := ROOT / name).is_file()]


def name_of(path: Path) -> str:
    """Return a path as the repository names it."""
    return path.relative_to(ROOT).as_posix()
