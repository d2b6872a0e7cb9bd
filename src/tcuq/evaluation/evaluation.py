# SPDX-License-Identifier: Apache-2.0
"""Evaluate: run a profile over a recorded stream; its measures, as text and as JSON values."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from tcuq.decision import Trace
from tcuq.errors import InputError
from tcuq.evaluation.bootstrap import Interval
from tcuq.evaluation.failures import (
    classifier_measures,
    drop_measures,
    failure_measures,
    rate_measures,
    withheld_measures,
)
from tcuq.evaluation.measures import risk_coverage
from tcuq.evaluation.run import EvaluatedRun, Measure
from tcuq.evaluation.selection import Comparison, compare
from tcuq.evaluation.shifts import alarm_measures, shift_measures
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.progress import Progress
from tcuq.stream import Stream, require_stream

MOST_MEASURES = 22
COLUMNS = 80
MONITOR_BASELINES = ("softmax", "scaled", "outputs", "always", "never")
CLASSIFIER_BASELINES = ("uniform",)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All measures of one profile on one stream.

    ``risk_coverage`` holds curves of (coverage, error among the steps covered) where there are
    labels: of the monitor, which covers the least risky steps first, and of its rivals, which
    cover those they are surest of; ``comparison`` sets them side by side at equal coverage.
    """

    measures: tuple[Measure, ...]
    risk_coverage: Mapping[str, tuple[tuple[float, float], ...]]
    comparison: Comparison
    trace: Trace

    def __getitem__(self, name: str) -> Measure:
        by_name = {measure.name: measure for measure in self.measures}
        return by_name[name]


def evaluate(
    profile: Profile, stream: Stream, *, window: int = 100, rounds: int = 200, seed: int = 0
) -> Evaluation:
    """Run a profile over a recorded stream and measure its decisions.

    The stream is run once, from start to end; history is forgotten where a recording starts.
    Measures that need labels or `shifted` are left out of streams without them.

    Parameters
    ----------
    profile, stream
        The profile to evaluate, and the stream to run it on.
    window
        Steps of the moving accuracy whose drops are to be noticed (the paper's m).
    rounds
        Bootstrap rounds for the confidence intervals; 0 for none.
    seed
        Of the bootstrap.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> evaluation = evaluate(demo_profile(), demo_stream("test"), rounds=0)
    >>> evaluation["failure AUROC"].value > 0.8
    True
    """
    require_stream(stream, "stream")
    for name, value, least in (("window", window, 1), ("rounds", rounds, 0), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"{name} must be at least {least}, got {value}")
    with Progress("steps", total=len(stream)) as progress:
        trace = Monitor(profile).run(stream, progress=progress.advance)
    rng = np.random.default_rng(seed)
    run = EvaluatedRun.of(profile, stream, trace, window=window, rounds=rounds, rng=rng)
    measures = []
    with Progress("measures", total=MOST_MEASURES) as progress:
        for measure in _measures(run):
            measures.append(measure)
            progress.advance()
    comparison = compare(profile, stream, trace, rounds=rounds, seed=seed)
    return Evaluation(tuple(measures), _risk_coverage(run), comparison, trace)


def _measures(run: EvaluatedRun) -> Iterator[Measure]:
    yield from withheld_measures(run)
    if run.known.any():
        yield from failure_measures(run)
        yield from drop_measures(run)
    if run.shifted.any():
        yield from shift_measures(run)
    yield from alarm_measures(run)
    yield from rate_measures(run)
    if run.known.any():
        yield from classifier_measures(run)


def _risk_coverage(run: EvaluatedRun) -> dict[str, tuple[tuple[float, float], ...]]:
    if not run.known.any():
        return {}
    orders = {"monitor": run.trace.risk, **run.doubts}
    curves = {
        name: risk_coverage(run.wrong[run.known], values[run.known])
        for name, values in orders.items()
    }
    return {name: tuple(zip(*map(np.ndarray.tolist, c), strict=True)) for name, c in curves.items()}


def lines(evaluation: Evaluation) -> Iterator[str]:
    """One sentence, one row per measure, then notes and why an interval is missing."""
    classifier = [m for m in evaluation.measures if set(m.baselines) <= set(CLASSIFIER_BASELINES)]
    monitor = [m for m in evaluation.measures if m not in classifier]
    yield from wrap(evaluation.comparison.sentence, COLUMNS)
    yield ""
    scored = {name for measure in monitor for name in measure.baselines}
    yield from _table("measure", monitor, [name for name in MONITOR_BASELINES if name in scored])
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
        "risk_coverage": {
            name: [list(point) for point in curve]
            for name, curve in evaluation.risk_coverage.items()
        },
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
