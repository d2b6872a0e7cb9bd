# SPDX-License-Identifier: Apache-2.0
"""Internal chart kit: SVG charts for the report, the dashboard, `tune`, `replay` and the docs.

Colours are CSS variables in static/charts.css, light and dark; a mark's class picks one.
"""

from tcuq.charts.axis import Axis, ceiling
from tcuq.charts.bars import Legend, histogram, legend, stacked_bar
from tcuq.charts.chart import Chart, Frame
from tcuq.charts.style import palette, standalone_svg, stylesheet

__all__ = [
    "Axis", "Chart", "Frame", "Legend", "ceiling", "histogram", "legend", "palette", "stacked_bar",
    "standalone_svg", "stylesheet",
]  # fmt: skip
