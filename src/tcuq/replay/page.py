# SPDX-License-Identifier: Apache-2.0
"""The comparison as one HTML page that fetches nothing and runs nothing."""

from collections.abc import Iterable, Sequence
from importlib import resources
from xml.etree import ElementTree as ET

from tcuq.replay.comparison import Comparison
from tcuq.report.elements import element, html

HEADS = (
    "profile", "abstained", "denied", "alarms in a million", "streams alarmed", "wrong",
    "wrong and let through", "risk, 0 to 1",
)  # fmt: skip
BAR = (6, 40)  # width and height of a bar


def page(found: Comparison, title: str) -> str:
    """Profiles side by side, the streams they differ on most, and what could not be read."""
    facts = found.facts()
    first = facts["profiles"][found.names[0]]
    style = resources.files("tcuq.report").joinpath("page.css").read_text("utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", style),
    )
    main = element(
        "main",
        element("h1", title),
        element("p", f"{first['streams']:,} streams, {first['steps']:,} steps", class_="lead"),
        _table(HEADS, (_row(found, name, facts) for name in found.names)),
        *_changes(found, facts),
        *_damage(facts),
    )
    return "<!DOCTYPE html>\n" + html(element("html", head, element("body", main), lang="en"))


def _row(found: Comparison, name: str, facts: dict[str, object]) -> list[ET.Element | str]:
    profiles: dict[str, dict[str, list[int]]] = facts["profiles"]  # type: ignore[assignment]
    return [name, *found.cells(name), _bars(profiles[name]["risk_histogram"])]


def _bars(counts: Sequence[int]) -> ET.Element:
    """Steps by risk; heights by the square root, so that rare ones are seen."""
    width, height = BAR
    most = max(*counts, 1) ** 0.5
    bars = []
    for place, count in enumerate(counts):
        tall = height * count**0.5 / most
        bars.append(
            element(
                "rect",
                element("title", f"{count:,} steps"),
                x=place * width,
                y=f"{height - tall:.1f}",
                width=width - 1,
                height=f"{tall:.1f}",
                fill="currentColor",
            )
        )
    return element("svg", *bars, width=width * len(counts), height=height, role="img")


def _changes(found: Comparison, facts: dict[str, list[dict[str, object]]]) -> Iterable[ET.Element]:
    for name in found.names[1:]:
        moved: dict[str, int] = facts["profiles"][name]  # type: ignore[call-overload]
        yield element(
            "p",
            f"{name}: {moved['louder']:,} streams alarm that did not under {found.names[0]},"
            f" {moved['quieter']:,} no longer do.",
        )
    if facts["apart"]:
        heads = ("stream", "profile", "alarms, before and after", "abstained, before and after")
        rows = ([str(v) for v in one.values()] for one in facts["apart"])
        yield element("h2", f"Farthest from {found.names[0]}")
        yield _table(heads, rows)


def _damage(facts: dict[str, list[dict[str, object]]]) -> Iterable[ET.Element]:
    if facts["damaged"]:
        yield element("h2", "Not read")
        heads = ("file", "first row", "rows", "reason")
        yield _table(heads, ([str(v) for v in one.values()] for one in facts["damaged"]))


def _table(heads: Sequence[str], rows: Iterable[Sequence[ET.Element | str]]) -> ET.Element:
    return element(
        "div",
        element(
            "table",
            element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
            element("tbody", *(element("tr", *(element("td", c) for c in row)) for row in rows)),
        ),
        class_="scroll",
        tabindex=0,
    )
