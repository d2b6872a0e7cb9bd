# SPDX-License-Identifier: Apache-2.0
"""Rules between members of a profile, which the schema cannot express."""

import math
from collections.abc import Iterator
from dataclasses import astuple

from tcuq.profile.settings import (
    MAX_DIMENSIONS,
    AlarmSettings,
    AnchoredScoreSettings,
    ChannelSignal,
    HealthSettings,
    InputSettings,
    MonitorSettings,
    NoveltySettings,
    Signal,
    TcuqScoreSettings,
    Term,
)


def inconsistencies(settings: MonitorSettings) -> Iterator[str]:
    """Yield a message for each rule that these settings break."""
    yield from _input_inconsistencies(settings)
    lags = settings.signals.lags
    if list(lags) != sorted(set(lags)):
        yield f"signals.lags must ascend, got {list(lags)}"
    if settings.signals.health is not None:
        yield from _health_inconsistencies(settings.signals.health)
    present = settings.present_signals
    match settings.score:
        case TcuqScoreSettings(signs=signs, weights=weights):
            if (weights.instability is None) != (settings.inputs.width == 0):
                yield "score.weights.instability must be null exactly when inputs.width is 0"
            lowest = min(v for v in astuple(weights) if v is not None)
            if signs == "monotone" and lowest < 0:
                yield f"score.weights must not be negative when signs is monotone, got {lowest}"
        case AnchoredScoreSettings(terms=terms):
            for index, term in enumerate(terms):
                yield from _term_inconsistencies(f"score.terms[{index}]", term, present)
    yield from _novelty_inconsistencies(settings)
    if settings.alarm is not None:
        yield from _alarm_inconsistencies(settings.alarm, settings.present_channels)
    yield from _threshold_inconsistencies(settings)
    yield from _promise_inconsistencies(settings)


def _input_inconsistencies(settings: MonitorSettings) -> Iterator[str]:
    inputs = settings.inputs
    if inputs.kind == "outputs":
        yield from _output_inconsistencies(settings)
    elif inputs.outputs is not None or inputs.classes < 2:
        yield (
            "inputs.classes must be at least 2, and inputs.outputs be null, unless inputs.kind is"
            f" outputs, got {inputs.classes} classes and kind {inputs.kind}"
        )
    yield from _feature_inconsistencies(inputs, settings.signals.novelty)
    if inputs.selection is not None:
        yield from _selection_inconsistencies(inputs, inputs.selection)


def _feature_inconsistencies(
    inputs: InputSettings, novelty: NoveltySettings | None
) -> Iterator[str]:
    projection = inputs.projection
    if (inputs.feature_scale is None) != (inputs.width == 0):
        yield "inputs.feature_scale must be null exactly when inputs.width is 0"
    if (projection is not None) != (inputs.width > MAX_DIMENSIONS):
        yield (
            f"inputs.projection must be given exactly when inputs.width exceeds {MAX_DIMENSIONS},"
            f" got width {inputs.width}"
        )
    if projection is not None:
        for name, rows in (("mean", (projection.mean,)), ("matrix", projection.matrix)):
            if any(len(row) != inputs.width for row in rows):
                yield f"inputs.projection.{name} must be {inputs.width} wide, as inputs.width"
    if novelty is not None:
        size = inputs.dimensions
        if len(novelty.whitening) != size:
            yield f"signals.novelty.whitening must have {size} rows, got {len(novelty.whitening)}"
        for name, rows in (("means", novelty.means), ("whitening", novelty.whitening)):
            if any(len(row) != size for row in rows):
                yield f"signals.novelty.{name} must be {size} wide, as the features"


def _selection_inconsistencies(inputs: InputSettings, selection: tuple[int, ...]) -> Iterator[str]:
    ascends = list(selection) == sorted(set(selection))
    if not ascends or selection[-1] >= inputs.width or inputs.projection is not None:
        yield (
            f"inputs.selection must ascend below inputs.width, {inputs.width}, and be null beside a"
            f" projection, got {list(selection)}"
        )


def _output_inconsistencies(settings: MonitorSettings) -> Iterator[str]:
    inputs = settings.inputs
    if inputs.outputs is None or inputs.classes != 0:
        yield (
            "inputs.outputs must be given, and inputs.classes be 0, when inputs.kind is outputs,"
            f" got {inputs.classes} classes"
        )
    elif len(inputs.outputs.scales) != inputs.columns:
        yield f"inputs.outputs.scales must be {inputs.columns}, one per centre"
    if settings.signals.stickiness != 0:
        yield f"signals.stickiness must be 0 without classes, got {settings.signals.stickiness}"
    if isinstance(settings.score, TcuqScoreSettings):
        yield "score.kind must be anchored without classes, got tcuq"


