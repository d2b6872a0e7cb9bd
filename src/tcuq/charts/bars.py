# SPDX-License-Identifier: Apache-2.0
"""Figures without axes: a histogram that fits in a table's cell, a stacked bar, a legend."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from tcuq.charts.markup import element

BIN, HEIGHT = 6, 40
STACK, STACK_HEIGHT, GAP = 1000, 20, 2
Legend = Sequence[tuple[str, str]]  # kind, with "spot" or "box" before it if not a line; and text


def histogram(counts: Sequence[int], title: str, unit: str) -> Element:
    """Counts by bin; heights grow with the square root, so that rare bins show."""
    highest = max(*counts, 1) ** 0.5
    bars = []
    for index, count in enumerate(counts):
        height = round(HEIGHT * count**0.5 / highest, 1)
        tooltip = element("title", f"{count:,} {unit}")
        place = {"x": index * BIN, "y": round(HEIGHT - height, 1)}
        bars.append(
            element("rect", tooltip, width=BIN - 1, height=height, class_="column", **place)
        )
    size = {"width": BIN * len(counts), "height": HEIGHT}
    return element("svg", *bars, role="img", aria_label=title, **size)


def stacked_bar(parts: Sequence[tuple[str, int]], title: str) -> Element:
    """Parts of a whole, side by side, in the colours of series."""
    whole, begin, bars = sum(count for _, count in parts), 0.0, []
    for index, (name, count) in enumerate(parts):
        width = STACK * count / whole
        tooltip = element("title", f"{name}: {count:,}")
        place = {"x": round(begin, 1), "width": round(max(width - GAP, 0), 1)}
        kind = f"column series{index}"
        bars.append(element("rect", tooltip, height=STACK_HEIGHT, class_=kind, **place))
        begin += width
    box = {"viewBox": f"0 0 {STACK} {STACK_HEIGHT}", "preserveAspectRatio": "none"}
    return element("svg", *bars, role="img", aria_label=title, class_="stack", **box)


def legend(entries: Legend) -> Element:
    """Keys and what they stand for."""
    keys = [element("li", element("i", class_=f"key {kind}"), text) for kind, text in entries]
    return element("ul", *keys, class_="legend")
