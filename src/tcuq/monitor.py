# SPDX-License-Identifier: Apache-2.0
"""Monitor: inputs → signals → score → threshold → budget, and alarm, composed in float."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.alarm import Alarm
from tcuq.budget import Budget
from tcuq.decision import Decision, Trace
from tcuq.errors import InputError
from tcuq.inputs import Inputs
from tcuq.profile import Profile
from tcuq.score import make_score
from tcuq.settings import ALPHA_BITS, RISK_LEVELS
from tcuq.signals import Signals
from tcuq.snapshot import Stateful, pack, unpack
from tcuq.stream import Stream, as_numbers, checked_steps
from tcuq.threshold import Threshold

CHUNK_STEPS = 1024  # steps computed at once: large enough to amortise, small enough for the cache


class Monitor:
    """The float reference of the monitor that runs on the device.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> stream = demo_stream("test")
    >>> monitor = Monitor(demo_profile())
    >>> decision = monitor.step(stream.posteriors[0], stream.features[0])
    >>> decision.outcome.name
    'ACCEPT'
    >>> trace = monitor.run(stream.posteriors[1:], stream.features[1:])
    >>> len(trace) == len(stream) - 1
    True
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._inputs = Inputs(profile.inputs)
        self._signals = Signals(profile.signals, profile.inputs)
        self._score = make_score(profile.score)
        self._threshold = Threshold(profile.threshold)
        self._budget = Budget(profile.budget)
        self._alarm = None if profile.alarm is None else Alarm(profile.alarm)

    def step(self, posterior: ArrayLike, features: ArrayLike | None = None) -> Decision:
        """Decide on one step."""
        row = as_numbers(posterior, "posterior")
        if row.ndim != 1:
            raise InputError(f"posterior must have one dimension, got {row.ndim}")
        columns = None if features is None else as_numbers(features, "features")[None]
        return self.run(row[None], columns)[0]

    def run(
        self,
        posteriors: ArrayLike,
        features: ArrayLike | None = None,
        *,
        starts: ArrayLike = (),
        progress: Callable[[int], object] | None = None,
    ) -> Trace:
        """Decide on consecutive steps.

        History is forgotten before each step in ``starts``; ``progress`` is told of every batch of
        steps that is done.
        """
        rows, columns = self._inputs.check(posteriors, features)
        trace = Trace.empty(len(rows))
        forget = set(checked_steps(starts, "starts", len(rows)).tolist())
        for begin, end in _chunks(len(rows), forget):
            if begin in forget:
                self.reset_history()
            part = None if columns is None else columns[begin:end]
            self._run_chunk(rows[begin:end], part, trace, slice(begin, end))
            if progress is not None:
                progress(end - begin)
        return trace

    def run_stream(
        self, stream: Stream, *, progress: Callable[[int], object] | None = None
    ) -> Trace:
        """Decide on a recorded stream, which must be of the profile's kind."""
        self._inputs.check_kind(stream)
        return self.run(stream.posteriors, stream.features, starts=stream.starts, progress=progress)

    def _run_chunk(
        self,
        rows: NDArray[np.generic],
        columns: NDArray[np.generic] | None,
        trace: Trace,
        at: slice,
    ) -> None:
        signals = self._signals.run(*self._inputs.convert(rows, columns))
        risk_levels = np.rint(self._score.run(signals) * RISK_LEVELS).astype(np.int64)
        asked, exceeded, levels_q16 = self._threshold.run(risk_levels)
        trace.label[at] = signals.label
        trace.risk[at] = risk_levels / RISK_LEVELS
        trace.threshold[at] = levels_q16 / (RISK_LEVELS << ALPHA_BITS)
        trace.exceeded[at] = exceeded
        trace.outcome[at] = self._budget.run(asked)
        if self._alarm is not None:
            trace.alarm[at] = self._alarm.run(signals)

    def reset(self) -> None:
        """Back to the state of a new monitor."""
        self.reset_history()
        self._threshold.reset()
        self._budget.reset()
        if self._alarm is not None:
            self._alarm.reset()

    def reset_history(self) -> None:
        """After a gap in the stream: forget the past, keep threshold, budget and evidence."""
        self._signals.reset_history()
        self._score.reset_history()
        if self._alarm is not None:
            self._alarm.reset_history()

    @property
    def epoch_evidence_bits(self) -> float:
        """log2 of the e-value against calibration since the epoch began; 0 without an alarm."""
        return 0.0 if self._alarm is None else self._alarm.epoch_evidence_q8 / 256

    def end_epoch(self) -> float:
        """The epoch's evidence in bits; the next epoch starts without any."""
        return 0.0 if self._alarm is None else self._alarm.end_epoch() / 256

    def snapshot(self) -> bytes:
        """The monitor's state, to survive a restart."""
        states = {name: stage.state for name, stage in self._stages().items()}
        return pack(self.profile.sha256, states)

    def restore(self, snapshot: bytes) -> None:
        """Continue from a snapshot; a foreign or damaged one is refused and changes nothing."""
        fresh = Monitor(self.profile)
        stages = fresh._stages()
        like = {name: stage.state for name, stage in stages.items()}
        for name, state in unpack(snapshot, self.profile.sha256, like).items():
            stages[name].state = state
        vars(self).update(vars(fresh))

    def _stages(self) -> dict[str, Stateful]:
        stages: dict[str, Stateful] = {
            "signals": self._signals,
            "score": self._score,
            "threshold": self._threshold,
            "budget": self._budget,
        }
        return stages if self._alarm is None else {**stages, "alarm": self._alarm}


def _chunks(steps: int, starts: set[int]) -> Iterator[tuple[int, int]]:
    """Spans of at most CHUNK_STEPS steps, none of which crosses a start."""
    bounds = [0, *sorted(s for s in starts if 0 < s < steps), steps]
    for first, last in pairwise(bounds):
        for begin in range(first, last, CHUNK_STEPS):
            yield begin, min(begin + CHUNK_STEPS, last)
