# SPDX-License-Identifier: Apache-2.0
"""A chart with two axes; a mark's `kind` is its class in charts.css, which gives its colour."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, tostring

from tcuq.charts.axis import Axis
from tcuq.charts.markup import element

LETTER = 6.2  # mean width of a digit or letter, in units of the view box
NARROWEST_BAR = 0.8


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of a chart and the margins around its plot area."""

    width: int = 360
    height: int = 250
    left: int = 42
    right: int = 20
    top: int = 28
    bottom: int = 40

    @property
    def base(self) -> int:
        """The lower edge of the plot area."""
        return self.height - self.bottom

    @property
    def end(self) -> int:
        """The right edge of the plot area."""
        return self.width - self.right


@dataclass(slots=True)
class Chart:
    """A chart drawn by values; `title` is its accessible name.

    Areas lie under the axis and the other marks, tooltips over everything.
    """

    title: str
    x: Axis
    y: Axis
    frame: Frame = Frame()
    areas: list[Element] = field(default_factory=list)
    marks: list[Element] = field(default_factory=list)
    tooltips: list[Element] = field(default_factory=list)

    def x_of(self, value: float) -> float:
        """Distance of a value from the left edge."""
        frame = self.frame
        return round(frame.left + self.x.share(value) * (frame.end - frame.left), 1)

    def y_of(self, value: float) -> float:
        """Distance of a value from the upper edge."""
        frame = self.frame
        return round(frame.base - self.y.share(value) * (frame.base - frame.top), 1)

    def line(self, xs: Iterable[float], ys: Iterable[float], kind: str) -> None:
        """Connect points."""
        pairs = zip(xs, ys, strict=True)
        points = " ".join(f"{self.x_of(x):g},{self.y_of(y):g}" for x, y in pairs)
        self.marks.append(element("polyline", points=points, class_=f"line {kind}"))

    def point(self, x: float, y: float, kind: str, radius: float = 3, tooltip: str = "") -> None:
        """Draw a dot."""
        title = element("title", tooltip) if tooltip else None
        at = {"cx": self.x_of(x), "cy": self.y_of(y), "r": round(radius, 1)}
        self.marks.append(element("circle", title, class_=f"point {kind}".strip(), **at))

    def bar(self, left: float, right: float, value: float, kind: str) -> None:
        """Draw a bar from the lower axis up to a value, with a gap to the next."""
        x, y = self.x_of(left), self.y_of(value)
        width = max(self.x_of(right) - x - 1, NARROWEST_BAR)
        self.areas.append(
            _rectangle(x, y, width, self.frame.base - y, class_=f"column {kind}".strip())
        )

    def cell(self, left: float, right: float, low: float, high: float, opacity: float) -> None:
        """Draw a cell of a heat map; neighbours overlap a little, so that no seam shows."""
        x, y = self.x_of(left), self.y_of(high)
        width, height = self.x_of(right) - x + 0.2, self.y_of(low) - y + 0.2
        self.areas.append(_rectangle(x, y, width, height, class_="cell", fill_opacity=opacity))

    def horizontal(self, y: float, text: str) -> None:
        """Draw a dashed reference line at a value of y, with its meaning."""
        at, frame = self.y_of(y), self.frame
        self.marks.append(_line(frame.left, frame.end, at, at, "reference"))
        below = at < frame.top + 10
        place = {"x": frame.left + 4, "y": at + 12 if below else at - 4}
        self.marks.append(element("text", text, class_="reference", **place))

    def vertical(self, x: float, text: str = "", kind: str = "reference") -> None:
        """Draw a dashed line at a value of x, with its meaning if there is one."""
        at, frame = self.x_of(x), self.frame
        self.marks.append(_line(at, at, frame.top, frame.base, kind))
        if text:
            left = at + 4 + LETTER * len(text) > frame.width
            place = {"x": at - 4 if left else at + 4, "y": frame.base - 7}
            anchor = "end" if left else "start"
            self.marks.append(element("text", text, class_=kind, text_anchor=anchor, **place))

    def margin_text(self, position: float, text: str, kind: str) -> None:
        """Write beside the plot area, at a distance from the upper edge."""
        place = {"x": self.frame.end + 8, "y": round(position + 4, 1)}
        self.marks.append(element("text", text, class_=f"name {kind}", **place))

    def tooltip(self, left: float, right: float, text: str) -> None:
        """Show a tooltip wherever the pointer is between two values of x."""
        x, frame = self.x_of(left), self.frame
        width, height = self.x_of(right) - x, frame.base - frame.top
        self.tooltips.append(
            _rectangle(x, frame.top, width, height, class_="tooltip", data_label=text)
        )

    def svg(self) -> Element:
        """The chart as an element."""
        parts = [*self._rules(), *self.areas, *self._baseline(), *self.marks, *self.tooltips]
        described = element("desc", f"Horizontal axis: {self.x}. Vertical axis: {self.y}.")
        box = f"0 0 {self.frame.width} {self.frame.height}"
        named = {"role": "img", "aria_label": self.title}
        return element("svg", described, *parts, viewBox=box, class_="plot", **named)

    def __html__(self) -> str:
        """The chart as a template includes it, escaped already."""
        return tostring(self.svg(), encoding="unicode")

    def _rules(self) -> Iterator[Element]:
        frame = self.frame
        for value, text in self.y.ticks:
            at = self.y_of(value)
            yield _line(frame.left, frame.end, at, at, "rule")
            yield element("text", text, x=frame.left - 6, y=at + 4, text_anchor="end")
        if self.y.label:
            yield element("text", self.y.label, x=frame.left - 42, y=11)

    def _baseline(self) -> Iterator[Element]:
        frame = self.frame
        yield _line(frame.left, frame.end, frame.base, frame.base, "axis")
        for value, text in self.x.ticks:
            at, half = self.x_of(value), LETTER * len(text) / 2
            yield _line(at, at, frame.base, frame.base + 4, "axis")
            inside = round(min(at, frame.width - half), 1)
            yield element("text", text, x=inside, y=frame.base + 17, text_anchor="middle")
        if self.x.label:
            middle = (frame.left + frame.end) / 2
            yield element("text", self.x.label, x=middle, y=frame.height - 5, text_anchor="middle")


def _line(x1: float, x2: float, y1: float, y2: float, kind: str) -> Element:
    return element("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=kind)


def _rectangle(x: float, y: float, width: float, height: float, **attributes: object) -> Element:
    size = {"width": round(width, 1), "height": round(height, 1)}
    return element("rect", x=x, y=y, **size, **attributes)
