# SPDX-License-Identifier: Apache-2.0
"""Mistakes of the monitor: accepted errors, and drops in accuracy without an alarm."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from tcuq.charts.markup import Child, element, table
from tcuq.reports.tables import span_button
from tcuq.reports.view import View

SHOWN = 8  # rows of a list, the worst first
CONFUSIONS = 4


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive accepted steps with the same wrong prediction."""

    begin: int
    end: int
    predicted: int
    true: int
    lowest_risk: float


@dataclass(frozen=True, slots=True)
class Drop:
    """Steps at which the moving accuracy lay below its floor.

    ``nearest_alarm`` is in steps from the drop's windows: negative before them, positive after.
    """

    begin: int
    end: int
    lowest: float
    withheld: float
    nearest_alarm: int | None

    @property
    def caught(self) -> bool:
        """Whether there was an alarm within the drop's windows."""
        return self.nearest_alarm == 0


def missed_runs(view: View) -> list[Run]:
    """Every run of accepted errors, the longest first, then the lowest risk first."""
    if view.stream.labels is None:
        return []
    at, predicted, true = np.flatnonzero(view.missed), view.trace.label, view.stream.labels
    started = np.zeros(len(view.stream), np.bool_)
    started[view.stream.starts] = True
    breaks = (
        (np.diff(at) > 1)
        | (np.diff(predicted[at]) != 0)
        | (np.diff(true[at]) != 0)
        | started[at[1:]]
    )  # fmt: skip
    runs = []
    for steps in np.split(at, np.flatnonzero(breaks) + 1):
        if len(steps) == 0:
            continue
        runs.append(
            Run(
                begin=int(steps[0]),
                end=int(steps[-1]) + 1,
                predicted=int(predicted[steps[0]]),
                true=int(true[steps[0]]),
                lowest_risk=float(view.trace.risk[steps].min()),
            )
        )
    return sorted(runs, key=lambda run: (run.begin - run.end, run.lowest_risk, run.begin))


def drops(view: View) -> list[Drop]:
    """Every drop of the moving accuracy, the deepest first.

    An alarm catches a drop if it is between the first step of the drop's first window and the
    drop's last step.
    """
    low = view.accuracy < view.floor  # NaN is not low
    edges = np.flatnonzero(np.diff(np.concatenate([[False], low, [False]]).astype(np.int8)))
    result, alarms = [], np.flatnonzero(view.trace.alarm)
    for begin, end in edges.reshape(-1, 2).tolist():
        windows = slice(begin - view.window + 1, end)
        away = np.minimum(alarms - windows.start, 0) + np.maximum(alarms - (end - 1), 0)
        result.append(
            Drop(
                begin=begin,
                end=end,
                lowest=float(view.accuracy[begin:end].min()),
                withheld=float((~view.accepted[windows]).mean()),
                nearest_alarm=int(away[np.argmin(np.abs(away))]) if len(alarms) else None,
            )
        )
    return sorted(result, key=lambda drop: (drop.lowest, drop.begin))


def confusions(view: View) -> list[tuple[int, int, int]]:
    """(predicted, true, steps) of accepted errors, the most frequent first."""
    if view.stream.labels is None:
        return []
    pairs = np.stack([view.trace.label[view.missed], view.stream.labels[view.missed]])
    kinds, counts = np.unique(pairs, axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [(int(kinds[0, i]), int(kinds[1, i]), int(counts[i])) for i in order]


def missed_elements(view: View) -> Iterator[Element]:
    """The card: accepted errors beside drops in accuracy."""
    if not view.known.any():
        yield element(
            "p",
            "Unknown: the stream has no labels. An alarm says that the stream differs from the"
            " calibration stream; only labels show that a prediction is wrong.",
            class_="empty",
        )
        return
    parts = (_accepted_errors(view), _drops(view))
    yield element("div", *(element("div", *part) for part in parts), class_="pair")


def _accepted_errors(view: View) -> Iterator[Element]:
    runs = missed_runs(view)
    if not runs:
        yield element("p", "No accepted prediction was wrong.", class_="empty")
        return
    count, wrong = int(view.missed.sum()), int(view.wrong.sum())
    yield element(
        "p",
        element("strong", f"{count:,} of {wrong:,} errors were accepted"),
        f", in {len(runs):,} runs of the same error. The longest"
        f"{'' if len(runs) <= SHOWN else f' {SHOWN}'}:",
    )
    rows: list[list[Child]] = [
        [
            span_button(run.begin, run.end),
            f"{run.end - run.begin:,}",
            str(run.predicted),
            str(run.true),
            f"{run.lowest_risk:.3f}",
        ]
        for run in runs[:SHOWN]
    ]
    columns = ["at step", "length", "predicted", "true", "lowest risk"]
    yield table(columns, rows, f"Accepted errors, {view.name}")
    yield element("p", confusion_text(confusions(view)), class_="note")


def confusion_text(pairs: Sequence[tuple[int, int, int]]) -> str:
    """The most frequent confusions as a sentence."""
    shown = [
        f"predicted {predicted}, true {true} ({'once' if n == 1 else f'{n:,} times'})"
        for predicted, true, n in pairs[:CONFUSIONS]
    ]
    word = "confusion" if len(shown) == 1 else "confusions"
    return f"Most frequent {word}: {'; '.join(shown)}."


def _drops(view: View) -> Iterator[Element]:
    if np.isnan(view.floor):
        yield element(
            "p",
            f"Drops in accuracy are unknown: no {view.window} consecutive unshifted steps have"
            " enough labels to say what accuracy is usual.",
            class_="empty",
        )
        return
    every = drops(view)
    silent = [drop for drop in every if not drop.caught]
    floor = f"{view.floor:.0%}, three standard deviations below its mean without shifts"
    if not every:
        text = f"Accuracy over {view.window} steps never fell below {floor}."
        yield element("p", text, class_="empty")
        return
    yield element(
        "p",
        element("strong", drops_text(len(every), len(silent))),
        f" A drop: accuracy over {view.window} steps is below {floor}."
        " Caught: there was an alarm within the windows of the drop.",
    )
    rows: list[list[Child]] = [
        [
            span_button(drop.begin, drop.end, before=view.window - 1),
            f"{drop.lowest:.0%}",
            f"{drop.withheld:.0%}",
            _nearest(drop.nearest_alarm),
        ]
        for drop in silent[:SHOWN]
    ]
    if rows:
        columns = ["at step", "lowest accuracy", "withheld", "nearest alarm"]
        yield table(columns, rows, f"Drops in accuracy, {view.name}")
    if len(silent) > SHOWN:
        yield element("p", f"The deepest {SHOWN} of {len(silent):,}.", class_="note")


def drops_text(count: int, silent: int) -> str:
    """How many drops in accuracy were caught, as a sentence."""
    if count == 1:
        return f"The one drop in accuracy was {'not ' if silent else ''}caught."
    if silent in (0, count):
        return f"{'None' if silent else 'All'} of the {count:,} drops in accuracy were caught."
    return f"{count - silent:,} of {count:,} drops in accuracy were caught."


def _nearest(steps: int | None) -> str:
    if steps is None:
        return "–"
    return f"{abs(steps):,} steps {'before' if steps < 0 else 'after'}"
