# SPDX-License-Identifier: Apache-2.0
"""Compute a recorded stream's signals and risk as the device does."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import HEALTH_ONE
from tcuq.calibrate.folds import folds, out_of_fold
from tcuq.calibrate.health import fit_health
from tcuq.calibrate.novelty import fit_novelty, novelty_out_of_fold
from tcuq.monitor import make_engine
from tcuq.profile.quantize import (
    LOGARITHMS,
    NO_DECISION,
    SIGNALS,
    health_integers,
    projected_int8,
    quantize_score,
    quantize_signals,
    signal_scale,
    signal_unit,
)
from tcuq.profile.settings import (
    AnchoredScoreSettings,
    HealthSettings,
    InputSettings,
    NoveltySettings,
    ScoreSettings,
    SignalSettings,
    Term,
)
from tcuq.runtime import Engine
from tcuq.stages.columns import SignalColumns
from tcuq.stream import Stream

Parts = Sequence[SignalColumns]
Floats = NDArray[np.float64]

# Columns of the engine's observation behind the signals.
CONFIDENCE, WHOLE_PAST, HEALTH, HEALTH_GIVEN = range(len(SIGNALS), len(SIGNALS) + 4)
OBSERVED = HEALTH_GIVEN + 1
HEALTH_UNIT = signal_unit("novelty")  # both are Q10 of log2


def observe(stream: Stream, inputs: InputSettings, signals: SignalSettings) -> Parts:
    """Return the signals of each recording."""
    engine = _engine(inputs, signals)
    return [_columns(engine, part, inputs, signals) for part in stream.recordings()]


def observe_calibration(
    stream: Stream, inputs: InputSettings, lags: tuple[int, ...], blend: float
) -> tuple[SignalSettings, Parts]:
    """Return the settings of the signals and their values on the calibration stream.

    Novelty and input health are measured out of fold.
    """
    signals = SignalSettings(lags, blend, novelty=None)
    parts = observe(stream, inputs, signals)
    features = device_features(stream, inputs) if inputs.width else None
    if features is not None:
        novelty, column = _calibrated_novelty(stream, inputs, signals, parts, features)
        signals = replace(signals, novelty=novelty)
        split = zip(parts, _split(column, parts), strict=True)
        parts = [replace(part, novelty=values) for part, values in split]
    if stream.health is not None:
        health, column = _calibrated_health(stream, inputs, signals, parts, features)
        signals = replace(signals, health=health)
        split = zip(parts, _split(column, parts), strict=True)
        parts = [replace(part, health=values) for part, values in split]
    return signals, parts


def _calibrated_novelty(
    stream: Stream, inputs: InputSettings, signals: SignalSettings, parts: Parts, features: Floats
) -> tuple[NoveltySettings, Floats]:
    """Return novelty's reference, and each step's novelty against one fitted without it."""
    labels = reference_labels(stream, parts)

    def against(reference: NoveltySettings) -> Floats:
        columns = observe(stream, inputs, replace(signals, novelty=reference))
        return np.concatenate([part.named("novelty") for part in columns])

    lengths = [len(part.label) for part in parts]
    return fit_novelty(features, labels), novelty_out_of_fold(features, labels, lengths, against)


def _calibrated_health(
    stream: Stream,
    inputs: InputSettings,
    signals: SignalSettings,
    parts: Parts,
    features: Floats | None,
) -> tuple[HealthSettings, Floats]:
    """Return health's reference, and each step's health against one fitted without it."""
    assert stream.health is not None  # noqa: S101 - checked; for the type checker
    statistics, names = health_integers(stream.health) / HEALTH_ONE, stream.health_names

    def fitted_on(steps: NDArray[np.bool_]) -> Floats:
        reference = fit_health(statistics[steps], names)
        columns = observe(stream, inputs, replace(signals, novelty=None, health=reference))
        return np.concatenate([part.named("health") for part in columns])

    fold = folds([len(part.label) for part in parts], statistics if features is None else features)
    return fit_health(statistics, names), out_of_fold(fold, fitted_on)


def _split(column: Floats, parts: Parts) -> list[Floats]:
    """Cut a column of the whole stream where its parts begin."""
    return np.split(column, np.cumsum([len(part.label) for part in parts])[:-1])


def reference_labels(stream: Stream, parts: Parts) -> NDArray[np.int32]:
    """Return the true class where it is known, else the predicted one."""
    predicted = np.concatenate([part.label for part in parts])
    if stream.labels is None:
        return predicted
    return np.where(stream.labels >= 0, stream.labels, predicted)


def risk_levels(
    parts: Parts, inputs: InputSettings, signals: SignalSettings, score: ScoreSettings
) -> NDArray[np.int64]:
    """Return the risk of each step in 0..16384, by the device's score on these signals."""
    engine = _engine(inputs, signals, score)
    levels = [np.frombuffer(_score(engine, part)[0], np.uint16) for part in parts]
    return np.concatenate(levels).astype(np.int64)


