# SPDX-License-Identifier: Apache-2.0
"""What the monitor would have missed: accepted errors, and drops in accuracy without an alarm."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq.report.view import View

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive accepted steps with the same wrong prediction."""

    begin: int
    end: int
    said: int
    truth: int
    lowest_risk: float


@dataclass(frozen=True, slots=True)
class Drop:
    """Steps over which the moving accuracy lay under its floor.

    ``nearest_alarm`` is in steps from the drop's windows: negative before them, positive after.
    """

    begin: int
    end: int
    lowest: float
    asked: float
    nearest_alarm: int | None

    @property
    def alarmed(self) -> bool:
        """Whether an alarm came within the drop's windows."""
        return self.nearest_alarm == 0


def missed_runs(view: View) -> list[Run]:
    """Every run of accepted errors, the longest first, of equal ones the least suspected."""
    if view.stream.labels is None:
        return []
    at, said, truth = np.flatnonzero(view.missed), view.trace.label, view.stream.labels
    started = np.zeros(len(view.stream), np.bool_)
    started[view.stream.starts] = True
    breaks = (
        (np.diff(at) > 1)
        | (np.diff(said[at]) != 0)
        | (np.diff(truth[at]) != 0)
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
                said=int(said[steps[0]]),
                truth=int(truth[steps[0]]),
                lowest_risk=float(view.trace.risk[steps].min()),
            )
        )
    return sorted(runs, key=lambda run: (run.begin - run.end, run.lowest_risk, run.begin))


def drops(view: View) -> list[Drop]:
    """Every drop of the moving accuracy, the deepest first.

    An alarm speaks of a drop if it comes between the first step of the drop's first window and the
    drop's last step; any other is at best near it.
    """
    low = view.accuracy < view.floor  # NaN is not low
    edges = np.flatnonzero(np.diff(np.concatenate([[False], low, [False]]).astype(np.int8)))
    found, alarms = [], np.flatnonzero(view.trace.alarm)
    for begin, end in edges.reshape(-1, 2).tolist():
        seen = slice(begin - view.window + 1, end)
        away = np.minimum(alarms - seen.start, 0) + np.maximum(alarms - (end - 1), 0)
        found.append(
            Drop(
                begin=begin,
                end=end,
                lowest=float(view.accuracy[begin:end].min()),
                asked=float((~view.accepted[seen]).mean()),
                nearest_alarm=int(away[np.argmin(np.abs(away))]) if len(alarms) else None,
            )
        )
    return sorted(found, key=lambda drop: (drop.lowest, drop.begin))


def confusions(view: View) -> list[tuple[int, int, int]]:
    """(said, truth, steps) among accepted errors, the most frequent first."""
    if view.stream.labels is None:
        return []
    pairs = np.stack([view.trace.label[view.missed], view.stream.labels[view.missed]])
    kinds, counts = np.unique(pairs, axis=1, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [(int(kinds[0, i]), int(kinds[1, i]), int(counts[i])) for i in order]
