# SPDX-License-Identifier: Apache-2.0
"""Write the tables of fleet/docs/configuration.md from the commands' models; --check compares."""

import re
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from tcuq_fleet.cli import COMMANDS
from tcuq_fleet.cli.configuration import variable

PAGE = Path(__file__).resolve().parents[1] / "docs/configuration.md"
PROCESSES = ("ingest", "judge", "serve")
MARKED = re.compile(r"(<!-- options: (\w+) -->\n).*?(<!-- /options -->)", re.DOTALL)
HEAD = "| key in the file, option `--key` | variable | default | meaning |\n|---|---|---|---|\n"
BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}

OPTIONS = {command.table(): command.configurable() for command in COMMANDS}


def table(section: str) -> str:
    """Return one row per option: its key, variable, default and meaning."""
    keys = [key for name in PROCESSES for key in OPTIONS[name]]
    shared = {key for key in keys if keys.count(key) > 1}
    if section == "shared":
        every = {key: field for name in PROCESSES for key, field in OPTIONS[name].items()}
        options = {key: field for key, field in every.items() if key in shared}
    else:
        options = {key: field for key, field in OPTIONS[section].items() if key not in shared}
    rows = [
        f"| `{key}` | `{variable(key.replace('-', '_'))}` | {_default(field)} | {_text(field)} |\n"
        for key, field in options.items()
    ]
    return HEAD + "".join(rows)


def _default(field: FieldInfo) -> str:
    value: Any = field.default
    text = " ".join(value) if isinstance(value, list) else str(value)
    return "" if value in (None, [], False) else f"`{text}`"


def _text(field: FieldInfo) -> str:
    """Return the description with the choices or the bounds."""
    if get_origin(field.annotation) is Literal:
        return f"{field.description}; one of {', '.join(get_args(field.annotation))}"
    bounds = [
        f"{sign} {getattr(limit, name):,}"
        for limit in field.metadata
        for name, sign in BOUNDS.items()
        if hasattr(limit, name)
    ]
    return "; ".join([str(field.description), *([", ".join(bounds)] if bounds else [])])


def main() -> None:
    """Write the page, or compare it."""
    text = PAGE.read_text("utf-8")
    wanted = MARKED.sub(lambda match: match[1] + table(match[2]) + match[3], text)
    if "--check" in sys.argv and wanted != text:
        sys.exit(
            f"{PAGE.name} differs from the options: run  python -m fleet.measurements.configuration"
        )
    PAGE.write_text(wanted, "utf-8")


if __name__ == "__main__":
    main()
