# SPDX-License-Identifier: Apache-2.0
"""The comparison as one HTML page without scripts or external resources."""

from collections.abc import Iterable
from importlib import resources
from xml.etree import ElementTree as ET

from tcuq.charts import histogram, stylesheet
from tcuq.charts.markup import element, html, table
from tcuq.replay.comparison import ReplayComparison

HEADS = (
    "profile", "abstained", "denied", "alarms in a million", "streams alarmed", "wrong",
    "wrong and let through", "risk, 0 to 1",
)  # fmt: skip


def page(comparison: ReplayComparison, title: str) -> str:
    """Make the page: profiles side by side, streams they differ on most, files not read."""
    facts = comparison.facts()
    first = facts["profiles"][comparison.names[0]]
    style = resources.files("tcuq.reports").joinpath("page.css").read_text("utf-8")
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
        element("style", stylesheet() + style),
    )
    main = element(
        "main",
        element("h1", title),
        element("p", f"{first['streams']:,} streams, {first['steps']:,} steps", class_="lead"),
        table(HEADS, (_row(comparison, name, facts) for name in comparison.names)),
        *_changes(comparison, facts),
        *_damage(facts),
    )
    return "<!DOCTYPE html>\n" + html(element("html", head, element("body", main), lang="en"))


def _row(
    comparison: ReplayComparison, name: str, facts: dict[str, object]
) -> list[ET.Element | str]:
    profiles: dict[str, dict[str, list[int]]] = facts["profiles"]  # type: ignore[assignment]
    counts = profiles[name]["risk_histogram"]
    return [name, *comparison.cells(name), histogram(counts, "Steps by risk, 0 to 1", "steps")]


def _changes(
    comparison: ReplayComparison, facts: dict[str, list[dict[str, object]]]
) -> Iterable[ET.Element]:
    for name in comparison.names:
        yield element("p", f"{name}: {comparison.causes(name)}.")
    for name in comparison.names[1:]:
        moved: dict[str, int] = facts["profiles"][name]  # type: ignore[call-overload]
        yield element(
            "p",
            f"{name}: {moved['louder']:,} streams alarm that did not under {comparison.names[0]},"
            f" {moved['quieter']:,} no longer do.",
        )
    if facts["apart"]:
        heads = ("stream", "profile", "alarms, before and after", "abstained, before and after")
        rows = ([str(v) for v in one.values()] for one in facts["apart"])
        yield element("h2", f"Farthest from {comparison.names[0]}")
        yield table(heads, rows)


def _damage(facts: dict[str, list[dict[str, object]]]) -> Iterable[ET.Element]:
    if facts["damaged"]:
        yield element("h2", "Not read")
        heads = ("file", "first row", "rows", "reason")
        yield table(heads, ([str(v) for v in one.values()] for one in facts["damaged"]))