def _health_inconsistencies(health: HealthSettings) -> Iterator[str]:
    count = len(health.names)
    for name in ("means", "scales"):
        if len(getattr(health, name)) != count:
            yield (
                f"signals.health.{name} must be {count}, one per name,"
                f" got {len(getattr(health, name))}"
            )


def _term_inconsistencies(place: str, term: Term, present: tuple[Signal, ...]) -> Iterator[str]:
    if term.signal not in present:
        yield f"{place}.signal must be one of {', '.join(present)}, got {term.signal!r}"
    if len(term.points) != len(term.bits):
        yield f"{place}.bits must be as many as points, {len(term.points)}, got {len(term.bits)}"
    if any(a >= b for a, b in zip(term.points, term.points[1:], strict=False)):
        yield f"{place}.points must ascend strictly"
    if any(a > b for a, b in zip(term.bits, term.bits[1:], strict=False)):
        yield f"{place}.bits must not descend"


def _threshold_inconsistencies(settings: MonitorSettings) -> Iterator[str]:
    threshold = settings.threshold
    if threshold.step == 0 and threshold.start != threshold.anchor:
        yield (
            f"threshold.start must be the anchor, {threshold.anchor}, when step is 0,"
            f" got {threshold.start}"
        )
    if threshold.novelty_limit is not None and not settings.novelty:
        yield "threshold.novelty_limit must be null where the decision has no novelty"


def _novelty_inconsistencies(settings: MonitorSettings) -> Iterator[str]:
    terms = settings.novelty
    for index, term in enumerate(terms):
        yield from _term_inconsistencies(
            f"novelty[{index}]", term.as_term(), settings.present_signals
        )
    if len({term.signal for term in terms}) < len(terms):
        yield f"novelty must each have a signal of their own, got {terms[0].signal} twice"
    total = sum(term.share for term in terms)
    if terms and not math.isclose(total, 1):
        yield f"novelty's shares must add up to 1, got {total}"


def _alarm_inconsistencies(
    alarm: AlarmSettings, present: tuple[ChannelSignal, ...]
) -> Iterator[str]:
    names = [channel.signal for channel in alarm.channels]
    if len(set(names)) < len(names):
        yield f"alarm.channels must each have a signal of their own, got {', '.join(names)}"
    for index, channel in enumerate(alarm.channels):
        place = f"alarm.channels[{index}]"
        if channel.signal not in present:
            yield f"{place}.signal must be one of {', '.join(present)}, got {channel.signal!r}"
        if channel.block & (channel.block - 1):
            yield f"{place}.block must be a power of two, got {channel.block}"
        if list(channel.edges) != sorted(channel.edges):
            yield f"{place}.edges must not descend, got {list(channel.edges)}"
        if list(channel.gains_q8) != sorted(channel.gains_q8):
            yield f"{place}.gains_q8 must not descend, got {list(channel.gains_q8)}"
        for row in channel.passes:
            if list(row) != sorted(row, reverse=True):
                yield f"{place}.passes must not ascend with the edge, got {list(row)}"


def _promise_inconsistencies(settings: MonitorSettings) -> Iterator[str]:
    promise = settings.promise
    if promise is None:
        return
    if settings.threshold.step != 0:
        yield f"threshold.step must be 0 with a promise, got {settings.threshold.step}"
    if settings.alarm is None:
        yield "alarm must be given with a promise, which is void from an alarm on"
    if settings.budget.denied != "withhold":
        yield "budget.denied must be withhold with a promise: it covers accepted predictions alone"
    if promise.independent > promise.labelled:
        yield (
            f"promise.independent must be at most promise.labelled, {promise.labelled},"
            f" got {promise.independent}"
        )
    if promise.errors > promise.accepted_error * promise.labelled:
        yield (
            f"promise.errors must be at most {promise.accepted_error:g} of promise.labelled,"
            f" {promise.labelled}, got {promise.errors}"
        )
    if promise.coverage + promise.denied > 1:
        yield (
            "promise.coverage and promise.denied must be at most 1 together,"
            f" got {promise.coverage + promise.denied:g}"
        )
