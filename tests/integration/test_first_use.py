# SPDX-License-Identifier: Apache-2.0
"""As a new user: the README's commands, from a model to objects, in a clean environment."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_COMMANDS = 5


def test_a_tflite_becomes_firmware_in_five_commands(
    tmp_path: Path, keyword_files: Callable[[Path], None]
) -> None:
    """Typed as they stand, with this checkout installed; objects for a Cortex-M4 come out."""
    text = (ROOT / "README.md").read_text("utf-8").partition("## From your model to firmware")[2]
    block = re.search(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    commands = [line.removeprefix("$ ") for line in block[1].splitlines()]
    assert len(commands) <= MOST_COMMANDS
    assert commands[0].startswith("pip install 'tcuq[")
    commands[0] = f"pip install --quiet '{ROOT}[{commands[0].partition('[')[2]}"
    keyword_files(tmp_path)
    clean = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", str(clean)], check=True)
    environment = {n: v for n, v in os.environ.items() if n not in ("PYTHONPATH", "PYTHONHOME")}
    place = {**environment, "PATH": f"{clean / 'bin'}{os.pathsep}{environment['PATH']}"}
    for command in commands:
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    sources = {path.stem for path in (tmp_path / "firmware/src").glob("*.c")}
    assert sources
    assert {path.stem for path in tmp_path.glob("*.o")} == sources
