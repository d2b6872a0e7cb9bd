# SPDX-License-Identifier: Apache-2.0
"""A profile as text: its inputs, its guarantees and the streams it was fitted on."""

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import get_args

from tcuq.profile.settings import (
    ALPHA_BITS,
    RISK_LEVELS,
    TOKEN,
    AlarmSettings,
    AnchoredScoreSettings,
    MonitorSettings,
    PromiseSettings,
    Provenance,
    Signal,
    TcuqScoreSettings,
)

MOST_FINDINGS = 5  # printed; the file has all


def summary_lines(profile: MonitorSettings, origin: Provenance, sha256: str) -> Iterator[str]:
    """Yield a profile as lines of text, at most 100 columns wide."""
    inputs = profile.inputs
    absent = [s for s in get_args(Signal) if s not in profile.present_signals]
    projected = (
        "" if inputs.projection is None else f", {inputs.projection.kind} to {inputs.dimensions}"
    )
    yield f"profile    {sha256[:8]}  preset {origin.preset}, tcuq {origin.library}"
    yield (
        f"inputs     {inputs.classes} classes as {inputs.kind},"
        + (f" {inputs.width} features{projected}" if inputs.width else " no features")
    )
    lags = ", ".join(map(str, profile.signals.lags))
    yield f"signals    lags {lags}" + (f"; absent: {', '.join(absent)}" if absent else "")
    if profile.signals.health is not None:
        listed = ", ".join(profile.signals.health_names)
        yield from wrap(listed, 100, initial_indent="health     ", subsequent_indent=" " * 11)
    yield from _score_lines(profile.score)
    threshold = profile.threshold
    yield (
        f"threshold  {threshold.mode if threshold.step else 'fixed'}, alpha"
        f" {threshold.alpha_q16 / (1 << ALPHA_BITS):.3g}, anchored at risk"
        f" {threshold.anchor / RISK_LEVELS:.4f}"
        + (f", warm-up {threshold.warmup} steps" if threshold.warmup else "")
    )
    budget = profile.budget
    yield (
        f"budget     at most {budget.burst_q16 / TOKEN:g} + {budget.rate_q16 / TOKEN:.3g} · n"
        " abstentions in any n steps"
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
        f" {calibration.recordings} recordings)"
        + (f" and {origin.development.steps:,} development steps" if origin.development else "")
    )
    if profile.alarm is not None:
        yield (
            f"newcomers  about one recording in {calibration.recordings + 1} may alarm at first,"
            " and is then learned"
        )
    for finding in origin.findings[:MOST_FINDINGS]:
        yield from wrap(
            finding.sentence, 100, initial_indent="warning    ", subsequent_indent=" " * 11
        )


def _score_lines(score: TcuqScoreSettings | AnchoredScoreSettings) -> Iterator[str]:
    if isinstance(score, TcuqScoreSettings):
        weights = score.weights
        named = [(n, getattr(weights, n)) for n in type(weights).__slots__]
        listed = ", ".join(f"{name} {value:+.3g}" for name, value in named if value is not None)
        yield f"score      tcuq ({score.signs} signs), mix {score.mix:g}: {listed}"
        return
    listed = " + ".join(
        f"{term.weight:.3g}·{term.signal}"
        + (" odds" if term.scale == "odds" else "")
        + (f"(ewma 1/{1 << term.ewma})" if term.ewma else "")
        + (" low" if term.tail == "lower" else "")
        for term in score.terms
    )
    odds = "odds and " if any(term.scale == "odds" for term in score.terms) else ""
    text = f"anchored, sigmoid of {odds}bits of surprise: {listed} {score.bias:+.3g}"
    yield from wrap(text, 100, initial_indent="score      ", subsequent_indent=" " * 11)


def _alarm_lines(alarm: AlarmSettings, figures: Mapping[str, float]) -> Iterator[str]:
    yield f"alarm      one false alarm in {alarm.steps_per_false_alarm:,} steps, by block means of"
    for channel in alarm.channels:
        name = channel.signal

        def figure(what: str, name: str = name) -> float:
            return figures.get(f"{name}.{what}", float("nan"))

        yield (
            f"           {name:<14} τ {figure('autocorrelation_time_steps'):5.1f} steps, block"
            f" {channel.block:>4}, {figure('independent_blocks'):>4.0f} independent; fastest"
            f" {_steps(figure('fastest_alarm_steps'))}"
            f" (4× data: {_steps(figure('fastest_alarm_steps_if_4_times_longer'))})"
        )


def _promise_lines(promise: PromiseSettings) -> Iterator[str]:
    labels = (
        f"{promise.errors:,} of {promise.labelled:,} accepted labelled steps were wrong, counted as"
        f" {promise.independent:,} independent {promise.unit}; accepts {promise.coverage:.1%} of"
        f" calibration, and the budget would deny {promise.denied:.1%}, which the promise does not"
        " cover"
    )
    yield from wrap(
        f"{promise.sentence}: {labels}",
        100,
        initial_indent="promise    ",
        subsequent_indent=" " * 11,
    )


def _steps(count: float) -> str:
    return "never" if count == 0 else f"{count:.0f} steps"
