# SPDX-License-Identifier: Apache-2.0
"""Tables of the page, and the button that shows a span of the timeline."""

import math
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from tcuq.charts.markup import Child, element, table
from tcuq.evaluation.evaluation import interval_text, notes, short
from tcuq.evaluation.selection import Rival, percent
from tcuq.profile.settings import HealthSettings
from tcuq.reports.view import View

RIVALS = {
    "softmax": "softmax threshold",
    "scaled": "softmax after temperature scaling",
    "outputs": "limit on the outputs alone",
}
MARGIN = 40  # steps shown on either side of the span
Floats = NDArray[np.float64]
Group = tuple[str, str, NDArray[np.bool_]]  # class of its marks, name, steps


def span_button(begin: int, end: int, text: str = "", before: int = 0) -> Element:
    """A button that shows steps begin..end-1 in the timeline, and some steps before them."""
    steps = f"{begin:,}" if end == begin + 1 else f"{begin:,}–{end - 1:,}"
    return element(
        "button",
        text or steps,
        type="button",
        class_="go",
        data_from=begin - before - MARGIN,
        data_to=end + MARGIN,
    )


def selection_table(views: Sequence[View]) -> Element:
    """Coverage and error among accepted: the monitor, its rivals at equal coverage, no monitor."""
    alone = len(views) == 1
    rows: list[list[Child]] = []
    for view in views:
        comparison = view.evaluation.comparison
        coverage, of = percent(comparison.coverage), "" if alone else f" as {view.name}"
        rows.append(["monitor" if alone else view.name, coverage, _error(comparison.error), "–"])
        for name, rival in comparison.rivals.items():
            gap = "–" if rival.interval.reason else _points(rival)
            rows.append([f"{RIVALS[name]}{of}", coverage, _error(rival.error), gap])
    known = views[0].known
    error = float(views[0].wrong[known].mean()) if known.any() else math.nan
    rows.append(["no monitor", percent(1.0), _error(error), "–"])
    columns = ["method", "coverage", "error among accepted", "monitor minus this, in points"]
    return table(columns, rows, "The monitor and its baselines, at equal coverage")


def _error(error: float) -> str:
    return "–" if math.isnan(error) else percent(error)


def _points(rival: Rival) -> Element:
    low, high = 100 * rival.interval.low, 100 * rival.interval.high
    return figure(f"{100 * rival.gap:+.1f}", f"{low:+.1f} to {high:+.1f}")


def measures_table(views: Sequence[View]) -> Iterator[Element]:
    """Every measure with its interval; with one profile also its baselines and notes."""
    alone = len(views) == 1
    names = list(dict.fromkeys(m.name for view in views for m in view.evaluation.measures))
    rows: list[list[Child]] = []
    for name in names:
        row: list[Child] = [name]
        for view in views:
            measure = {m.name: m for m in view.evaluation.measures}.get(name)
            row.append(
                "–"
                if measure is None
                else figure(short(measure.value), interval_text(measure.interval))
            )
        if alone:
            baselines = views[0].evaluation[name].baselines
            known = {word: v for word, v in baselines.items() if not math.isnan(v)}
            row.append(", ".join(f"{word} {short(v)}" for word, v in known.items()))
        rows.append(row)
    if not alone:
        yield table(["measure", *(view.name for view in views)], rows, "Measures by name")
        return
    yield table(["measure", "value", "baselines"], rows, "Measures by name", "measures")
    for note in notes(views[0].evaluation):
        yield element("p", note, class_="note")


def figure(value: str, more: str) -> Element:
    """A figure with a remark."""
    return element("span", value, element("small", f" {more}"), class_="value")


def health_table(view: View, groups: Sequence[Group]) -> Element:
    """Return mean and standard deviation of each statistic, in calibration and in each group."""
    reference, values = view.profile.signals.health, view.stream.health
    assert reference is not None  # noqa: S101 - the caller has health; for the type checker
    assert values is not None  # noqa: S101
    rows = [
        _row(reference, number, [values[at, number] for _, _, at in groups])
        for number in range(len(reference.names))
    ]
    columns = ["statistic of the input", "calibration", *(name for _, name, _ in groups)]
    return table(columns, rows, f"Input health, {view.name}")


def _row(reference: HealthSettings, number: int, columns: Sequence[Floats]) -> list[Child]:
    calibrated = _spread(reference.means[number], reference.scales[number])
    observed = (_spread(float(column.mean()), float(column.std())) for column in columns)
    return [reference.names[number], calibrated, *observed]


def _spread(mean: float, deviation: float) -> str:
    return f"{mean:.2f} ± {deviation:.2f}"
