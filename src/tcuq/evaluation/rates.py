# SPDX-License-Identifier: Apache-2.0
"""Measures of the threshold's and the budget's promises."""

from collections.abc import Iterator

import numpy as np

from tcuq.evaluation import measures as m
from tcuq.evaluation.bootstrap import Interval
from tcuq.evaluation.run import EvaluatedRun, Measure
from tcuq.profile.settings import ALPHA_BITS, TOKEN
from tcuq.stages.budget import Outcome

RATE_WINDOW = 1000
MAXIMUM = Interval(reason="a maximum over windows has no bootstrap interval")


def rate_measures(run: EvaluatedRun) -> Iterator[Measure]:
    """Exceedances beside alpha and abstentions beside the budget, on unshifted steps."""
    at = np.flatnonzero(~run.shifted)
    if len(at) == 0:
        return
    trace, profile = run.trace, run.profile
    alpha = profile.threshold.alpha_q16 / (1 << ALPHA_BITS)
    rate, burst = profile.budget.rate_q16 / TOKEN, profile.budget.burst_q16 / TOKEN
    abstained = trace.outcome == Outcome.ABSTAIN
    window = min(RATE_WINDOW, len(trace))
    always = {"always": 1.0, "never": 0.0}
    yield run.measure(
        "deviation from alpha",
        at,
        lambda chosen: abs(float(trace.exceeded[chosen].mean()) - alpha),
        {"always": 1 - alpha, "never": alpha},
    )
    yield Measure(
        "exceedances, worst window",
        m.worst_window_rate(trace.exceeded, window),
        MAXIMUM,
        always,
        f"share in the worst {window:,} consecutive steps; alpha is {alpha:.4g}",
    )
    yield run.measure("abstentions", at, lambda c: float(abstained[c].mean()), always)
    yield Measure(
        "abstentions, worst window",
        m.worst_window_rate(abstained, window),
        MAXIMUM,
        always,
        f"share in the worst {window:,} consecutive steps; the budget allows"
        f" {burst / window + rate:.4f}",
    )
