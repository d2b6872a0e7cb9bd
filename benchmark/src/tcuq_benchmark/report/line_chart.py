# SPDX-License-Identifier: Apache-2.0
"""A line chart as SVG text, each line named at its right end."""

from collections.abc import Mapping, Sequence

from tcuq.charts import Axis, Chart, Frame, standalone_svg

FRAME = Frame(640, 360, left=50, right=150, top=30, bottom=40)
LABEL_GAP = 15


def line_chart(
    title: str,
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    *,
    x_name: str,
    y_name: str,
    bold: Sequence[str] = (),
    y_range: tuple[float, float] = (0.0, 1.0),
) -> str:
    """Draw lines over shared values of x; `bold` names those drawn thicker."""
    across = Axis(min(x), max(x), x_name, [(value, f"{value:g}") for value in x])
    up = Axis.linear(*y_range, y_name, count=5, text="{:.1f}".format)
    chart = Chart(title, across, up, FRAME)
    ends = _spread({name: chart.y_of(values[-1]) for name, values in lines.items()})
    for number, (name, values) in enumerate(lines.items()):
        kind = f"series{number}"
        chart.line(x, values, f"{kind} bold" if name in bold else kind)
        chart.margin_text(ends[name], name, kind)
    return standalone_svg(chart)


def _spread(places: Mapping[str, float]) -> dict[str, float]:
    """Label positions without overlap: moved down, then all up if they leave the chart."""
    order = sorted(places, key=lambda name: places[name])
    moved: dict[str, float] = {}
    last = float("-inf")
    for name in order:
        last = max(places[name], last + LABEL_GAP)
        moved[name] = last
    over = max(0.0, last - FRAME.base)
    return {name: place - over for name, place in moved.items()}
