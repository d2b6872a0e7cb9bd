# SPDX-License-Identifier: Apache-2.0
"""The charts that need no zoom, as SVG; colours come from the style sheet by class."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from tcuq.report.elements import element

Floats = NDArray[np.float64]
Ticks = Sequence[tuple[float, str]]

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 42, 20, 28, 40
CURVE_POINTS = 120
SMALLEST_SHARE = 1e-3


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a chart; ``kind`` is its class in the style sheet."""

    kind: str
    x: Floats
    y: Floats


@dataclass(slots=True)
class Chart:
    """A frame with axes, to draw in by values; `say` is what one hears instead of seeing it."""

    say: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_name: str
    y_name: str
    marks: list[Element] = field(default_factory=list)

    def across(self, value: float) -> float:
        """Where a value lies from the left."""
        low, high = self.x
        return round(LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT), 1)

    def down(self, value: float) -> float:
        """Where a value lies from the top."""
        low, high = self.y
        return round(TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    def curve(self, curve: Curve) -> None:
        """A line through its points."""
        points = " ".join(
            f"{self.across(x):g},{self.down(y):g}" for x, y in zip(curve.x, curve.y, strict=True)
        )
        self.marks.append(element("polyline", points=points, class_=f"curve {curve.kind}"))

    def dot(self, x: float, y: float, radius: float, kind: str) -> None:
        """A point with a size."""
        at = {"cx": self.across(x), "cy": self.down(y), "r": round(radius, 1)}
        self.marks.append(element("circle", class_=f"dot {kind}", **at))

    def upright(self, x: float, text: str) -> None:
        """A line from top to bottom, its meaning beside it."""
        at, base = self.across(x), HEIGHT - BOTTOM
        right = at > WIDTH - RIGHT - 90
        self.marks.append(element("line", x1=at, x2=at, y1=TOP, y2=base, class_="mark"))
        self.marks.append(
            element(
                "text", text, x=at - 4 if right else at + 4, y=base - 7, class_="marktext",
                text_anchor="end" if right else "start",
            )
        )  # fmt: skip

    def drawn(self, x_ticks: Ticks, y_ticks: Ticks) -> Element:
        """The chart with its axes."""
        base, end = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts: list[Element] = []
        for value, text in y_ticks:
            at = self.down(value)
            parts.append(element("line", x1=LEFT, x2=end, y1=at, y2=at, class_="rule"))
            parts.append(element("text", text, x=LEFT - 6, y=at + 4, text_anchor="end"))
        for value, text in x_ticks:
            at = self.across(value)
            parts.append(element("line", x1=at, x2=at, y1=base, y2=base + 4, class_="axis"))
            parts.append(element("text", text, x=at, y=base + 17, text_anchor="middle"))
        middle = (LEFT + end) / 2
        parts.append(element("line", x1=LEFT, x2=end, y1=base, y2=base, class_="axis"))
        parts.append(element("text", self.x_name, x=middle, y=HEIGHT - 5, text_anchor="middle"))
        parts.append(element("text", self.y_name, x=0, y=11))
        box = f"0 0 {WIDTH} {HEIGHT}"
        return element("svg", *parts, *self.marks, viewBox=box, role="img", aria_label=self.say)


def survival(values: Floats) -> tuple[Floats, Floats]:
    """Some of the values, ascending, and the share of values that are at least as high."""
    ordered = np.sort(values)
    shares = np.geomspace(1 / len(ordered), 1, CURVE_POINTS)
    even = np.linspace(0, len(ordered) - 1, CURVE_POINTS)
    ranks = np.unique(np.concatenate([len(ordered) * (1 - shares), even]).astype(np.int64))
    points = ordered[ranks]
    return points, 1 - np.searchsorted(ordered, points, side="left") / len(ordered)


def tail_chart(
    name: str, say: str, curves: Sequence[tuple[str, Floats, Floats]], mark: float | None = None
) -> Element:
    """Shares of steps at or above a value, on a log scale: where a distribution's tail shows."""
    low = min(float(x[0]) for _, x, _ in curves)
    high = max(float(x[-1]) for _, x, _ in curves)
    high = high if high > low else low + 1
    chart = Chart(
        say, (low, high), (np.log10(SMALLEST_SHARE), 0), name, "share of steps at or above"
    )
    for kind, x, share in curves:
        kept = share >= SMALLEST_SHARE
        chart.curve(Curve(kind, x[kept], np.log10(share[kept])))
    if mark is not None and low <= mark <= high:
        chart.upright(mark, "calibrated")
    powers = range(int(np.log10(SMALLEST_SHARE)), 1)
    return chart.drawn(ticks(low, high), [(p, f"{100 * 10.0**p:g}%") for p in powers])


def share_chart(
    say: str, x_name: str, y_name: str, top: float, draw: Callable[[Chart], None]
) -> Element:
    """Shares against shares, in percent."""
    chart = Chart(say, (0, 1), (0, top), x_name, y_name)
    draw(chart)
    percent = [(v, f"{100 * v:g}%") for v in (0, 0.25, 0.5, 0.75, 1)]
    return chart.drawn(percent, [(v, f"{100 * v:.3g}%") for v, _ in ticks(0, top)])


def ticks(low: float, high: float, count: int = 4) -> list[tuple[float, str]]:
    """Round values within, about so many."""
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(n for n in (1, 2, 2.5, 5, 10) if n * power >= rough * 0.999)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [(float(i * step), f"{i * step:.6g}") for i in range(int(first), int(last) + 1)]


def bar(parts: Sequence[tuple[str, int]], say: str) -> Element:
    """Parts of a whole, side by side."""
    whole, begin, pieces = sum(n for _, n in parts), 0.0, []
    for index, (_, count) in enumerate(parts):
        width = 1000 * count / whole
        pieces.append(
            element("rect", x=f"{begin:.1f}", width=f"{width - 2:.1f}", height=20,
                    class_=f"part part{index}")
        )  # fmt: skip
        begin += width
    box = {"viewBox": "0 0 1000 20", "preserveAspectRatio": "none"}
    return element("svg", *pieces, role="img", aria_label=say, class_="bar", **box)
