# SPDX-License-Identifier: Apache-2.0
"""The Pareto front as an SVG: RAM against cost or delay; pointing at a dot shows its options."""

import math

from tcuq.charts import Axis, Chart, Frame, standalone_svg
from tcuq.tune.front import within_limits
from tcuq.tune.search import TuneResult
from tcuq.tune.trial import Trial

FRAME = Frame(640, 400, left=60, right=150, top=36, bottom=40)
LEGEND = {"candidate": "within the limits", "series0": "Pareto front", "chosen": "chosen"}
LEGEND_ROW = 18


def pareto_chart(tuned: TuneResult) -> str:
    """The candidates within the limits, the Pareto front among them, and the chosen one."""
    trials = [
        t for t in within_limits(tuned.trials, tuned.limits) if math.isfinite(_objective(tuned, t))
    ]
    trials = trials or [tuned.chosen]
    heights = {id(t): h if math.isfinite(h := _objective(tuned, t)) else 0.0 for t in trials}
    label = "cost of a step" if tuned.objective.labelled else "fastest alarm, steps"
    x = _axis([t.ram for t in trials], "RAM, bytes")
    chart = Chart(f"Candidates: {label}, by RAM", x, _axis([*heights.values()], label), FRAME)
    for kind, radius in (("candidate", 3), ("series0", 5), ("chosen", 7)):
        for trial in trials:
            if _kind(tuned, trial) == kind:
                tooltip = (
                    f"{command_line_options(trial)}:"
                    f" {trial.ram:,} bytes of RAM, {trial.flash:,} of flash"
                )
                chart.point(trial.ram, heights[id(trial)], kind, radius, tooltip)
    for row, (kind, text) in enumerate(LEGEND.items()):
        chart.margin_text(FRAME.top + LEGEND_ROW * row, f"● {text}", kind)
    return standalone_svg(chart)


def command_line_options(trial: Trial) -> str:
    """A candidate's options as the command line takes them."""
    named = {n: v for n, v in trial.options.items() if n not in ("steps_per_false_alarm", "signs")}
    named["lags"] = ",".join(map(str, trial.options["lags"]))
    return " ".join(f"--{name} {value}" for name, value in named.items())


def _kind(tuned: TuneResult, trial: Trial) -> str:
    if trial == tuned.chosen:
        return "chosen"
    return "series0" if trial in tuned.front else "candidate"


def _objective(tuned: TuneResult, trial: Trial) -> float:
    return tuned.objective.measures(trial)[0]


def _axis(values: list[float], label: str) -> Axis:
    """An axis with room around the values."""
    room = 0.06 * (max(values) - min(values)) or 1.0
    return Axis.linear(min(values) - room, max(values) + room, label)
