# SPDX-License-Identifier: Apache-2.0
"""The score's numbers: survival tables from calibration, weights from labels if there are any."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.combiner import fit_logistic
from tcuq.calibrate.observe import Parts
from tcuq.calibrate.presets import Options, TermPlan
from tcuq.calibrate.tails import LOWEST_ODDS, odds_table, survival_table
from tcuq.errors import FitError
from tcuq.profile.quantize import LOGARITHMS, signal_scale, steepest_slope
from tcuq.profile.settings import (
    MAX_TERM_WEIGHT,
    NEEDS_FEATURES,
    AnchoredScoreSettings,
    CombinerWeights,
    Signal,
    TcuqScoreSettings,
    Term,
)
from tcuq.stages.columns import SignalColumns, joined
from tcuq.stages.score import COMBINED, surprise
from tcuq.stream import Stream

Floats = NDArray[np.float64]

LOWEST_BIAS = -8.0  # where the device's sigmoid ends


def fit_tcuq(development: Stream, parts: Parts, options: Options) -> TcuqScoreSettings:
    """The paper's combiner on the development stream's labelled steps."""
    columns = joined(parts)
    names = [name for name in COMBINED if getattr(columns, name) is not None]
    known, wrong = outcomes(development, columns)
    table = np.column_stack([columns.named(name)[known] for name in names])
    weights, bias = fit_logistic(table, wrong, options.signs)
    by_name: dict[str, float | None] = {"instability": None}
    by_name.update(zip(names, map(float, weights), strict=True))
    return TcuqScoreSettings(options.signs, CombinerWeights(**by_name), bias, options.mix)  # type: ignore[arg-type]


def fit_anchored(
    calibration: Parts, plans: Sequence[TermPlan], *, has_features: bool
) -> AnchoredScoreSettings:
    """Each term's table from the calibration stream; terms of absent features are left out.

    The bias is the log-odds at which the odds begin. Without odds among the terms it is log2 of the
    error rate that the classifier itself expects: a step as surprising as one calibration step in
    so many has risk 1/2.
    """
    usable = [p for p in plans if has_features or p.signal not in NEEDS_FEATURES]
    if not usable:
        raise FitError("every term needs features, and the calibration stream has none")
    if any(plan.scale == "odds" for plan in usable):
        bias = LOWEST_ODDS
    else:
        expected = 1 - float(np.concatenate([part.confidence for part in calibration]).mean())
        bias = math.log2(max(expected, 2.0**LOWEST_BIAS))
    return AnchoredScoreSettings(tuple(_tabulated(plan, calibration) for plan in usable), bias)


def fit_anchored_weights(
    settings: AnchoredScoreSettings, development: Stream, parts: Parts
) -> AnchoredScoreSettings:
    """Weights, not negative, and bias of a logistic regression on the terms."""
    terms = settings.terms
    known, wrong = outcomes(development, joined(parts))
    table = np.column_stack([_term_bits(term, parts)[known] for term in terms])
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
    """Steps with a known label, and whether the classifier was wrong there."""
    if stream.labels is None or not (stream.labels >= 0).any():
        raise FitError("development needs labels: give Stream(..., labels=...)")
    known = np.flatnonzero(stream.labels >= 0)
    return known, columns.label[known] != stream.labels[known]


def _tabulated(plan: TermPlan, calibration: Parts) -> Term:
    start = float(np.concatenate([part.named(plan.signal) for part in calibration]).mean())
    if plan.scale == "odds":
        table = odds_table()
    else:
        parts = [part.named(plan.signal) for part in calibration]
        values = np.concatenate([_smoothed(p, plan.signal, start, plan.ewma) for p in parts])
        upward = values if plan.tail == "upper" else -values
        table = survival_table(upward, steepest_slope(plan.signal))
    return Term(
        plan.signal,
        plan.tail,
        plan.scale,
        plan.ewma,
        start,
        float(plan.dead),
        float(plan.cap),
        float(plan.weight),
        table.points,
        table.bits,
        table.slope,
    )


def _term_bits(term: Term, parts: Parts) -> Floats:
    values = [
        _smoothed(part.named(term.signal), term.signal, term.start, term.ewma) for part in parts
    ]
    bits = surprise(np.concatenate(values), term)
    return np.clip(bits - term.dead, 0, term.cap)


def _smoothed(values: Floats, signal: Signal, start: float, shift: int | None) -> Floats:
    """The values that the device's term looks up: in its integers, smoothed in 1/256 of them."""
    scale = signal_scale(signal, summed=False)
    # The device halves a signal in Q15 towards zero.
    integers = np.floor(np.rint(values * signal_scale(signal, summed=True)) / 2)
    if signal in LOGARITHMS:
        integers = np.rint(values * scale)
    if shift is not None:
        mean_q8, means = round(start * scale) * 256, []
        for value in integers.astype(np.int64).tolist():
            mean_q8 += (value * 256 - mean_q8) >> shift
            means.append(mean_q8 >> 8)
        integers = np.array(means, np.float64)
    looked_up: Floats = integers / scale
    return looked_up
