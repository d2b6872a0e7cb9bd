# SPDX-License-Identifier: Apache-2.0
"""A line chart as SVG text; its legend is in the order in which the lines end."""

from collections.abc import Mapping, Sequence

from tcuq.charts import Axis, Chart, Frame, standalone_svg

FRAME = Frame(640, 360, left=50, right=150, top=30, bottom=40)
LEGEND_ROW = 18


def line_chart(
    title: str, x: Axis, y: Axis, lines: Mapping[str, Sequence[float]], bold: Sequence[str] = ()
) -> str:
    """Draw lines over the ticks of x; `bold` names those drawn thicker."""
    chart, xs = Chart(title, x, y, FRAME), [value for value, _ in x.ticks]
    kinds = {name: f"series{number}" for number, name in enumerate(lines)}
    for name, values in lines.items():
        chart.line(xs, values, f"{kinds[name]} bold" if name in bold else kinds[name])
    for row, name in enumerate(sorted(lines, key=lambda name: -lines[name][-1])):
        chart.margin_text(FRAME.top + LEGEND_ROW * row, f"● {name}", kinds[name])
    return standalone_svg(chart)
