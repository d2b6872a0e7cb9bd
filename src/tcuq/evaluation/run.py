# SPDX-License-Identifier: Apache-2.0
"""Measure, and the arrays of a run from which every measure is computed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.decision import Trace
from tcuq.evaluation import measures as m
from tcuq.evaluation.bootstrap import Indices, Interval, interval_of
from tcuq.evaluation.selection import block_of, doubts
from tcuq.profile import Profile
from tcuq.stages.inputs import probabilities
from tcuq.stream import Stream

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measure:
    """A value, its 95 % interval, and what each baseline scores on the same stream.

    The baselines are `softmax` (the softmax confidence), `scaled` (the same after temperature
    scaling), of a model without classes `outputs` (their distance from calibration's middle),
    `always` and `never` (withhold or alarm at every step, or at none: all steps rank
    equal); `uniform` is a classifier that gives every class the same probability.
    """

    name: str
    value: float
    interval: Interval
    baselines: Mapping[str, float]
    note: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedRun:
    """A trace with its stream's labels, shifts and probabilities.

    ``doubts`` are the numbers by which `softmax` and `scaled` rank the steps.
    """

    profile: Profile
    trace: Trace
    starts: NDArray[np.int64]
    labels: NDArray[np.int32]
    shifted: Bools
    probabilities: Floats
    doubts: Mapping[str, Floats]
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
        certain = np.ones((steps, 1))  # without classes
        rows = probabilities(stream.posteriors, stream.kind) if stream.classes else certain
        return cls(
            profile=profile,
            trace=trace,
            starts=stream.starts,
            labels=np.full(steps, UNKNOWN, np.int32) if stream.labels is None else stream.labels,
            shifted=np.zeros(steps, np.bool_) if stream.shifted is None else stream.shifted,
            probabilities=rows,
            doubts=doubts(profile, stream),
            window=window,
            rounds=rounds,
            block=block_of(trace),
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
        return ~self.trace.withheld

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
        """AUROC and AUPRC of a score, `by`, for an event among the steps `at`."""
        share = float(event[at].mean())
        events = {words[0]: int(event[at].sum()), words[1]: int((~event[at]).sum())}
        for word, kind, equal in (("AUROC", m.auroc, 0.5), ("AUPRC", m.auprc, share)):
            yield self.ranked(
                f"{name} {word}", at, kind, event, (by, self.doubts), equal=equal, events=events
            )

    def ranked(
        self,
        name: str,
        at: Indices,
        kind: Callable[[Bools, Floats], float],
        event: Bools,
        scores: tuple[Floats, Mapping[str, Floats]],
        *,
        equal: float,
        events: Mapping[str, int],
    ) -> Measure:
        """A statistic of an event under the monitor's score and under its rivals'.

        ``equal`` is its value where all steps rank equal.
        """
        ours, rivals = scores
        baselines = {rival: kind(event[at], doubt[at]) for rival, doubt in rivals.items()}
        baselines |= {"always": equal, "never": equal}
        return self.measure(name, at, lambda c: kind(event[c], ours[c]), baselines, events)
