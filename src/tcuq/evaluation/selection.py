# SPDX-License-Identifier: Apache-2.0
"""Selective prediction at equal coverage: the monitor beside the confidence alone.

A rival accepts as many of the labelled steps as the monitor did, those it is surest of. Its
threshold is thus chosen in hindsight, which favours it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.autocorrelation import autocorrelation_time
from tcuq.decision import Trace
from tcuq.evaluation.bootstrap import Indices, Interval, interval_of
from tcuq.profile import Profile
from tcuq.profile.settings import TEMPERATURE
from tcuq.stages.columns import dot
from tcuq.stages.inputs import Inputs, logits, probabilities
from tcuq.stream import Stream

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

BLOCK_TIMES = 4  # a bootstrap block is this many autocorrelation times of the risk


@dataclass(frozen=True, slots=True)
class Rival:
    """Error among as many accepted as the monitor's; how much larger the monitor's own is."""

    error: float
    gap: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """Coverage and error among accepted of the monitor, and rivals at the same coverage.

    Errors are NaN where no accepted step has a label. ``rivals`` are "softmax", by the confidence,
    and "scaled", by the confidence after temperature scaling, if calibration had the labels that
    it needs; of a model without classes "outputs", by their distance from calibration's middle.
    """

    coverage: float
    error: float
    rivals: Mapping[str, Rival]

    @property
    def sentence(self) -> str:
        """All of them in one sentence."""
        if self.coverage == 0:
            return "The monitor accepted none of the predictions."
        text = f"The monitor accepted {percent(self.coverage)} of predictions"
        if math.isnan(self.error):
            return f"{text}; without labels it is unknown how many of them are wrong."
        text += f", of which {percent(self.error)} are wrong"
        name, plain = next(iter(self.rivals.items()))
        by = "a softmax threshold" if name == "softmax" else "a limit on the outputs alone"
        text += f"; of as many chosen by {by}, {percent(plain.error)}"
        if not plain.interval.reason:
            low, high = 100 * plain.interval.low, 100 * plain.interval.high
            text += f" (difference {100 * plain.gap:+.1f} points, 95% {low:+.1f} to {high:+.1f})"
        if "scaled" in self.rivals:
            text += f", and after temperature scaling {percent(self.rivals['scaled'].error)}"
        return f"{text}."


def percent(share: float) -> str:
    """A share in percent, such as 12.3%."""
    return f"{share:.1%}"


def doubts(profile: Profile, stream: Stream) -> dict[str, Floats]:
    """Return by rival how unsure each prediction is: 1 - C, and 1 - C after temperature scaling.

    Of a model without classes: how far its outputs are from calibration's middle.
    """
    if stream.classes == 0:
        outputs, _ = Inputs(profile.inputs).run(stream.posteriors, stream.features)
        return {"outputs": dot(outputs, outputs)}
    rows = probabilities(stream.posteriors, stream.kind)
    by_rival: dict[str, Floats] = {"softmax": 1 - rows.max(axis=1)}
    temperature = profile.provenance.figures.get(TEMPERATURE)
    if temperature is not None:
        scaled = probabilities(logits(stream.posteriors, stream.kind) / temperature, "logits")
        by_rival["scaled"] = 1 - scaled.max(axis=1)
    return by_rival


def errors_among(wrong: Bools, doubt: Floats, count: int) -> float:
    """Return the errors among the `count` surest steps; equally sure steps share theirs."""
    if count == 0:
        return 0.0
    last = np.partition(doubt, count - 1)[count - 1]
    surer, tied = doubt < last, doubt == last
    return float(wrong[surer].sum() + wrong[tied].mean() * (count - surer.sum()))


def error_at_coverage(wrong: Bools, doubt: Floats, accepted: Bools) -> float:
    """Return the error among the surest steps, as many as are accepted; NaN if none is."""
    count = int(accepted.sum())
    return errors_among(wrong, doubt, count) / count if count else math.nan


def block_of(trace: Trace) -> int:
    """Return the steps of a bootstrap block."""
    return int(BLOCK_TIMES * autocorrelation_time([trace.risk]))


def compare(
    profile: Profile,
    stream: Stream,
    trace: Trace,
    at: Bools | None = None,
    *,
    rounds: int = 200,
    seed: int = 0,
) -> Comparison:
    """Compare a monitor's trace of a stream with its rivals, at some steps or all."""
    at = np.ones(len(stream), np.bool_) if at is None else at
    labels = stream.labels if stream.labels is not None else np.full(len(stream), UNKNOWN, np.int32)
    accepted: Bools = ~trace.withheld
    coverage = float(accepted[at].mean()) if at.any() else math.nan
    steps = np.flatnonzero(at & (labels != UNKNOWN))
    if len(steps) == 0:
        return Comparison(coverage, math.nan, {})
    wrong, block, rng = trace.label != labels, block_of(trace), np.random.default_rng(seed)
    events = {"errors": int(wrong[steps].sum())}

    def error_of(chosen: Indices) -> float:
        among = wrong[chosen][accepted[chosen]]
        return float(among.mean()) if len(among) else math.nan

    def rival(doubt: Floats) -> Rival:
        def gap(chosen: Indices) -> float:
            one = steps[chosen]
            return error_of(one) - error_at_coverage(wrong[one], doubt[one], accepted[one])

        theirs = error_at_coverage(wrong[steps], doubt[steps], accepted[steps])
        interval = interval_of(gap, len(steps), block, rounds, rng, events=events)
        return Rival(theirs, error - theirs, interval)

    error = error_of(steps)
    rivals = {name: rival(doubt) for name, doubt in doubts(profile, stream).items()}
    return Comparison(coverage, error, rivals)
