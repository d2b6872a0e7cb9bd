# SPDX-License-Identifier: Apache-2.0
"""A profile as text: its inputs, its guarantees and the streams it was fitted on."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import get_args

from tcuq.profile.settings import (
    ALPHA_BITS,
    NEEDS_CLASSES,
    RISK_LEVELS,
    TOKEN,
    AlarmSettings,
    AnchoredScoreSettings,
    MonitorSettings,
    PromiseSettings,
    Provenance,
    Signal,
    TcuqScoreSettings,
    ThresholdSettings,
)

MOST_FINDINGS = 5  # printed; the file has all


def summary_lines(profile: MonitorSettings, origin: Provenance, sha256: str) -> Iterator[str]:
    """Yield a profile as lines of text, at most 100 columns wide."""
    inputs = profile.inputs
    of_others = {"departure"} if inputs.outputs is None else NEEDS_CLASSES
    possible = [s for s in get_args(Signal) if s not in of_others]
    absent = [s for s in possible if s not in profile.present_signals]
    projected = None if inputs.projection is None else inputs.projection.kind
    how = projected if inputs.selection is None else "cut"
    reduced = "" if how is None else f", {how} to {inputs.dimensions}"
    yield f"profile    {sha256[:8]}  preset {origin.preset}, tcuq {origin.library}"
    yield (
        f"inputs     {inputs.what}{f' as {inputs.kind}' if inputs.classes else ''},"
        + (f" {inputs.width} features{reduced}" if inputs.width else " no features")
    )
    lags = ", ".join(map(str, profile.signals.lags))
    yield f"signals    compared over lags of {lags} steps" + (
        f"; absent: {', '.join(absent)}" if absent else ""
    )
    if profile.signals.health is not None:
        yield from _paragraph("health", ", ".join(profile.signals.health_names))
    yield from _score_lines(profile.score)
    yield from _threshold_lines(profile.threshold)
    budget = profile.budget
    yield (
        f"budget     in any n steps at most {budget.burst_q16 / TOKEN:g} +"
        f" {budget.rate_q16 / TOKEN:.3g} · n abstentions; further requests are denied, and"
        + (" used" if budget.denied == "use" else " withheld all the same")
    )
    if profile.promise is not None:
        yield from _promise_lines(profile.promise)
    if profile.alarm is None:
        yield "alarm      none"
    else:
        yield from _alarm_lines(profile.alarm, origin.figures)
    calibration = origin.calibration
    yield (
        f"made from  {calibration.steps:,} calibration steps ({calibration.distinct:,} distinct,"
        f" {calibration.recordings} recording{'s' if calibration.recordings > 1 else ''})"
        + (f" and {origin.development.steps:,} development steps" if origin.development else "")
    )
    if profile.alarm is not None:
        yield (
            f"new users  about one new recording in {calibration.recordings + 1} may raise an alarm"
            " at first; then the alarm learns it"
        )
    for finding in origin.findings[:MOST_FINDINGS]:
        yield from _paragraph("warning", finding.sentence)


def _score_lines(score: TcuqScoreSettings | AnchoredScoreSettings) -> Iterator[str]:
    if isinstance(score, TcuqScoreSettings):
        weights = score.weights
        named = [(n, getattr(weights, n)) for n in type(weights).__slots__]
        listed = ", ".join(f"{name} {value:+.3g}" for name, value in named if value is not None)
        yield from _paragraph("score", f"tcuq ({score.signs} signs), mix {score.mix:g}: {listed}")
        return
    odds = [
        term for term in score.terms if term.scale == "odds" and term.signal == "low_confidence"
    ]
    start = "constant odds"
    if odds:
        start = f"the classifier's own odds of an error, weight {odds[0].weight:.3g}"
    listed = ", ".join(
        f"{term.signal.replace('_', ' ')}"
        + (f" over {1 << term.ewma} steps" if term.ewma else "")
        + f" {term.weight:.3g}"
        for term in score.terms
        if term.signal != "low_confidence" and term.weight > 0
    )
    text = f"anchored: {start}, moved by the past and raised where signals are unusual: {listed}"
    yield from _paragraph("score", text)


def _threshold_lines(threshold: ThresholdSettings) -> Iterator[str]:
    anchor, alpha = threshold.anchor / RISK_LEVELS, threshold.alpha_q16 / (1 << ALPHA_BITS)
    if not threshold.step:
        text = f"fixed: withhold a prediction at a risk of {anchor:.4f} or above"
    elif threshold.mode == "guarded":
        text = f"withhold a prediction at a risk of {anchor:.4f} or above, or at less if fewer than"
        text += f" {alpha:.3g} of the steps reach it (guarded)"
    else:
        text = f"adaptive: withhold the {alpha:.3g} of the steps with the highest risk, at first"
        text += f" {anchor:.4f} or above"
    if threshold.novelty_limit is not None:
        text += f"; and an unusual one, at a novelty of {threshold.novelty_limit:.2f} bits or above"
    if threshold.warmup:
        text += f"; guarded for the first {threshold.warmup} steps"
    yield from _paragraph("threshold", text)


def _alarm_lines(alarm: AlarmSettings, figures: Mapping[str, float]) -> Iterator[str]:
    yield (
        f"alarm      at most one false alarm in {alarm.steps_per_false_alarm:,} steps, by the means"
        " of blocks of steps"
    )
    for channel in alarm.channels:
        soonest, longer = (
            _steps(figures.get(f"{channel.signal}.{name}", float("nan")))
            for name in ("fastest_alarm_steps", "fastest_alarm_steps_if_4_times_longer")
        )
        yield (
            f"           {channel.signal:<11} blocks of {channel.block:>3} steps, fastest alarm"
            f" {soonest} (with 4 times the data {longer})"
        )


def _promise_lines(promise: PromiseSettings) -> Iterator[str]:
    labels = (
        f"{promise.errors:,} of {promise.labelled:,} accepted labelled steps were wrong, counted as"
        f" {promise.independent:,} independent {promise.unit}; accepts {promise.coverage:.1%} of"
        f" calibration, and the budget would deny {promise.denied:.1%}, which the promise does not"
        " cover"
    )
    yield from _paragraph("promise", f"{promise.sentence}: {labels}")


def _paragraph(name: str, text: str) -> Iterator[str]:
    """Wrap a text behind its name, at 100 columns."""
    yield from wrap(text, 100, initial_indent=f"{name:<11}", subsequent_indent=" " * 11)


def _steps(count: float) -> str:
    return "∞ steps" if count == 0 else f"{count:.0f} steps"
