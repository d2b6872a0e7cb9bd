# SPDX-License-Identifier: Apache-2.0
"""The style sheet that all charts share, and charts as SVG files that carry their part of it."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Literal
from xml.etree import ElementTree as ET

from tcuq.charts.chart import Chart
from tcuq.charts.markup import element

Scheme = Literal["light", "dark"]

VARIABLE = re.compile(r"--(\w+): light-dark\((#\w+), (#\w+)\)")
RULE = re.compile(r"^(\.[^{]+)\{.*\}$", re.MULTILINE)


@cache
def stylesheet() -> str:
    """The colours of pages, and the look of charts and legends."""
    return resources.files("tcuq.charts").joinpath("static/charts.css").read_text("utf-8")


def palette(scheme: Scheme = "light") -> dict[str, str]:
    """The colours by name."""
    group = 2 if scheme == "light" else 3
    return {colour[1]: colour[group] for colour in VARIABLE.finditer(stylesheet())}


def standalone_svg(chart: Chart) -> str:
    """A chart as the text of an SVG file, dark where the viewer is.

    Colours are written out, since viewers other than browsers know no CSS variables.
    """
    svg = chart.svg()
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    svg.set("font-family", "sans-serif")
    svg.insert(0, element("rect", width="100%", height="100%", class_="paper"))
    used = {name for part in svg.iter() for name in part.get("class", "").split()}
    rules = [rule[0] for rule in RULE.finditer(stylesheet()) if _applies(rule[1], used)]
    style = ["", *_written_out(rules, "light"), "@media (prefers-color-scheme: dark) {"]
    style += [*_written_out([rule for rule in rules if "var(" in rule], "dark"), "}", ""]
    svg.insert(0, element("style", "\n".join(style)))
    svg.insert(0, element("title", chart.title))
    ET.indent(svg, "")
    return ET.tostring(svg, encoding="unicode") + "\n"


def _applies(selectors: str, used: set[str]) -> bool:
    return any(used.issuperset(re.findall(r"\.([\w-]+)", s)) for s in selectors.split(","))


def _written_out(rules: Sequence[str], scheme: Scheme) -> list[str]:
    """Rules with the values of their variables."""
    values = palette(scheme)
    return [re.sub(r"var\(--(\w+)\)", lambda name: values[name[1]], rule) for rule in rules]
