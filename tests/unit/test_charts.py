# SPDX-License-Identifier: Apache-2.0
"""The chart kit: axes, marks, colours and accessibility."""

import re
from importlib import resources
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq.charts import (
    Axis,
    Chart,
    ceiling,
    histogram,
    legend,
    palette,
    stacked_bar,
    standalone_svg,
    stylesheet,
)
from tcuq.charts.markup import html
from tcuq.charts.style import VARIABLE, Scheme

HOSTILE = '<script>alert("\x00&")</script>'
MIDNIGHT = 1_748_908_800  # 3 June 2025, UTC


def chart() -> Chart:
    """A small chart with one of each mark."""
    drawing = Chart("a title", Axis.linear(0, 10, "steps"), Axis.linear(0, 1, "risk"))
    drawing.cell(0, 5, 0, 0.5, 0.3)
    drawing.bar(0, 1, 0.5, "denied")
    drawing.line((0, 5, 10), (0, 1, 2), "series0")
    drawing.point(5, 0.5, "bubble shifted", tooltip="a tooltip")
    drawing.horizontal(0.99, "limit")
    drawing.vertical(9.9, "calibrated")
    drawing.margin_text(30, "a name", "series0")
    drawing.tooltip(0, 5, "first half")
    return drawing


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_round_inside_and_about_as_many_as_requested(
    low: float, span: float, count: int
) -> None:
    """Whatever the range, ticks lie within it, evenly, and are neither absent nor crowded."""
    axis = Axis.linear(low, low + span, count=count)
    values = [value for value, _ in axis.ticks]
    assert 1 <= len(values) <= count + 1
    assert all(-1e-6 * span <= v - low <= span * (1 + 1e-6) for v in values)


@given(st.integers(0, 4_000_000_000), st.integers(120, 400 * 86400))
def test_every_time_axis_has_labels(begin: int, span: int) -> None:
    """From two minutes to a year, at least one tick and at most eight, none outside."""
    axis = Axis.time(begin, begin + span)
    assert 1 <= len(axis.ticks) <= 8
    assert all(begin <= value <= begin + span for value, _ in axis.ticks)
    assert axis.label == "time, UTC"


def test_midnight_is_a_date_and_other_times_are_times() -> None:
    """An axis over one day shows its date."""
    ticks = Axis.time(MIDNIGHT - 6 * 3600, MIDNIGHT + 6 * 3600).ticks
    texts = [text for _, text in ticks]
    assert texts == ["18:00", "20:00", "22:00", "3 Jun", "02:00", "04:00", "06:00"]


@given(st.floats(0, 1e9))
def test_ceiling_is_above_and_near(highest: float) -> None:
    """A bar never touches the top, and never fills less than half."""
    top = ceiling(highest, 4)
    assert top >= max(highest * 1.04, 4)
    assert top <= 2 * max(highest * 1.04, 4)


def test_marks_and_texts_stay_in_the_picture() -> None:
    """Values beyond an axis are drawn at its end, names move inside, and marks come in order."""
    drawing = chart()
    assert drawing.y_of(7) == drawing.frame.top
    assert drawing.y_of(-7) == drawing.frame.base
    assert drawing.x_of(70) == drawing.frame.end
    texts = {text.text: text for text in chart().svg().iter("text")}
    assert texts["calibrated"].get("text-anchor") == "end"
    assert float(texts["limit"].get("y", 0)) > chart().y_of(0.99)
    classes = [part.get("class", "").split()[:1] for part in chart().svg()]
    order = [classes.index([kind]) for kind in ("rule", "cell", "axis", "line", "tooltip")]
    assert order == sorted(order)


def test_charts_have_a_name_and_a_description() -> None:
    """A screen reader hears the title and the axes."""
    svg = chart().svg()
    assert (svg.get("role"), svg.get("aria-label")) == ("img", "a title")
    described = svg.findtext("desc")
    assert described == "Horizontal axis: steps, 0 to 10. Vertical axis: risk, 0 to 1."
    for bars in (histogram([1, 0, 4], "by risk", "steps"), stacked_bar([("a", 1)], "RAM")):
        assert (bars.get("role"), bool(bars.get("aria-label"))) == ("img", True)


def test_untrusted_text_is_escaped() -> None:
    """Names, labels and tooltips cannot end the element that holds them."""
    drawing = Chart(HOSTILE, Axis.linear(0, 1, HOSTILE), Axis.linear(0, 1))
    drawing.tooltip(0, 1, HOSTILE)
    drawing.point(0, 0, "", tooltip=HOSTILE)
    texts = [drawing.__html__(), standalone_svg(drawing), html(legend([("denied", HOSTILE)]))]
    texts.append(html(stacked_bar([(HOSTILE, 1)], "RAM")))
    for text in texts:
        assert "<script" not in text
        assert "\x00" not in text
        assert "&lt;script&gt;" in text


def test_a_histogram_shows_rare_bins_and_survives_empty_ones() -> None:
    """Heights grow with the square root; a histogram of nothing has no bar."""
    heights = [float(bar.get("height", 0)) for bar in histogram([100, 1, 0], "", "steps")]
    assert heights == [40, 4, 0]
    assert all(bar.get("height") == "0.0" for bar in histogram([0, 0], "", "steps"))


def test_an_svg_file_carries_its_own_colours() -> None:
    """Well-formed, light and dark written out, and no rule of a mark that it does not hold."""
    text = standalone_svg(chart())
    root = ET.fromstring(text)  # noqa: S314 - our own
    style = root.findtext("{*}style") or ""
    assert root.findtext("{*}title") == "a title"
    assert "var(" not in style
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    assert ".series0 { color: #0a5ea8; }" in light
    assert ".series0 { color: #7cc0ff; }" in dark
    assert ".series1" not in style
    assert standalone_svg(chart()) == text


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("tcuq.charts", "static/charts.css"),
        ("tcuq.reports", "page.css"),
        ("tcuq.reports", "page.js"),
    ],
)
def test_pages_use_only_colours_that_exist(package: str, name: str) -> None:
    """Every colour variable in a page is defined."""
    text = resources.files(package).joinpath(name).read_text("utf-8")
    defined = {colour for colour, *_ in VARIABLE.findall(stylesheet() + text)}
    assert set(re.findall(r"""(?:var\(|")--(\w+)""", text)) <= defined


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_legible(scheme: Scheme) -> None:
    """Text has a contrast of 4.5 on pages and cards (WCAG AA), in light and dark."""
    colours = {name: _luminance(colour) for name, colour in palette(scheme).items()}
    for text in colours.keys() - {"paper", "sheet", "line", "band"}:
        for ground in ("paper", "sheet"):
            low, high = sorted((colours[text], colours[ground]))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
