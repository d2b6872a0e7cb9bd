# SPDX-License-Identifier: Apache-2.0
"""Selective prediction: what the monitor withholds, beside a softmax threshold at the same rate.

The softmax threshold withholds a prediction whose confidence, max p, is below the value that at
most alpha of the calibration steps fell below: the rule that also sets the monitor's threshold.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.decision import Trace
from tcuq.profile import Profile
from tcuq.stages.budget import Outcome
from tcuq.stages.inputs import probabilities
from tcuq.stream import Stream

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

FIGURE = "softmax.threshold_confidence"
NO_FIGURE = f"this profile does not hold the softmax threshold ({FIGURE}): fit it again to compare"


@dataclass(frozen=True, slots=True)
class Selection:
    """The share of predictions withheld, and the error among the accepted; NaN if unknown."""

    withheld: float
    error: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """The monitor beside the softmax threshold, which is None if the profile does not hold it."""

    monitor: Selection
    softmax: Selection | None
    labelled: bool
    denied: float = 0.0  # share of predictions that the monitor withheld beyond its budget

    @property
    def sentence(self) -> str:
        """Both in one sentence."""
        ours, theirs = self.monitor, self.softmax
        text = f"The monitor withheld {percent(ours.withheld)} of predictions"
        if self.denied > 0:
            text += f" ({percent(self.denied)} beyond its budget)"
        if not self.labelled:
            text += " (how many of the rest are wrong is unknown: the stream has no labels)"
        elif not math.isnan(ours.error):
            text += f", and {percent(ours.error)} of the accepted ones are wrong"
        if theirs is None:
            return f"{text}; {NO_FIGURE}."
        text += f"; a softmax threshold would have withheld {percent(theirs.withheld)}"
        if not math.isnan(theirs.error):
            text += f", with {percent(theirs.error)} of its accepted ones wrong"
        return f"{text}."


def percent(share: float) -> str:
    """A share in percent, such as 12.3%."""
    return f"{share:.1%}"


def softmax_accepts(profile: Profile, confidence: Floats) -> Bools | None:
    """Return which steps the softmax threshold accepts; None if the profile does not hold it."""
    threshold = profile.provenance.figures.get(FIGURE)
    if threshold is None:
        return None
    return confidence >= threshold


def selection(accepted: Bools, wrong: Bools, known: Bools) -> Selection:
    """The withheld share of all steps, and the error among accepted steps with a known label."""
    judged = accepted & known
    error = float(wrong[judged].mean()) if judged.any() else math.nan
    return Selection(float(1 - accepted.mean()), error)


def compare(profile: Profile, stream: Stream, trace: Trace, at: Bools | None = None) -> Comparison:
    """Compare a monitor's trace of a stream with the softmax threshold, at some steps or all."""
    at = np.ones(len(stream), np.bool_) if at is None else at
    labels = stream.labels if stream.labels is not None else np.full(len(stream), UNKNOWN, np.int32)
    known, wrong = labels != UNKNOWN, trace.label != labels
    confidence = probabilities(stream.posteriors, stream.kind).max(axis=1)
    softmax = softmax_accepts(profile, confidence)
    accepted: Bools = trace.outcome == Outcome.ACCEPT
    return Comparison(
        selection(accepted[at], wrong[at], known[at]),
        None if softmax is None else selection(softmax[at], wrong[at], known[at]),
        labelled=bool(known[at].any()),
        denied=float((trace.outcome[at] == Outcome.DENIED).mean()),
    )
