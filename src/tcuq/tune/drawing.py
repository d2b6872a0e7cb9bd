# SPDX-License-Identifier: Apache-2.0
"""The Pareto front as a picture: an SVG by hand, since dots and two axes need no plotting library.

Across RAM, up what counts first; a dot's options appear when it is pointed at.
"""

import math
from collections.abc import Iterator
from html import escape

from tcuq.tune.front import kept
from tcuq.tune.trial import Trial
from tcuq.tune.tuning import Tuned

WIDTH, HEIGHT, MARGIN = 640, 400, 64
DIMMED, FRONT, CHOSEN = "#b8bfc6", "#1f6feb", "#d1242f"
STYLE = "font-family='sans-serif' font-size='13' fill='#57606a'"


def drawing(tuned: Tuned) -> str:
    """The candidates that keep the limits, the front among them, and the chosen one."""
    dots = [t for t in kept(tuned.trials, tuned.limits) if math.isfinite(_height(tuned, t))]
    dots = dots or [tuned.chosen]
    place = _Place(
        [float(t.ram) for t in dots],
        [_height(tuned, t) if math.isfinite(_height(tuned, t)) else 0.0 for t in dots],
    )
    front = [t for t in tuned.front if t in dots]
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' {STYLE}>",
            f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>",
            *_axes(place, "cost of a step" if tuned.judge.labelled else "fastest alarm, steps"),
            *(_dot(place, tuned, t, DIMMED, 3) for t in dots if t not in front),
            *(_dot(place, tuned, t, FRONT, 5) for t in front if t is not tuned.chosen),
            _dot(place, tuned, tuned.chosen, CHOSEN, 7),
            "</svg>",
            "",
        ]
    )


def said_options(trial: Trial) -> str:
    """A candidate's options as the command line takes them."""
    named = {n: v for n, v in trial.options.items() if n not in ("steps_per_false_alarm", "signs")}
    named["lags"] = ",".join(map(str, trial.options["lags"]))
    return " ".join(f"--{name} {value}" for name, value in named.items())


class _Place:
    """From values to points of the picture."""

    def __init__(self, across: list[float], up: list[float]) -> None:
        self.across, self.up = _span(across), _span(up)

    def x(self, value: float) -> float:
        low, high = self.across
        return MARGIN + (value - low) / (high - low) * (WIDTH - 2 * MARGIN)

    def y(self, value: float) -> float:
        low, high = self.up
        share = (value - low) / (high - low) if math.isfinite(value) else 0.0
        return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)


def _span(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 1, high + 1)


def _height(tuned: Tuned, trial: Trial) -> float:
    return tuned.judge.measures(trial)[0]


def _axes(place: _Place, title: str) -> Iterator[str]:
    left, bottom, right = MARGIN - 12, HEIGHT - MARGIN + 12, WIDTH - MARGIN + 12
    yield f"<path d='M{left} {MARGIN - 12}V{bottom}H{right}' fill='none' stroke='#57606a'/>"
    yield _text(left, MARGIN - 24, "start", title)
    yield _text(right, bottom + 36, "end", "RAM, bytes")
    for value in place.across:
        yield _text(place.x(value), bottom + 18, "middle", f"{value:,.0f}")
    for value in place.up:
        yield _text(left - 6, place.y(value) + 4, "end", f"{value:,.3g}")


def _text(x: float, y: float, anchor: str, said: str) -> str:
    return f"<text x='{x:.0f}' y='{y:.0f}' text-anchor='{anchor}'>{said}</text>"


def _dot(place: _Place, tuned: Tuned, trial: Trial, colour: str, radius: int) -> str:
    x, y = place.x(trial.ram), place.y(_height(tuned, trial))
    said = f"{said_options(trial)}: {trial.ram:,} bytes of RAM, {trial.flash:,} of flash"
    return (
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='{colour}'>"
        f"<title>{escape(said)}</title></circle>"
    )
