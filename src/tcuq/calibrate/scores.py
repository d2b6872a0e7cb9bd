# SPDX-License-Identifier: Apache-2.0
"""Fit the score: survival tables from calibration, weights from labels if there are any."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.combiner import fit_logistic
from tcuq.calibrate.observe import Parts, term_values
from tcuq.calibrate.presets import Options, TermPlan
from tcuq.calibrate.tails import LOWEST_ODDS, TermTable, odds_table, survival_table
from tcuq.errors import FitError
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


def fit_tcuq(development: Stream, parts: Parts, options: Options) -> TcuqScoreSettings:
    """Fit the paper's combiner on the development stream's labelled steps."""
    columns = concatenate(parts)
    names = [name for name in COMBINED if getattr(columns, name) is not None]
    known, wrong = outcomes(development, columns)
    table = np.column_stack([columns.named(name)[known] for name in names])
    weights, bias = fit_logistic(table, wrong, options.signs)
    by_name: dict[str, float | None] = {"instability": None}
    by_name.update(zip(names, map(float, weights), strict=True))
    return TcuqScoreSettings(options.signs, CombinerWeights(**by_name), bias, options.mix)  # type: ignore[arg-type]


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
    parts: Parts,
    inputs: InputSettings,
    signals: SignalSettings,
) -> AnchoredScoreSettings:
    """Fit non-negative weights and a bias by logistic regression on the terms."""
    terms = settings.terms
    values = term_values(parts, inputs, signals, terms)
    known, wrong = outcomes(development, concatenate(parts))
    bits = map(_bits, terms, values)
    table = np.column_stack([column[known] for column in bits])
    weights, bias = fit_logistic(table, wrong, "monotone")
    if weights.max() <= 0:
        raise FitError(
            "no term's surprise rises with the errors of the development stream, so no weight can"
            " be fitted; leave development out to keep the label-free weights"
        )
    weighed = tuple(
        replace(t, weight=min(float(w), MAX_TERM_WEIGHT))
        for t, w in zip(terms, weights, strict=True)
    )
    return AnchoredScoreSettings(weighed, bias)


def outcomes(stream: Stream, columns: SignalColumns) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the steps with a known label, and whether the classifier was wrong there."""
    if stream.labels is None or not (stream.labels >= 0).any():
        raise FitError("development needs labels: give Stream(..., labels=...)")
    known = np.flatnonzero(stream.labels >= 0)
    return known, columns.label[known] != stream.labels[known]


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


def _bits(term: Term, values: Floats) -> Floats:
    """Return the term's bits by its table; large values are surprising already."""
    bits = surprise(values, replace(term, tail="upper"))
    return np.clip(bits - term.dead, 0, term.cap)
