# SPDX-License-Identifier: Apache-2.0
"""Measure, and the arrays of a run from which every measure is computed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.autocorrelation import autocorrelation_time
from tcuq.decision import Trace
from tcuq.evaluation import measures as m
from tcuq.evaluation.bootstrap import Indices, Interval, interval_of
from tcuq.evaluation.selection import softmax_accepts
from tcuq.profile import Profile
from tcuq.stages.budget import Outcome
from tcuq.stages.inputs import probabilities
from tcuq.stream import Stream

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

BLOCK_TIMES = 4  # a bootstrap block is this many autocorrelation times of the risk


@dataclass(frozen=True, slots=True)
class Measure:
    """A value, its 95 % interval, and what each baseline scores on the same stream.

    The baselines are `softmax` (a threshold on the softmax confidence), `always` and `never`
    (withhold or alarm at every step, or at none) and `random`; `uniform` is a classifier that
    gives every class the same probability.
    """

    name: str
    value: float
    interval: Interval
    baselines: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedRun:
    """A trace with its stream's labels, shifts and probabilities.

    ``guess`` is the risk that the random baseline draws; ``softmax`` marks the steps that the
    softmax threshold accepts, or is None if the profile does not hold it.
    """

    profile: Profile
    trace: Trace
    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    shifted: Bools
    probabilities: Floats
    guess: Floats
    softmax: Bools | None
    window: int
    rounds: int
    block: int
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        profile: Profile,
        stream: Stream,
        trace: Trace,
        *,
        window: int,
        rounds: int,
        rng: np.random.Generator,
    ) -> "EvaluatedRun":
        """Prepare the arrays; unknown labels are -1, unmarked steps are not shifted."""
        steps = len(stream)
        rows = probabilities(stream.posteriors, stream.kind)
        return cls(
            profile=profile,
            trace=trace,
            starts=stream.starts,
            labels=np.full(steps, UNKNOWN, np.int32) if stream.labels is None else stream.labels,
            shifted=np.zeros(steps, np.bool_) if stream.shifted is None else stream.shifted,
            probabilities=rows,
            guess=rng.random(steps),
            softmax=softmax_accepts(profile, rows.max(axis=1)),
            window=window,
            rounds=rounds,
            block=int(BLOCK_TIMES * autocorrelation_time([trace.risk])),
            rng=rng,
        )

    @property
    def known(self) -> Bools:
        """Steps with a known label."""
        known: Bools = self.labels != UNKNOWN
        return known

    @property
    def wrong(self) -> Bools:
        """Steps whose prediction is not the label."""
        wrong: Bools = self.trace.label != self.labels
        return wrong

    @property
    def accepted(self) -> Bools:
        """Steps whose prediction the monitor accepted."""
        accepted: Bools = self.trace.outcome == Outcome.ACCEPT
        return accepted

    @property
    def uncertainty(self) -> Floats:
        """1 - max p, by which the softmax baseline ranks steps."""
        uncertainty: Floats = 1 - self.probabilities.max(axis=1)
        return uncertainty

    def measure(
        self,
        name: str,
        at: Indices,
        statistic: Callable[[Indices], float],
        baselines: Mapping[str, float],
        events: Mapping[str, int] | None = None,
    ) -> Measure:
        """A statistic of the steps `at`; its interval resamples them in blocks."""

        def resampled(chosen: Indices) -> float:
            return statistic(at[chosen])

        interval = interval_of(resampled, len(at), self.block, self.rounds, self.rng, events=events)
        return Measure(name, statistic(at), interval, baselines)

    def ranking(
        self, name: str, event: Bools, at: Indices, words: tuple[str, str], by: Floats
    ) -> Iterator[Measure]:
        """AUROC and AUPRC of a score, `by`, for an event among the steps `at`.

        A monitor that withholds always or never ranks all steps equal.
        """
        share = float(event[at].mean())
        events = {words[0]: int(event[at].sum()), words[1]: int((~event[at]).sum())}
        scores = (by, self.uncertainty, self.guess)
        for word, kind, equal in (("AUROC", m.auroc, 0.5), ("AUPRC", m.auprc, share)):
            yield self.ranked(f"{name} {word}", at, kind, event, scores, equal=equal, events=events)

    def ranked(
        self,
        name: str,
        at: Indices,
        kind: Callable[[Bools, Floats], float],
        event: Bools,
        scores: tuple[Floats, Floats, Floats],
        *,
        equal: float,
        events: Mapping[str, int],
    ) -> Measure:
        """A statistic of an event under the monitor's score, the softmax's and a random one.

        ``equal`` is its value where all steps rank equal.
        """
        ours, softmax, random = scores
        baselines = {
            "softmax": kind(event[at], softmax[at]),
            "always": equal,
            "never": equal,
            "random": kind(event[at], random[at]),
        }
        return self.measure(name, at, lambda c: kind(event[c], ours[c]), baselines, events)
