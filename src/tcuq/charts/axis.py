# SPDX-License-Identifier: Apache-2.0
"""Axes: the range of values along one side of a chart, its ticks and its label."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

Ticks = Sequence[tuple[float, str]]

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
TIME_STEPS_S = (
    *(n * MINUTE_S for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR_S for n in (1, 2, 3, 6, 12)),
)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values with labelled ticks."""

    low: float
    high: float
    label: str = ""
    ticks: Ticks = ()

    @classmethod
    def linear(
        cls,
        low: float,
        high: float,
        label: str = "",
        *,
        count: int = 4,
        text: Callable[[float], str] = "{:.6g}".format,
    ) -> "Axis":
        """An axis with about `count` ticks at round values."""
        return cls(low, high, label, [(v, text(v)) for v in _round_values(low, high, count)])

    @classmethod
    def time(cls, begin_s: float, end_s: float, label: str = "time, UTC", count: int = 6) -> "Axis":
        """An axis of POSIX seconds: ticks at whole minutes, hours or days, midnights as dates."""
        rough = (end_s - begin_s) / count
        whole_days = DAY_S * math.ceil(rough / DAY_S)
        step = next((s for s in TIME_STEPS_S if s >= rough), whole_days)
        values = range(math.ceil(begin_s / step) * step, math.floor(end_s) + 1, step)
        return cls(begin_s, end_s, label, [(v, _time_text(v)) for v in values])

    def share(self, value: float) -> float:
        """Return where a value lies between low (0) and high (1)."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        """The axis in words, for a description."""
        ends = f"{self.ticks[0][1]} to {self.ticks[-1][1]}" if self.ticks else ""
        return ", ".join(part for part in (self.label, ends) if part)


def ceiling(highest: float, least: float) -> float:
    """A round value above the highest, so that refreshing rarely moves the axis."""
    top = max(highest * 1.04, least)
    power = 10.0 ** math.floor(math.log10(top))
    return power * next(n for n in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if n * power >= top)


def _round_values(low: float, high: float, count: int) -> list[float]:
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(n for n in (1, 2, 2.5, 5, 10) if n * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def _time_text(seconds: int) -> str:
    when = datetime.fromtimestamp(seconds, UTC)
    return f"{when:%H:%M}" if seconds % DAY_S else f"{when:%-d %b}"
