# SPDX-License-Identifier: Apache-2.0
"""Fit the score: survival tables from calibration, weights from labels if there are any."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.calibrate.combiner import Sample, fit_logistic, fit_near
from tcuq.calibrate.observe import Parts, observe, term_values
from tcuq.calibrate.orders import grouped_by_class
from tcuq.calibrate.tails import LOWEST_ODDS, TermTable, odds_table, survival_table
from tcuq.errors import FitError
from tcuq.options import FitOptions, TermPlan
from tcuq.profile.quantize import steepest_slope
from tcuq.profile.settings import (
    MAX_TERM_WEIGHT,
    NEEDS_FEATURES,
    AnchoredScoreSettings,
    CombinerWeights,
    InputSettings,
    SignalSettings,
    TcuqScoreSettings,
    Term,
)
from tcuq.stages.columns import SignalColumns, concatenate
from tcuq.stages.score import COMBINED, surprise
from tcuq.stream import Stream

Floats = NDArray[np.float64]

LOWEST_BIAS = -8.0  # where the device's sigmoid ends
# Shares of the loss of the labelled fit, docs/decisions/0024.
AS_RECORDED, GROUPED, IN_DISTRIBUTION = 0.65, 0.25, 0.1
TRUST = 0.5  # of the label-free weights, in the weights that the labelled fit begins from
FEWEST_ERRORS = 16  # of calibration, to take part in the labelled fit


def fit_tcuq(development: Stream, parts: Parts, options: FitOptions) -> TcuqScoreSettings:
    """Fit the paper's combiner on the development stream's labelled steps."""
    columns = concatenate(parts)
    names = [name for name in COMBINED if getattr(columns, name) is not None]
    known, wrong = outcomes(development, columns)
    table = np.column_stack([columns.named(name)[known] for name in names])
    weights, bias = fit_logistic(table, wrong, options.paper.signs)
    by_name: dict[str, float | None] = {"instability": None}
    by_name.update(zip(names, map(float, weights), strict=True))
    combined = CombinerWeights(**by_name)  # type: ignore[arg-type]
    return TcuqScoreSettings(options.paper.signs, combined, bias, options.paper.mix)


def fit_anchored(
    calibration: Parts, plans: Sequence[TermPlan], inputs: InputSettings, signals: SignalSettings
) -> AnchoredScoreSettings:
    """Fit each term's table on the calibration stream, without terms of absent features.

    The bias is the log-odds at which the odds begin. Without odds among the terms it is log2 of the
    error rate that the classifier itself expects: a step as surprising as one calibration step in
    so many has risk 1/2.
    """
    usable = [p for p in plans if inputs.width or p.signal not in NEEDS_FEATURES]
    if not usable:
        raise FitError("every term needs features, and the calibration stream has none")
    if any(plan.scale == "odds" for plan in usable):
        bias = LOWEST_ODDS
    else:
        expected = 1 - float(np.concatenate([part.confidence for part in calibration]).mean())
        bias = math.log2(max(expected, 2.0**LOWEST_BIAS))
    columns = concatenate(calibration)
    terms = tuple(
        _term_without_table(plan, float(columns.named(plan.signal).mean())) for plan in usable
    )
    values = term_values(calibration, inputs, signals, terms)
    return AnchoredScoreSettings(tuple(map(_fit_table, terms, values)), bias)


def fit_anchored_weights(
    settings: AnchoredScoreSettings,
    development: Stream,
    calibration: tuple[Stream, Parts],
    inputs: InputSettings,
    signals: SignalSettings,
) -> AnchoredScoreSettings:
    """Fit weights and a bias on labelled steps.

    They are pulled towards half the label-free weights of the terms beside the classifier's own
    odds, so that few labels change little. The steps are development's as recorded, the same
    grouped by class, and calibration's if it has labels and errors enough.
    """
    terms = settings.terms

    def sample(stream: Stream, parts: Parts, share: float) -> Sample:
        known, wrong = outcomes(stream, concatenate(parts))
        bits = map(_bits, terms, term_values(parts, inputs, signals, terms))
        return Sample(np.column_stack([column[known] for column in bits]), wrong, share)

    labels = known_labels(development)
    samples = [
        sample(stream, observe(stream, inputs, signals), share)
        for stream, share in (
            (development, AS_RECORDED),
            (grouped_by_class(development, labels), GROUPED),
        )
    ]
    if calibration[0].labelled > 0:
        samples.append(sample(*calibration, IN_DISTRIBUTION))
        if samples[-1].wrong.sum() < FEWEST_ERRORS:
            samples.pop()
    prior = [term.weight * (1.0 if term.scale == "odds" else TRUST) for term in terms]
    weights, bias = fit_near(samples, np.array(prior))
    if weights.max() <= 0:
        raise FitError(
            "no term's surprise rises with the errors of the development stream, so no weight can"
            " be fitted; leave development out to keep the label-free weights"
        )
    weighed = tuple(
        replace(term, weight=min(_coarse(weight), MAX_TERM_WEIGHT))
        for term, weight in zip(terms, weights, strict=True)
    )
    return AnchoredScoreSettings(weighed, _coarse(bias))


def known_labels(stream: Stream) -> NDArray[np.int32]:
    """Return the labels of a stream that has some."""
    if stream.labels is None or stream.labelled == 0:
        raise FitError("development needs labels: give Stream(..., labels=...)")
    return stream.labels


def outcomes(stream: Stream, columns: SignalColumns) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the steps with a known label, and whether the classifier was wrong there."""
    labels = known_labels(stream)
    known = np.flatnonzero(labels != UNKNOWN)
    return known, columns.label[known] != labels[known]


def _term_without_table(plan: TermPlan, start: float) -> Term:
    """Return a term whose table is always 0."""
    return Term(
        plan.signal,
        plan.tail,
        plan.scale,
        plan.ewma,
        start,
        float(plan.dead),
        float(plan.cap),
        float(plan.weight),
        points=(0.0,),
        bits=(0.0,),
        slope=0.0,
    )


def _fit_table(term: Term, values: Floats) -> Term:
    if term.scale == "odds":
        return with_table(term, odds_table())
    steps = np.unique(values, return_counts=True)
    return with_table(term, survival_table(*steps, steepest_slope(term.signal)))


def with_table(term: Term, table: TermTable) -> Term:
    """Return the term with this table."""
    return replace(term, points=table.points, bits=table.bits, slope=table.slope)


def _coarse(value: float) -> float:
    """Return a fitted number in 1/256: no other linear algebra moves it."""
    return round(256 * float(value)) / 256


def _bits(term: Term, values: Floats) -> Floats:
    """Return the term's bits by its table; large values are surprising already."""
    bits = surprise(values, replace(term, tail="upper"))
    return np.clip(bits - term.dead, 0, term.cap)
