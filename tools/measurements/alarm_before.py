# SPDX-License-Identifier: Apache-2.0
"""Figures of the alarm before its second form, to compare with; `--before` writes them."""

import argparse
import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.measurements import result
from tools.measurements.result import ROOT

PATH = Path(__file__).with_name("alarm_before.json")
LIST = re.compile(r"\[[^][{}]*\]")  # without a list or an object in it: written on one line


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all measurements of the alarm share."""
    options = result.parser(description)
    options.add_argument("--before", action="store_true", help="keep as figures to compare with")
    return options


def before(measurement: str) -> Any:  # noqa: ANN401 - each measurement knows its own figures
    """The kept figures of one measurement; None if there are none."""
    document = json.loads(PATH.read_text("utf-8")) if PATH.is_file() else {}
    return document.get(measurement, {}).get("figures")


def keep_before(measurement: str, figures: object) -> None:
    """Keep figures of the code that is checked out."""
    document = json.loads(PATH.read_text("utf-8")) if PATH.is_file() else {}
    command = ["git", "rev-parse", "--short", "HEAD:src/tcuq"]
    tree = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    document[measurement] = {
        "command": f"python -m tools.measurements.{measurement} --before",
        "date": datetime.now(UTC).date().isoformat(),
        "source_tree": tree.stdout.strip(),
        "figures": figures,
    }
    text = json.dumps(document, indent=1, ensure_ascii=False)
    PATH.write_text(LIST.sub(lambda match: " ".join(match[0].split()), text) + "\n", "utf-8")
