# SPDX-License-Identifier: Apache-2.0
"""Write the tables of fleet/docs/configuration.md from the parsers; --check only compares."""

import argparse
import re
import sys
from pathlib import Path

from tcuq_fleet.cli import add_commands
from tcuq_fleet.cli.configuration import ConfiguredParser, variable

PAGE = Path(__file__).resolve().parents[1] / "docs/configuration.md"
COMMANDS = ("ingest", "judge", "serve", "migrate", "up")
MARKED = re.compile(r"(<!-- options: (\w+) -->\n).*?(<!-- /options -->)", re.DOTALL)


def parsers() -> dict[str, ConfiguredParser]:
    """The parser of each command."""
    list(add_commands(argparse.ArgumentParser(prog="tcuq").add_subparsers()))
    return {parser.section: parser for parser in ConfiguredParser.commands}


def shared_keys() -> set[str]:
    """Keys of options that two or more processes have."""
    keys = [key for name in COMMANDS[:3] for key, _ in parsers()[name].options()]
    return {key for key in keys if keys.count(key) > 1}


def table(section: str) -> str:
    """One row per option: its key, variable, default and meaning."""
    known = parsers()
    if section == "shared":
        actions = {key: a for name in COMMANDS[:3] for key, a in known[name].options()}
        options = {key: action for key, action in actions.items() if key in shared_keys()}
    else:
        options = {key: a for key, a in known[section].options() if key not in shared_keys()}
    rows = [
        f"| `{key}` | `{variable(key)}` | {_default(action)} | {_text(action)} |"
        for key, action in options.items()
    ]
    head = "| key in the file, option `--key` | variable | default | meaning |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def _default(action: argparse.Action) -> str:
    return "" if action.default in (None, [], False) else f"`{action.default}`"


def _text(action: argparse.Action) -> str:
    text = re.sub(r"[;,]? ?(\()?default:? ([^,;()]*)(?(1)\))$", "", action.help or "")
    if action.choices:
        text = f"{text}; one of {', '.join(action.choices)}"
    return text.replace("|", "\\|").replace("%(default)s", str(action.default))


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
