# SPDX-License-Identifier: Apache-2.0
"""Evaluate: a profile on a recorded stream, every measure with an interval and its dummies."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tcuq._autocorrelation import autocorrelation_time
from tcuq._progress import Progress
from tcuq.decision import Trace, joined_traces
from tcuq.errors import InputError
from tcuq.evaluate import measures as m
from tcuq.evaluate.bootstrap import block_interval
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.settings import ALPHA_BITS, TOKEN
from tcuq.stages.budget import Outcome
from tcuq.stages.inputs import Inputs
from tcuq.stream import Stream

Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Engine = type[Monitor]

RATE_WINDOW = 1000
BLOCK_TIMES = 4  # a bootstrap block is this many autocorrelation times of the risk
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Measure:
    """A value, its 95 % interval, and what monitors that know nothing would have scored."""

    name: str
    value: float
    low: float
    high: float
    dummies: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All measures of one profile on one stream.

    ``risk_coverage`` holds (coverage, error among the least risky steps covered) where there are
    labels.
    """

    measures: tuple[Measure, ...]
    risk_coverage: tuple[tuple[float, float], ...]
    trace: Trace

    def __getitem__(self, name: str) -> Measure:
        by_name = {measure.name: measure for measure in self.measures}
        return by_name[name]


def evaluate(
    profile: Profile,
    stream: Stream,
    *,
    window: int = 100,
    rounds: int = 200,
    seed: int = 0,
    engine: Engine = Monitor,
) -> Evaluation:
    """Run a profile over a recorded stream and measure what it did.

    Without labels or without `shifted`, the measures that need them are left out.

    Parameters
    ----------
    profile, stream
        What is evaluated, on what.
    window
        Steps of the moving accuracy whose drops are to be noticed (the paper's m).
    rounds
        Bootstrap rounds for the intervals; 0 for none.
    seed
        Of the bootstrap and the random dummy.
    engine
        What decides.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> found = evaluate(demo_profile(), demo_stream("test"), rounds=0)
    >>> found["failure AUROC"].value > 0.8
    True
    """
    for name, value, least in (("window", window, 1), ("rounds", rounds, 0), ("seed", seed, 0)):
        if value < least:
            raise InputError(f"{name} must be at least {least}, got {value}")
    trace = run_serviced(profile, stream, engine)
    bench = _Bench(
        profile, stream, trace, window=window, rounds=rounds, rng=np.random.default_rng(seed)
    )
    found = []
    with Progress("measures", total=18) as progress:
        for measure in bench.measures():
            found.append(measure)
            progress.advance()
    return Evaluation(tuple(found), bench.risk_coverage(), trace)


def run_serviced(profile: Profile, stream: Stream, engine: Engine = Monitor) -> Trace:
    """One monitor over all recordings; it starts anew with each of its lives."""
    monitor = engine(profile)
    traces = []
    with Progress("steps", total=len(stream)) as progress:
        for begin, end in lives(stream):
            monitor.reset()
            traces.append(monitor.run(stream.cut(begin, end), progress=progress.advance))
    return joined_traces(traces)


def lives(stream: Stream) -> list[tuple[int, int]]:
    """Spans of steps: one ends where a shift is over with the recording, as if repaired."""
    if stream.shifted is None:
        return [(0, len(stream))]
    begins = stream.starts[1:]
    repaired = begins[stream.shifted[begins - 1] & ~stream.shifted[begins]]
    return list(pairwise([0, *repaired.tolist(), len(stream)]))


