# SPDX-License-Identifier: Apache-2.0
"""An evaluation as a table of text, at most 80 columns wide, and as JSON values."""

import math
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from tcuq.evaluation.bootstrap import Interval
from tcuq.evaluation.evaluation import Evaluation
from tcuq.evaluation.run import Measure

COLUMNS = 80
MONITOR_BASELINES = ("softmax", "always", "never", "random")
CLASSIFIER_BASELINES = ("uniform",)


def lines(evaluation: Evaluation) -> Iterator[str]:
    """One sentence, one row per measure, then notes and why an interval is missing."""
    classifier = [m for m in evaluation.measures if set(m.baselines) <= set(CLASSIFIER_BASELINES)]
    monitor = [m for m in evaluation.measures if m not in classifier]
    yield from wrap(evaluation.comparison.sentence, COLUMNS)
    yield ""
    yield from _table("measure", monitor, MONITOR_BASELINES)
    if classifier:
        yield ""
        yield from _table("classifier's probabilities", classifier, CLASSIFIER_BASELINES)
    yield ""
    for note in notes(evaluation):
        yield from wrap(note, COLUMNS, subsequent_indent="  ")


def notes(evaluation: Evaluation) -> Iterator[str]:
    """The notes of the measures, then why an interval is missing, one line per reason."""
    reasons: dict[str, list[str]] = {}
    for measure in evaluation.measures:
        if measure.note:
            yield f"{measure.name}: {measure.note}"
        if measure.interval.reason:
            reasons.setdefault(measure.interval.reason, []).append(measure.name)
    for reason, names in reasons.items():
        yield f"– no interval: {reason} ({'; '.join(names)})"


def _table(title: str, measures: Sequence[Measure], baselines: Sequence[str]) -> Iterator[str]:
    yield f"{title:<26}{'value':>7}  {'95% interval':<17}" + "".join(f"{n:>7}" for n in baselines)
    for measure in measures:
        cells = "".join(
            f"{short(measure.baselines[name]) if name in measure.baselines else '':>7}"
            for name in baselines
        )
        interval = interval_text(measure.interval)
        yield f"{measure.name:<26}{short(measure.value):>7}  {interval:<17}{cells}".rstrip()


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as JSON values; null where a number is not finite."""
    return {
        "summary": evaluation.comparison.sentence,
        "measures": {measure.name: _measure_as_json(measure) for measure in evaluation.measures},
        "risk_coverage": [list(point) for point in evaluation.risk_coverage],
    }


def _measure_as_json(measure: Measure) -> dict[str, Any]:
    interval = measure.interval
    return {
        "value": _finite(measure.value),
        "interval": [_finite(interval.low), _finite(interval.high)],
        "reason": interval.reason,
        "baselines": {name: _finite(value) for name, value in measure.baselines.items()},
        "note": measure.note,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def interval_text(interval: Interval) -> str:
    """The interval's ends, or a dash."""
    return "–" if interval.reason else f"{short(interval.low)} to {short(interval.high)}"


def short(value: float) -> str:
    """A number in at most seven characters; a dash for none."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    if abs(value) >= 1e6:
        return f"{value / 1e6:.4g}M"
    if abs(value) >= 100 or value == round(value):
        return f"{value:,.0f}"
    if abs(value) >= 1:
        return f"{value:.4g}"
    return f"{value:.4f}".rstrip("0") if abs(value) >= 5e-5 else f"{value:.0e}"