def term_values(
    parts: Parts, inputs: InputSettings, signals: SignalSettings, terms: tuple[Term, ...]
) -> list[Floats]:
    """Return the values looked up in each term's table, larger ones more surprising."""
    engine = _engine(inputs, signals, AnchoredScoreSettings(terms, 0.0))
    tables = [_signal_integers(part) for part in parts]
    smoothed = [np.frombuffer(_score(engine, part)[1], np.int16) for part in parts]
    return term_inputs(np.concatenate(tables), np.concatenate(smoothed), terms)


def term_inputs(
    observed: NDArray[np.int32], smoothed: NDArray[np.int16], terms: tuple[Term, ...]
) -> list[Floats]:
    """Return the same from the engine's signals and smoothed values, whose terms come first."""
    means = smoothed.reshape(len(observed), -1)
    values = []
    for number, term in enumerate(terms):
        column = observed[:, SIGNALS.index(term.signal)]
        # The device halves a signal in Q15 towards zero.
        plain = column if term.signal in LOGARITHMS else column >> 1
        integers = plain if term.ewma is None else means[:, number]
        upward = integers if term.tail == "upper" else -integers.astype(np.int32)
        values.append(upward / signal_scale(term.signal, summed=False))
    return values


def _score(engine: Engine, part: SignalColumns) -> tuple[bytearray, bytearray]:
    engine.reset_history()
    return engine.score(_signal_integers(part))


def device_features(stream: Stream, inputs: InputSettings) -> Floats:
    """Return the features that enter the device's signals, in float units."""
    engine = _engine(inputs, SignalSettings((1,), 0.5, None))
    _, quantised = _bytes(engine, stream, inputs)
    return projected_int8(np.frombuffer(quantised, np.int8).reshape(len(stream), -1), inputs)


def _engine(
    inputs: InputSettings, signals: SignalSettings, score: ScoreSettings | None = None
) -> Engine:
    """Return a runtime that computes signals, and a given score, but no decisions."""
    scored = {} if score is None else quantize_score(score)
    return make_engine({**NO_DECISION, **quantize_signals(inputs, signals), **scored}, inputs)


def _bytes(engine: Engine, stream: Stream, inputs: InputSettings) -> tuple[bytes, bytes]:
    posteriors = np.ascontiguousarray(stream.posteriors, np.float64)
    features = None if inputs.width == 0 else np.ascontiguousarray(stream.features, np.float64)
    quantised = engine.quantize(posteriors, features)
    assert quantised is not None  # noqa: S101 - a Stream was checked; for the type checker
    return quantised


def _columns(
    engine: Engine, part: Stream, inputs: InputSettings, signals: SignalSettings
) -> SignalColumns:
    engine.reset_history()
    posteriors, features = _bytes(engine, part, inputs)
    rows = np.frombuffer(posteriors, np.uint8).reshape(len(part), inputs.classes)
    wide = np.frombuffer(features, np.int8).reshape(len(part), inputs.width) if features else None
    statistics = None if signals.health is None else part.health
    health = None if statistics is None else health_integers(statistics)
    observed = engine.observe(rows, wide, health)
    assert observed is not None  # noqa: S101 - bytes break no rule; for the type checker
    table = np.frombuffer(observed, np.int32).reshape(len(part), OBSERVED)
    values = table.astype(np.float64)
    column = {name: values[:, i] * signal_unit(name) for i, name in enumerate(SIGNALS)}
    return SignalColumns(
        label=rows.argmax(axis=1).astype(np.int32),
        confidence=values[:, CONFIDENCE] / 65536,
        divergence=column["divergence"],
        instability=column["instability"] if inputs.width else None,
        inconsistency=column["inconsistency"],
        doubt=column["doubt"],
        low_confidence=column["low_confidence"],
        novelty=None if signals.novelty is None else column["novelty"],
        whole_past=table[:, WHOLE_PAST] != 0,
        health=values[:, HEALTH] * HEALTH_UNIT if health is not None else None,
    )


def _signal_integers(part: SignalColumns) -> NDArray[np.int32]:
    """Return signals in the integers of the engine's score."""
    table = np.zeros((len(part.label), OBSERVED), np.int32)
    for index, name in enumerate(SIGNALS):
        values = getattr(part, name)
        if values is not None:
            table[:, index] = np.rint(values / signal_unit(name))
    table[:, CONFIDENCE] = np.rint(part.confidence * 65536)
    return table
