# SPDX-License-Identifier: Apache-2.0
"""Fit the score: survival tables from calibration, weights from labels if there are any."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.calibrate.combiner import Sample, fit_factor, fit_logistic, fit_near
from tcuq.calibrate.observe import Parts, observe
from tcuq.calibrate.orders import grouped_by_class
from tcuq.calibrate.tails import TermTable, odds_table, survival_table
from tcuq.errors import FitError
from tcuq.options import FitOptions, TermPlan
from tcuq.profile.settings import (
    MAX_NOVELTY,
    MAX_TERM_WEIGHT,
    NEEDS_CLASSES,
    NEEDS_FEATURES,
    AnchoredScoreSettings,
    CombinerWeights,
    InputSettings,
    SignalSettings,
    TcuqScoreSettings,
    Term,
)
from tcuq.profile.signal_units import steepest_slope
from tcuq.stages.columns import SignalColumns, concatenate
from tcuq.stages.score import COMBINED, sigmoid, term_bits
from tcuq.stream import Stream

Floats = NDArray[np.float64]

LOWEST_BIAS = -8.0  # where the device's sigmoid ends
# Shares of the loss of the labelled fit, docs/decisions/0024.
AS_RECORDED, GROUPED, IN_DISTRIBUTION = 0.65, 0.25, 0.1
TRUST = 0.5  # of the label-free weights, in the weights that the labelled fit begins from
BISECTIONS = 40
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
    calibration: Parts,
    plans: Sequence[TermPlan],
    inputs: InputSettings,
    signals: SignalSettings,
    wrong: float | None,
) -> AnchoredScoreSettings:
    """Fit each term's table on the calibration stream, without terms of absent signals.

    The biases make the mean risk and the mean expected error on calibration those that the
    classifier itself expects, 1 - confidence; ``wrong``, of a model without classes. Without odds
    among the terms of a classifier the bias is log2 of that error rate: a step as surprising as one
    calibration step in so many has risk 1/2.
    """
    absent: set[str] = {"contradiction"} if signals.stickiness == 0 else set()
    absent |= {"departure"} if inputs.classes else NEEDS_CLASSES
    absent |= set() if inputs.width else set(NEEDS_FEATURES)
    usable = [plan for plan in plans if plan.signal not in absent]
    if not usable:
        needs = ", ".join(sorted({plan.signal for plan in plans}))
        raise FitError(
            f"every term's signal ({needs}) needs features or classes that are not there"
        )
    columns = concatenate(calibration)
    fits = [_fit_term(plan, columns.named(plan.signal)) for plan in usable]
    terms = tuple(_from_mean(term, calibration) for term in fits)
    return _with_biases(terms, calibration, wrong)


def _with_biases(
    terms: tuple[Term, ...], calibration: Parts, wrong: float | None = None
) -> AnchoredScoreSettings:
    """Return the score of these terms with the biases that `fit_anchored` describes."""
    confidence = np.concatenate([part.confidence for part in calibration])
    expected = 1 - float(confidence.mean()) if wrong is None else wrong
    if wrong is None and not any(term.scale == "odds" for term in terms):
        bias = math.log2(max(expected, 2.0**LOWEST_BIAS))
        return AnchoredScoreSettings(terms, bias, bias)
    above = np.column_stack(_above(calibration, terms))
    risks = above @ np.array([term.weight for term in terms])
    errors = above @ np.array([term.error_weight for term in terms])
    return AnchoredScoreSettings(terms, _bias_for(risks, expected), _bias_for(errors, expected))


def fit_stress(
    settings: AnchoredScoreSettings, stress: Stream, parts: Parts, calibration: Parts
) -> AnchoredScoreSettings:
    """Weigh novelty in the risk by what faults cost this classifier, docs/decisions/0076.

    Its weights become a multiple, at most 1, of those in the expected error, by logistic regression
    on predictions that faults changed; none falls below the label-free weight.
    """
    terms = settings.terms
    novel = np.array([term.signal == "novelty" for term in terms])
    known, wrong = outcomes(stress, concatenate(parts))
    above = np.column_stack(_above(parts, terms))[known]
    weights = np.array([term.weight for term in terms])
    pattern = np.array([term.error_weight for term in terms]) * novel
    factor = fit_factor(above @ (weights * ~novel), above @ pattern, wrong)
    weighed = tuple(
        replace(term, weight=_coarse(max(weight, factor * most)))
        for term, weight, most in zip(terms, weights, pattern, strict=True)
    )
    return _with_biases(weighed, calibration)


def _fit_term(plan: TermPlan, values: Floats) -> Term:
    """Return a term with its table, by what calibration showed of its signal."""
    table = (
        odds_table(plan.signal)
        if plan.scale == "odds"
        else survival_table(*np.unique(values, return_counts=True), steepest_slope(plan.signal))
    )
    return Term(
        plan.signal,
        plan.scale,
        plan.ewma,
        start=0.0,
        dead=float(plan.dead),
        cap=float(plan.cap),
        weight=float(plan.weight),
        error_weight=float(plan.error_weight),
        points=table.points,
        bits=table.bits,
        slope=table.slope,
    )


def _from_mean(term: Term, calibration: Parts) -> Term:
    """Return a smoothed term that starts from its mean on calibration; odds count from there."""
    if term.ewma is None:
        return term
    plain = replace(term, ewma=None)
    bits = [term_bits(part.named(term.signal), plain, 0.0) for part in calibration]
    mean = float(np.concatenate(bits).mean())
    dead = min(mean + term.dead, MAX_NOVELTY) if term.scale == "odds" else term.dead
    return replace(term, start=mean, dead=dead)


def _above(parts: Parts, terms: tuple[Term, ...]) -> list[Floats]:
    """Return clip(bits - dead, 0, cap) of each term, over all steps."""
    above = []
    for term in terms:
        bits = [term_bits(part.named(term.signal), term, term.start) for part in parts]
        above.append(np.clip(np.concatenate(bits) - term.dead, 0, term.cap))
    return above


def _bias_for(sums: Floats, mean: float) -> float:
    """Return the bias at which the mean of the sigmoids is `mean`, in 1/256."""
    low, high = -32.0, 32.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if sigmoid(sums + middle).mean() > mean else (middle, high)
    return _coarse(high)


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
    grouped by class, and calibration's if it has labels and errors enough. The expected error stays
    as it is: it is for stretches of which nothing is known.
    """
    terms = settings.terms

    def sample(stream: Stream, parts: Parts, share: float) -> Sample:
        known, wrong = outcomes(stream, concatenate(parts))
        above = _above(parts, terms)
        return Sample(np.column_stack([column[known] for column in above]), wrong, share)

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
    return replace(settings, terms=weighed, bias=_coarse(bias))


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


def with_table(term: Term, table: TermTable) -> Term:
    """Return the term with this table."""
    return replace(term, points=table.points, bits=table.bits, slope=table.slope)


def _coarse(value: float) -> float:
    """Return a fitted number in 1/256: no other linear algebra moves it."""
    return round(256 * float(value)) / 256
