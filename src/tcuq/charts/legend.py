# SPDX-License-Identifier: Apache-2.0
"""The legend of a chart, as a list beside it."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from tcuq.charts.markup import element

Legend = Sequence[tuple[str, str]]  # kind, with "spot" or "box" before it if not a line; and text


def legend(entries: Legend) -> Element:
    """Keys and what they stand for."""
    keys = [element("li", element("i", class_=f"key {kind}"), text) for kind, text in entries]
    return element("ul", *keys, class_="legend")
