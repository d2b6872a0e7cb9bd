# SPDX-License-Identifier: Apache-2.0
"""A measured result as documents quote it: rows, and the command, versions and data behind them."""

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
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


def parser(description: str | None = None) -> argparse.ArgumentParser:
    """--write keeps the result for documents to quote; --short is what CI has time for."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--write", action="store_true", help="keep the result in results/")
    options.add_argument("--short", action="store_true", help="a short form of the same")
    return options


def arguments() -> argparse.Namespace:
    """The parsed options of a measurement that has no others."""
    return parser().parse_args()


def report(
    name: str,
    rows: Sequence[Row],
    libraries: Iterable[str],
    *,
    write: bool,
    tools: Mapping[str, str] = MappingProxyType({}),
    more: Mapping[str, object] = MappingProxyType({}),
) -> int:
    """Print the rows, keep them if asked to, and say by the exit code whether all hold.

    `tools` are versions of what is no Python library; `more` are further members of the result.
    """
    for row in rows:
        print(f"{mark(row.passed)}  {row.what}: {row.measured}  (must: {row.must})")
    if write:
        document = {
            "command": command(),
            "date": datetime.now(UTC).date().isoformat(),
            "python": platform.python_version(),
            "versions": {n: version(n) for n in ("tcuq", "numpy", *libraries)} | dict(tools),
            "data_sha256": data_checksum() if name in BUNDLED else None,
            "rows": [asdict(row) for row in rows],
            **more,
        }
        path = RESULTS / f"{name}.json"
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(f"written to {path.relative_to(ROOT)}")
    return 0 if all(row.passed is not False for row in rows) else 1


def not_reached(rows: Iterable[Row], reasons: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The member of a result that says why rows fail; `reasons` has their first words."""
    failed = [row.what for row in rows if row.passed is False]
    pairs = [
        (what, why) for what in failed for start, why in reasons.items() if what.startswith(start)
    ]
    return {"not_reached": dict(pairs)}


def command() -> str:
    """Return the command line that is running, without the option that keeps its result."""
    spec = sys.modules["__main__"].__spec__
    module = "" if spec is None else spec.name.removesuffix(".__main__")
    return " ".join(["python -m", module, *(word for word in sys.argv[1:] if word != "--write")])


def mark(passed: bool | None) -> str:
    """How a row stands, in a word of fixed width."""
    return "  –  " if passed is None else "holds" if passed else "FAILS"


def data_checksum() -> str:
    """SHA-256 over the streams in the box."""
    digest = hashlib.sha256()
    for path in sorted(DATA.glob("*.npz")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
