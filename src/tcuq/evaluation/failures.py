# SPDX-License-Identifier: Apache-2.0
"""Measures of withheld and wrong predictions, of the promised rates, and the classifier's own."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tcuq.evaluation import measures as m
from tcuq.evaluation.bootstrap import Interval
from tcuq.evaluation.run import Bools, EvaluatedRun, Floats, Measure
from tcuq.evaluation.selection import error_at_coverage, percent
from tcuq.profile.settings import ALPHA_BITS, TOKEN
from tcuq.stages.budget import Outcome

RATE_WINDOW = 1000
OWN = ("softmax", "scaled")  # rivals that are probabilities of an error
MAXIMUM = Interval(reason="a maximum over windows has no bootstrap interval")


def withheld_measures(run: EvaluatedRun) -> Iterator[Measure]:
    """The withheld share of predictions and the coverage, which need no labels."""
    at, accepted = np.arange(len(run.trace)), run.accepted
    events = {
        "withheld predictions": int((~accepted).sum()),
        "accepted predictions": int(accepted.sum()),
    }
    outcome = run.trace.outcome
    abstained, denied = (float((outcome == o).mean()) for o in (Outcome.ABSTAIN, Outcome.DENIED))
    withheld = run.measure(
        "withheld",
        at,
        lambda chosen: float(1 - accepted[chosen].mean()),
        {"always": 1.0, "never": 0.0},
        events,
    )
    rule = "used" if run.profile.budget.denied == "use" else "withheld"
    note = f"{percent(abstained)} abstained; {percent(denied)} denied by the budget, and {rule}"
    yield replace(withheld, note=note)
    yield run.measure(
        "coverage",
        at,
        lambda chosen: float(accepted[chosen].mean()),
        {"always": 0.0, "never": 1.0},
        events,
    )


def failure_measures(run: EvaluatedRun) -> Iterator[Measure]:
    """How well the risk tells wrong predictions from correct ones."""
    at, accepted, wrong = np.flatnonzero(run.known), run.accepted, run.wrong
    error, errors = float(wrong[at].mean()), int((wrong & accepted & run.known).sum())
    rivals = {
        name: error_at_coverage(wrong[at], doubt[at], accepted[at])
        for name, doubt in run.doubts.items()
    }
    among = run.measure(
        "error among accepted",
        at,
        lambda chosen: _mean(wrong[chosen][accepted[chosen]]),
        {**rivals, "always": math.nan, "never": error},
        {"errors among accepted": errors},
    )
    verb = "accepts" if len(rivals) == 1 else "accept"
    note = f"{' and '.join(rivals)} {verb} as many predictions as the monitor"
    yield replace(among, note=note)
    risk = run.trace.risk
    yield from run.ranking("failure", wrong, at, ("errors", "correct predictions"), risk)
    name, scores = "area under risk-coverage", (risk, run.doubts)
    events = {"errors": int(wrong[at].sum())}
    area = m.area_under_risk_coverage
    yield run.ranked(name, at, area, wrong, scores, equal=error, events=events)


def drop_measures(run: EvaluatedRun) -> Iterator[Measure]:
    """Estimated accuracy: of the stream, and its moving mean against drops below µ - 3σ."""
    yield _estimated_accuracy(run)
    accuracy, floor = m.accuracy_and_floor(
        ~run.wrong, run.known, run.shifted, run.starts, run.window
    )
    if np.isnan(floor):
        return
    everything = np.ones(len(accuracy), np.bool_)

    def lately(values: Floats) -> Floats:
        return m.moving_mean(values, everything, run.starts, run.window)

    error = run.trace.expected_error
    scores = lately(error), {name: lately(doubt) for name, doubt in run.doubts.items()}
    at = np.flatnonzero(np.isfinite(accuracy))
    event = accuracy < floor
    share = float(event[at].mean())
    events = {"windows with low accuracy": int(event[at].sum())}
    yield run.ranked("accuracy-drop AUPRC", at, m.auprc, event, scores, equal=share, events=events)


def _estimated_accuracy(run: EvaluatedRun) -> Measure:
    """The estimate over all labelled steps, beside the mean confidence and the truth."""
    at, error = np.flatnonzero(run.known), run.trace.expected_error
    measure = run.measure(
        "estimated accuracy",
        at,
        lambda chosen: float(1 - error[chosen].mean()),
        {name: float(1 - doubt[at].mean()) for name, doubt in run.doubts.items() if name in OWN}
        | {"always": 1.0, "never": 0.0},
    )
    return replace(
        measure, note=f"without labels; the true accuracy is {1 - run.wrong[at].mean():.4f}"
    )


def classifier_measures(run: EvaluatedRun) -> Iterator[Measure]:
    """The classifier's own probabilities on unshifted steps, beside uniform ones."""
    at = np.flatnonzero(run.known & ~run.shifted)
    if len(at) == 0 or run.profile.inputs.classes == 0:
        return
    labels, classes = run.labels, run.profile.inputs.classes
    nll, square = np.zeros(len(labels)), np.zeros(len(labels))
    nll[at] = m.negative_log_likelihood(run.probabilities[at], labels[at])
    square[at] = m.brier(run.probabilities[at], labels[at])
    confidence, right = run.probabilities.max(axis=1), ~run.wrong
    flat = 1 - 1 / classes
    first = float((labels[at] == 0).mean())  # a uniform posterior predicts the first class

    yield run.measure(
        "NLL", at, lambda c: float(nll[c].mean()), {"uniform": float(np.log(classes))}
    )
    yield run.measure("Brier", at, lambda c: float(square[c].mean()), {"uniform": flat})
    yield run.measure(
        "Brier / classes",
        at,
        lambda c: float(square[c].mean() / classes),
        {"uniform": flat / classes},
    )
    yield run.measure(
        "ECE",
        at,
        lambda c: m.expected_calibration_error(confidence[c], right[c]),
        {"uniform": abs(first - 1 / classes)},
    )


def _mean(values: Bools) -> float:
    return float(values.mean()) if len(values) else math.nan


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