class _Bench:
    """The arrays every measure is made from."""

    def __init__(
        self,
        profile: Profile,
        stream: Stream,
        trace: Trace,
        *,
        window: int,
        rounds: int,
        rng: np.random.Generator,
    ) -> None:
        steps = len(stream)
        self.profile, self.trace = profile, trace
        self.window, self.rounds, self.rng = window, rounds, rng
        self.starts = stream.starts
        self.labels = stream.labels if stream.labels is not None else np.full(steps, -1, np.int32)
        self.known = self.labels >= 0
        self.wrong = trace.label != self.labels
        self.shifted = stream.shifted if stream.shifted is not None else np.zeros(steps, np.bool_)
        self.probabilities, _ = Inputs(profile.inputs).run(stream.posteriors, stream.features)
        self.guess = rng.random(steps)
        self.block = int(BLOCK_TIMES * autocorrelation_time([trace.risk]))

    def measures(self) -> Iterator[Measure]:
        if self.known.any():
            yield from self._failure()
            yield from self._accuracy_drop()
            yield from self._probabilities()
        if self.shifted.any():
            yield from self._shift()
        yield from self._streaming()

    def risk_coverage(self) -> tuple[tuple[float, float], ...]:
        at = np.flatnonzero(self.known)
        if len(at) == 0:
            return ()
        coverage, error = m.risk_coverage(self.wrong[at], self.trace.risk[at])
        return tuple(zip(coverage.tolist(), error.tolist(), strict=True))

    def _over(
        self, name: str, at: Indices, statistic: Callable[[Indices], float], **dummies: float
    ) -> Measure:
        """A statistic of the steps `at`, resampled in blocks."""
        low, high = block_interval(
            lambda chosen: statistic(at[chosen]), len(at), self.block, self.rounds, self.rng
        )
        return Measure(name, statistic(at), low, high, dummies)

    def _ranking(self, name: str, event: Bools, at: Indices) -> Iterator[Measure]:
        """AUROC and AUPRC of the risk for an event; always and never rank everything equal."""
        risk, guess, share = self.trace.risk, self.guess, float(event[at].mean())
        for kind, measure, flat in (("AUROC", m.auroc, 0.5), ("AUPRC", m.auprc, share)):
            yield self._over(
                f"{name} {kind}",
                at,
                lambda chosen, measure=measure: measure(event[chosen], risk[chosen]),  # type: ignore[misc]
                always=flat,
                never=flat,
                random=measure(event[at], guess[at]),
            )

    def _failure(self) -> Iterator[Measure]:
        at = np.flatnonzero(self.known)
        yield from self._ranking("failure", self.wrong, at)
        error = float(self.wrong[at].mean())
        yield self._over(
            "area under risk-coverage",
            at,
            lambda chosen: m.area_under_risk_coverage(self.wrong[chosen], self.trace.risk[chosen]),
            always=error,
            never=error,
            random=m.area_under_risk_coverage(self.wrong[at], self.guess[at]),
        )
        accepted = self.trace.outcome == Outcome.ACCEPT
        yield self._over(
            "error among accepted",
            at,
            lambda chosen: _mean(self.wrong[chosen][accepted[chosen]]),
            always=NAN,
            never=error,
            random=error,
        )

    def _accuracy_drop(self) -> Iterator[Measure]:
        """Moving risk against moving accuracy below µ - 3σ of the unshifted windows."""
        accuracy, low = m.accuracy_and_floor(
            ~self.wrong, self.known, self.shifted, self.starts, self.window
        )
        if np.isnan(low):
            return
        everything = np.ones(len(accuracy), np.bool_)
        risk = m.moving_mean(self.trace.risk, everything, self.starts, self.window)
        guess = m.moving_mean(self.guess, everything, self.starts, self.window)
        at = np.flatnonzero(np.isfinite(accuracy))
        event = accuracy < low
        share = float(event[at].mean())
        measure = self._over(
            "accuracy-drop AUPRC",
            at,
            lambda chosen: m.auprc(event[chosen], risk[chosen]),
            always=share,
            never=share,
            random=m.auprc(event[at], guess[at]),
        )
        yield measure

    def _probabilities(self) -> Iterator[Measure]:
        """Of the classifier, not the monitor; the dummy says every class is equally likely."""
        at = np.flatnonzero(self.known & ~self.shifted)
        if len(at) == 0:
            return
        labels, classes = self.labels, self.profile.inputs.classes
        nll, square = np.zeros(len(labels)), np.zeros(len(labels))
        nll[at] = m.negative_log_likelihood(self.probabilities[at], labels[at])
        square[at] = m.brier(self.probabilities[at], labels[at])
        confidence = self.probabilities.max(axis=1)
        flat = 1 - 1 / classes
        chance = float((labels[at] == 0).mean())  # a flat posterior's first class
        yield self._over("NLL", at, lambda c: float(nll[c].mean()), uniform=float(np.log(classes)))
        yield self._over("Brier", at, lambda c: float(square[c].mean()), uniform=flat)
        yield self._over(
            "Brier / classes",
            at,
            lambda c: float(square[c].mean() / classes),
            uniform=flat / classes,
        )
        yield self._over(
            "ECE",
            at,
            lambda c: m.expected_calibration_error(confidence[c], ~self.wrong[c]),
            uniform=abs(chance - 1 / classes),
        )

    def _shift(self) -> Iterator[Measure]:
        right = self.known & ~self.wrong & ~self.shifted
        if right.any():
            yield from self._ranking("shift", self.shifted, np.flatnonzero(right | self.shifted))
        if self.profile.alarm is None:
            return
        delays = m.detection_delays(self.trace.alarm > 0, self.shifted)
        picks = self.rng.integers(0, len(delays), (max(1, self.rounds), len(delays)))
        for name, statistic, always, never in (
            ("detection delay, median steps", np.median, 1.0, np.inf),
            ("shifts missed", lambda d, axis=None: np.isinf(d).mean(axis=axis), 0.0, 1.0),
        ):
            spread = np.sort(statistic(delays[picks], axis=1))
            low, high = (spread[int(q * (len(spread) - 1))] for q in (0.025, 0.975))
            yield Measure(
                name,
                float(statistic(delays)),
                float(low) if self.rounds else NAN,
                float(high) if self.rounds else NAN,
                {"always": always, "never": never},
                note=f"{len(delays)} onsets",
            )

    def _streaming(self) -> Iterator[Measure]:
        """What the threshold, the budget and the alarm promised, on the unshifted steps."""
        at = np.flatnonzero(~self.shifted)
        if len(at) == 0:
            return
        trace, profile = self.trace, self.profile
        alpha = profile.threshold.alpha_q16 / (1 << ALPHA_BITS)
        rate = profile.budget.rate_q16 / TOKEN
        abstained = trace.outcome == Outcome.ABSTAIN
        yield self._over(
            "exceedance deviation from alpha",
            at,
            lambda chosen: abs(float(trace.exceeded[chosen].mean()) - alpha),
            always=1 - alpha,
            never=alpha,
        )
        window = min(RATE_WINDOW, len(trace))
        note = f"any {window} steps"
        worst = m.worst_window_rate(trace.exceeded, window)
        yield Measure(
            "exceedances, worst window", worst, NAN, NAN, {"always": 1.0, "never": 0.0}, note
        )
        yield self._over(
            "abstentions", at, lambda c: float(abstained[c].mean()), always=1.0, never=0.0
        )
        allowed = (profile.budget.burst_q16 / TOKEN + rate * window) / window
        worst = m.worst_window_rate(abstained, window)
        note = f"any {window} steps; budget allows {allowed:.4f}"
        yield Measure(
            "abstentions, worst window", worst, NAN, NAN, {"always": 1.0, "never": 0.0}, note
        )
        if profile.alarm is not None:
            yield self._false_alarms(
                int((trace.alarm[at] > 0).sum()), len(at), profile.alarm.steps_per_false_alarm
            )

    def _false_alarms(self, count: int, steps: int, promised: int) -> Measure:
        million = 1e6 / steps
        low, high = m.poisson_interval(count)
        return Measure(
            "false alarms per million steps",
            count * million,
            low * million,
            high * million,
            {"always": 1e6, "never": 0.0},
            note=f"{count} in {steps:,} steps; promised at most {1e6 / promised:.3g}",
        )


def _mean(values: Bools) -> float:
    return float(values.mean()) if len(values) else NAN
