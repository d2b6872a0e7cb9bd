# SPDX-License-Identifier: Apache-2.0
"""The monitor in float: inputs → signals → score → threshold → budget, and alarm, readable.

``tcuq.Monitor`` runs the same stages in the device's integers and is tested against this one.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._columns import HEALTH_ONE
from tcuq._conversion import as_numbers
from tcuq.decision import Decision, Trace
from tcuq.errors import InputError
from tcuq.profile import Profile
from tcuq.profile.settings import ALPHA_BITS, RISK_LEVELS
from tcuq.stages.alarm import Alarm
from tcuq.stages.budget import Budget, Outcome
from tcuq.stages.inputs import Inputs, device_health
from tcuq.stages.score import Novelty, make_score, risk_odds
from tcuq.stages.signals import Signals
from tcuq.stages.threshold import Threshold
from tcuq.stream import Stream, checked_steps

CHUNK_STEPS = 1024  # steps computed at once: large enough to amortise, small enough for the cache


class ReferenceMonitor:
    """The float reference of ``tcuq.Monitor``; it sees the same quantised inputs.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> trace = ReferenceMonitor(demo_profile()).run(demo_stream("test"))
    >>> trace[0].outcome.name
    'ABSTAIN'
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._inputs = Inputs(profile.inputs)
        self._signals = Signals(profile.signals, profile.inputs)
        self._score = make_score(profile.score)
        self._novelty = Novelty(profile.novelty)
        self._threshold = Threshold(profile.threshold)
        self._budget = Budget(profile.budget)
        self._alarm = None if profile.alarm is None else Alarm(profile.alarm)
        self._alarm_stands = False

    def step(
        self,
        posterior: ArrayLike,
        features: ArrayLike | None = None,
        health: ArrayLike | None = None,
    ) -> Decision:
        """Decide on one step; a model with one output may give its number alone."""
        row = np.atleast_1d(as_numbers(posterior, "posterior"))
        if row.ndim != 1:
            raise InputError(f"posterior must have one dimension, got {row.ndim}")
        columns = None if features is None else as_numbers(features, "features")[None]
        statistics = None if health is None else as_numbers(health, "health")[None]
        return self.run(row[None], columns, statistics)[0]

    def run(
        self,
        stream: Stream | ArrayLike,
        features: ArrayLike | None = None,
        health: ArrayLike | None = None,
        *,
        starts: ArrayLike = (),
    ) -> Trace:
        """Decide on consecutive steps, as ``tcuq.Monitor.run`` does."""
        posteriors, features, health, starts = self._inputs.unpack(stream, features, health, starts)
        rows, columns = self._inputs.check(posteriors, features)
        statistics = device_health(health, self.profile.signals.health, len(rows))
        trace = Trace.empty(len(rows), self.profile.signals.health_names)
        forget = set(checked_steps(starts, "starts", len(rows)).tolist())
        for begin, end in _chunks(len(rows), forget):
            if begin in forget:
                self.reset_history()
            at = slice(begin, end)
            features = None if columns is None else columns[at]
            health = None if statistics is None else statistics[at] / HEALTH_ONE
            self._run_chunk(rows[at], features, health, trace, at)
        return trace

    def _run_chunk(
        self,
        rows: NDArray[np.generic],
        columns: NDArray[np.generic] | None,
        health: NDArray[np.float64] | None,
        trace: Trace,
        at: slice,
    ) -> None:
        signals = self._signals.run(*self._inputs.convert(rows, columns), health)
        risk, error = self._score.run(signals)
        risk_levels = np.rint(risk * RISK_LEVELS).astype(np.int64)
        novelty = self._novelty.run(signals)
        reason, exceeded, levels_q16 = self._threshold.run(risk_levels, novelty)
        trace.label[at] = signals.label
        trace.steady_label[at] = self._signals.steady_labels(signals)
        trace.risk[at] = risk_levels / RISK_LEVELS
        trace.expected_error[at] = np.rint(error * RISK_LEVELS) / RISK_LEVELS
        trace.novelty[at] = novelty
        trace.threshold[at] = levels_q16 / (RISK_LEVELS << ALPHA_BITS)
        trace.exceeded[at] = exceeded
        trace.reason[at] = reason
        trace.outcome[at] = self._budget.run(reason > 0)
        trace.withheld[at] = self._budget.withheld(trace.outcome[at])
        if self._alarm is not None:
            trace.alarm[at], trace.amber[at] = self._alarm.run(signals, risk_odds(risk_levels))
        if self.profile.promise is not None:
            void = self._alarm_stands | np.logical_or.accumulate(trace.alarm[at] > 0)
            trace.promised[at] = ~void & (trace.outcome[at] == Outcome.ACCEPT)
            self._alarm_stands = bool(void[-1])

    def reset(self) -> None:
        """Return to the state of a new monitor."""
        self.reset_history()
        self._threshold.reset()
        self._budget.reset()
        self._alarm_stands = False
        if self._alarm is not None:
            self._alarm.reset()

    def acknowledge(self) -> None:
        """After a repair: forget what the alarm learned, and that one was raised."""
        self._alarm_stands = False
        self._threshold.warmup_left = self.profile.threshold.warmup
        if self._alarm is not None:
            self._alarm.acknowledge()

    def reset_history(self) -> None:
        """After a gap in the stream: forget the past, keep threshold, budget and evidence."""
        self._signals.reset_history()
        self._score.reset_history()
        self._novelty.reset_history()

    @property
    def epoch(self) -> int:
        """The number of the running epoch; 0 before one has closed."""
        return 0 if self._alarm is None else self._alarm.epoch.number

    @property
    def epoch_evidence_bits(self) -> float:
        """log2 of the running epoch's e-value against calibration; 0 without an alarm."""
        return 0.0 if self._alarm is None else self._alarm.epoch.evidence_bits

    @property
    def closed_evidence_bits(self) -> float | None:
        """The same of the last closed epoch; None before one has closed."""
        return self._alarm.epoch.closed_bits if self._alarm is not None and self.epoch else None


def _chunks(steps: int, starts: set[int]) -> Iterator[tuple[int, int]]:
    """Spans of at most CHUNK_STEPS steps, none of which crosses a start."""
    bounds = [0, *sorted(s for s in starts if 0 < s < steps), steps]
    for first, last in pairwise(bounds):
        for begin in range(first, last, CHUNK_STEPS):
            yield begin, min(begin + CHUNK_STEPS, last)
