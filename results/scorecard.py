# SPDX-License-Identifier: Apache-2.0
"""What the software holds to, at a glance: every kept result with its date and its command.

`--check` fails where a row does not hold and no reason is given beside it, where results are older
than the last release, where documents quote another figure than they do:
`<!-- figure: RESULT / ROW -->value<!-- /figure -->`, or where their table of promises is another.
`--renew` writes the figures into the documents, and the reasons of not_reached.toml into results.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from results import promises
from results.result import (
    BUNDLED,
    RESULTS,
    ROOT,
    Row,
    data_checksum,
    mark,
    not_reached,
    reasons,
    write_json,
)

DOCUMENTS = ("docs", "fleet/docs", "benchmark/docs")
QUOTED = re.compile(r"<!-- figure: (\w+) / (.+?) -->(.*?)<!-- /figure -->", re.DOTALL)


def last_release(changelog: str) -> str:
    """Return the date of the newest release that has one: `## [0.1.0] - 2026-11-15`."""
    dated = re.search(r"^## \[[\d.]+\] - (\d{4}-\d\d-\d\d)$", changelog, re.MULTILINE)
    if dated is None:
        raise ValueError("CHANGELOG.md must have a release with a date")
    return dated[1]


def results() -> dict[str, Any]:
    """Return every committed result, by name."""
    return {p.stem: json.loads(p.read_text("utf-8")) for p in sorted(RESULTS.glob("*.json"))}


def table(documents: dict[str, Any]) -> Iterator[str]:
    """Yield two or three lines per row."""
    for result in documents.values():
        yield f"{result['command']}  ({result['date']}, tcuq {result['versions']['tcuq']})"
        explained = result.get("not_reached", {})
        for row in result["rows"]:
            yield f"  {mark(row['passed'])}  {row['what']}"
            yield f"           must {row['must']}; measured {row['measured']}"
            if row["what"] in explained:
                yield f"           not reached: {explained[row['what']]}"


def complaints(documents: dict[str, Any]) -> Iterator[str]:
    """Yield rows that fail without a reason, and figures that are out of date."""
    released = last_release((ROOT / "CHANGELOG.md").read_text("utf-8"))
    for name, result in documents.items():
        if result["date"] < released:
            date = result["date"]
            yield f"results/{name}.json is of {date}, before the last release: make measure"
        if name in BUNDLED and result["data_sha256"] != data_checksum():
            yield f"results/{name}.json is of other streams in the box: make measure"
        explained = set(result.get("not_reached", {}))
        failed = {row["what"] for row in result["rows"] if row["passed"] is False}
        yield from (f"{what} fails" for what in sorted(failed - explained))
        yield from (f"{what} is reached; its reason may go" for what in sorted(explained - failed))
        for start in reasons().get(name, {}):
            if not any(what.startswith(start) for what in failed):
                yield f"not_reached.toml, {name}: no failing row begins with {start!r}"
    for path in pages():
        for name, start, value in QUOTED.findall(path.read_text("utf-8")):
            measured = figures(documents, name, start)
            if measured != [value.strip()]:
                place = path.relative_to(ROOT)
                yield f"{place} quotes {value.strip()!r} for {start!r}, results say {measured}"
    yield from promises.complaints()


def pages() -> list[Path]:
    """Return the documents that may quote figures."""
    below = (page for folder in DOCUMENTS for page in (ROOT / folder).rglob("*.md"))
    return [*ROOT.glob("*.md"), *below]


def figures(documents: dict[str, Any], name: str, start: str) -> list[str]:
    """Return what the rows of a result measured whose names begin so; one, if a quote is right."""
    rows = documents.get(name, {"rows": []})["rows"]
    return [row["measured"] for row in rows if row["what"].startswith(start)]


def with_figures(text: str, documents: dict[str, Any]) -> str:
    """Return a document's text with its figures as measured, where one row has the quoted name."""

    def measured(quote: re.Match[str]) -> str:
        name, start, value = quote.groups()
        rows = figures(documents, name, start)
        shown = rows[0] if len(rows) == 1 else value
        return f"<!-- figure: {name} / {start} -->{shown}<!-- /figure -->"

    return QUOTED.sub(measured, text)


def renew(documents: dict[str, Any]) -> None:
    """Write reasons into results and figures into documents, where they are others."""
    for name, result in documents.items():
        rows = [Row(**row) for row in result["rows"]]
        why = not_reached(rows, reasons().get(name, {}))["not_reached"]
        if result.get("not_reached", {}) != why:
            result["not_reached"] = why
            write_json(RESULTS / f"{name}.json", result)
    for path in pages():
        text = path.read_text("utf-8")
        if (renewed := with_figures(text, documents)) != text:
            path.write_text(renewed, "utf-8")


def main() -> None:
    """Print the table; with --renew, write what it says to documents; with --check, complain."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--renew", action="store_true")
    args = parser.parse_args()
    documents = results()
    if args.renew:
        renew(documents)
    print("\n".join(table(documents)))
    problems = list(complaints(documents)) if args.check else []
    for complaint in problems:
        print(f"scorecard: {complaint}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
