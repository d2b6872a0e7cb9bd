# SPDX-License-Identifier: Apache-2.0
"""A line chart as SVG text.

Not a plotting library: its output would change with its version, and the check compares bytes.
"""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 56, 170, 16, 44
# Okabe and Ito's palette, for colour-blind readers, too; our lines are thicker.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#b8a800")
TICKS = 5
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
    """Lines over shared x values, each named at its right end."""
    low, high = y_range

    def across(value: float) -> float:
        return LEFT + (value - min(x)) / (max(x) - min(x)) * (WIDTH - LEFT - RIGHT)

    def up(value: float) -> float:
        return TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            f' font-family="sans-serif" font-size="12" fill="#888">'
        ),
        f"<title>{escape(title)}</title>",
    ]
    for number in range(TICKS + 1):
        value = low + (high - low) * number / TICKS
        parts.append(
            f'<path d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}" stroke="#8884"/>'
            f'<text x="{LEFT - 8}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.1f}</text>'
        )
    parts += [
        f'<text x="{across(place):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
        f"{place:g}</text>"
        for place in x
    ]
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(x_name)}</text>"
        f'<text transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
        f' text-anchor="middle">{escape(y_name)}</text>'
    )
    ends = _spread({name: up(values[-1]) for name, values in lines.items()})
    for number, (name, values) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in zip(x, values, strict=True))
        width = 3 if name in bold else 1.5
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>'
            f'<text x="{WIDTH - RIGHT + 8}" y="{ends[name] + 4:.1f}" fill="{colour}">'
            f"{escape(name)}</text>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _spread(places: Mapping[str, float]) -> dict[str, float]:
    """Label positions without overlap: moved down, then all up if they leave the chart."""
    order = sorted(places, key=lambda name: places[name])
    positions: dict[str, float] = {}
    last = float("-inf")
    for name in order:
        last = max(places[name], last + LABEL_GAP)
        positions[name] = last
    over = max(0.0, last - (HEIGHT - BOTTOM))
    return {name: place - over for name, place in positions.items()}
