# SPDX-License-Identifier: Apache-2.0
"""Charts as plain numbers; `charts.html` writes them as SVG, the style sheet colours them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

WIDTH, HEIGHT = 340, 172
LEFT, RIGHT, TOP, BOTTOM = 42, 8, 10, 22
Ticks = Sequence[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; `say` is what pointing at it tells, `strength` its opacity."""

    x: float
    y: float
    width: float
    height: float
    kind: str = ""
    say: str = ""
    strength: float = 1.0


@dataclass(slots=True)
class Chart:
    """A frame to draw in by values; `say` is what one hears instead of seeing it."""

    say: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_ticks: Ticks = ()
    y_ticks: Ticks = ()
    boxes: list[Box] = field(default_factory=list)
    hits: list[Box] = field(default_factory=list)
    lines: list[tuple[str, str]] = field(default_factory=list)
    dots: list[tuple[float, float, str]] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    uprights: list[float] = field(default_factory=list)
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def base(self) -> int:
        """Where the lower axis is."""
        return self.height - BOTTOM

    @property
    def left(self) -> int:
        """Where the axis of values is."""
        return LEFT

    @property
    def right(self) -> int:
        """Where the frame ends."""
        return self.width - RIGHT

    def across(self, value: float) -> float:
        """Where a value lies from the left."""
        low, high = self.x
        return round(LEFT + (value - low) / (high - low) * (self.right - LEFT), 1)

    def down(self, value: float) -> float:
        """Where a value lies from the top."""
        low, high = self.y
        return round(
            TOP + (high - min(max(value, low), high)) / (high - low) * (self.base - TOP), 1
        )

    def column(self, left: float, right: float, value: float, kind: str) -> None:
        """A bar from the axis up."""
        x, top = self.across(left), self.down(value)
        width = max(self.across(right) - x - 1, 0.8)
        self.boxes.append(Box(x, top, round(width, 1), round(self.base - top, 1), kind))

    def hit(self, left: float, right: float, say: str) -> None:
        """Where pointing tells something."""
        x = self.across(left)
        width = round(self.across(right) - x, 1)
        self.hits.append(Box(x, TOP, width, self.base - TOP, say=say))

    def line(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        """A line through values."""
        drawn = " ".join(f"{self.across(x):g},{self.down(y):g}" for x, y in points)
        self.lines.append((kind, drawn))

    def dot(self, x: float, y: float, kind: str) -> None:
        """A point."""
        self.dots.append((self.across(x), self.down(y), kind))

    def mark(self, value: float, text: str) -> None:
        """A level across the frame, its meaning beside it."""
        self.marks.append((self.down(value), text))

    def upright(self, value: float) -> None:
        """A moment, from top to bottom."""
        self.uprights.append(self.across(value))


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Round values within, about so many."""
    rough = (high - low) / count
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(n for n in (1, 2, 2.5, 5, 10) if n * power >= rough * 0.999)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [float(i * step) for i in range(int(first), int(last) + 1)]


def roof(highest: float, least: float) -> float:
    """A round value above the highest, so that refreshing rarely moves the axis."""
    top = max(highest * 1.04, least)
    power = 10.0 ** np.floor(np.log10(top))
    return float(
        power * next(n for n in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if n * power >= top)
    )
