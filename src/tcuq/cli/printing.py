# SPDX-License-Identifier: Apache-2.0
"""What every command does alike: say its result, and refuse an output before the work."""

import argparse
import json
from pathlib import Path
from typing import Any

from tcuq.errors import TcuqError

Commands = Any  # argparse's class has no public name


def check_output(path: str, *endings: str) -> None:
    """Before the work, not after it."""
    if Path(path).suffix not in endings:
        raise TcuqError(f"{path!r}: the output's name must end in {' or '.join(endings)}")
    if Path(path).is_dir():
        raise TcuqError(f"{path}: is a folder")
    if not Path(path).parent.is_dir():
        raise TcuqError(f"{path}: there is no folder {Path(path).parent}")


def say(asked: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    """Print as asked."""
    print(json.dumps(facts, allow_nan=False) if asked.json else text)
