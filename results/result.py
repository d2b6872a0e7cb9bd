# SPDX-License-Identifier: Apache-2.0
"""A measured result as documents quote it: rows, and the command, versions and data behind them."""

import argparse
import hashlib
import json
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
REASONS = RESULTS / "not_reached.toml"
DATA = ROOT / "src/tcuq/data/keywords"
# The results that measure the bundled streams.
BUNDLED = frozenset(
    {"clean_install", "demo", "device", "firmware", "hashes", "properties", "report", "size"}
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the scorecard; `passed` is None where nothing was promised."""

    what: str
    must: str
    measured: str
    passed: bool | None


def figure(what: str, measured: str) -> Row:
    """Return a row that is stated for the record, without a limit."""
    return Row(what, "stated", measured, None)


def parser(description: str | None = None) -> argparse.ArgumentParser:
    """Return a parser of the options that measurements share: --write and --short."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--write", action="store_true", help="write the result to results/")
    options.add_argument("--short", action="store_true", help="run the short form, for CI")
    return options


def arguments() -> argparse.Namespace:
    """Parse the command line of a measurement that has no options of its own."""
    return parser().parse_args()


def measure(
    name: str,
    rows: Callable[[bool], Iterable[Row]],
    libraries: Iterable[str] = (),
    *,
    tools: Iterable[str] = (),
    more: Callable[[], Mapping[str, object]] = dict,
) -> NoReturn:
    """Run a measurement from the command line; exit with 0 if all of its rows hold.

    `rows` is called with whether the short form runs. `tools` are commands whose versions count;
    `more` gives further members of the result and is called only if it is written.
    """
    args = arguments()
    measured = [show(row) for row in rows(args.short)]
    if args.write:
        versions = {tool: tool_version(tool) for tool in tools}
        write_rows(name, measured, libraries, versions, more())
    sys.exit(exit_code(measured))


def report(
    name: str,
    rows: Iterable[Row],
    libraries: Iterable[str],
    *,
    write: bool,
    tools: Mapping[str, str] = MappingProxyType({}),
    more: Mapping[str, object] = MappingProxyType({}),
) -> int:
    """Print the rows as they come, write them if asked to, and return the exit code.

    `tools` are versions of what is no Python library; `more` are further members of the result.
    """
    measured = [show(row) for row in rows]
    if write:
        write_rows(name, measured, libraries, tools, more)
    return exit_code(measured)


def show(row: Row) -> Row:
    """Print a row and return it."""
    print(f"{mark(row.passed)}  {row.what}: {row.measured}  (must: {row.must})", flush=True)
    return row


def exit_code(rows: Iterable[Row]) -> int:
    """Return 1 if a row fails, else 0."""
    return int(any(row.passed is False for row in rows))


def write_rows(
    name: str,
    rows: Sequence[Row],
    libraries: Iterable[str],
    tools: Mapping[str, str],
    more: Mapping[str, object],
) -> None:
    """Write results/NAME.json; reasons of failing rows are those of not_reached.toml."""
    document = {
        **origin(command(), libraries, tools),
        "data_sha256": data_checksum() if name in BUNDLED else None,
        "rows": [asdict(row) for row in rows],
        **not_reached(rows, reasons().get(name, {})),
        **more,
    }
    path = RESULTS / f"{name}.json"
    write_json(path, document)
    print(f"written to {path.relative_to(ROOT)}")


def origin(
    command: str, libraries: Iterable[str], tools: Mapping[str, str] = MappingProxyType({})
) -> dict[str, object]:
    """Return how and when a result was measured: command, date, Python and versions."""
    return {
        "command": command,
        "date": today(),
        "python": platform.python_version(),
        "versions": {n: version(n) for n in ("tcuq", "numpy", *libraries)} | dict(tools),
    }


def today() -> str:
    """Return the date in UTC."""
    return datetime.now(UTC).date().isoformat()


def write_json(path: Path, document: object) -> None:
    """Write a document with one member per line."""
    path.write_text(json_text(document), "utf-8")


def json_text(document: object) -> str:
    """Return the text of a JSON file with one member per line."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def tool_version(tool: str) -> str:
    """Return the first line that a command prints of its version."""
    command = [tool, "--version"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - the project's tools
    return printed.stdout.splitlines()[0]


def reasons() -> dict[str, dict[str, str]]:
    """Return why rows fail, by result and by the first words of a row."""
    return tomllib.loads(REASONS.read_text("utf-8"))


def not_reached(rows: Iterable[Row], reasons: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the member of a result that says why rows fail; `reasons` has their first words."""
    failed = [row.what for row in rows if row.passed is False]
    pairs = [
        (what, why) for what in failed for start, why in reasons.items() if what.startswith(start)
    ]
    return {"not_reached": dict(pairs)}


def command() -> str:
    """Return the command line that is running, without the option that writes its result."""
    spec = sys.modules["__main__"].__spec__
    module = "" if spec is None else spec.name.removesuffix(".__main__")
    return " ".join(["python -m", module, *(word for word in sys.argv[1:] if word != "--write")])


def mark(passed: bool | None) -> str:
    """Return whether a row holds, in a word of fixed width."""
    return "  –  " if passed is None else "holds" if passed else "FAILS"


def data_checksum() -> str:
    """Return the SHA-256 of the bundled streams."""
    digest = hashlib.sha256()
    for path in sorted(DATA.glob("*.npz")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
