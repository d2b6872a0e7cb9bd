# SPDX-License-Identifier: Apache-2.0
"""Evaluate: run a profile over a recorded stream and measure its decisions."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tcuq.decision import Trace
from tcuq.errors import InputError
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

MOST_MEASURES = 21


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All measures of one profile on one stream.

    ``risk_coverage`` holds (coverage, error among the least risky steps covered) where there are
    labels; ``comparison`` sets the monitor beside a softmax threshold.
    """

    measures: tuple[Measure, ...]
    risk_coverage: tuple[tuple[float, float], ...]
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
        Of the bootstrap and the random baseline.

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
    return Evaluation(tuple(measures), _risk_coverage(run), compare(profile, stream, trace), trace)


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


def _risk_coverage(run: EvaluatedRun) -> tuple[tuple[float, float], ...]:
    if not run.known.any():
        return ()
    coverage, error = risk_coverage(run.wrong[run.known], run.trace.risk[run.known])
    return tuple(zip(coverage.tolist(), error.tolist(), strict=True))
