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
from tcuq.options import FitOptions
from tcuq.profile.quantize import (
    NO_DECISION,
    SIGNALS,
    health_integers,
    projected_int8,
    quantize_score,
    quantize_signals,
    signal_unit,
)
from tcuq.profile.settings import (
    HealthSettings,
    InputSettings,
    NoveltySettings,
    ScoreSettings,
    SignalSettings,
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
BELIEF = 0.5  # of the agreement of consecutive labels, docs/decisions/0073
LEAST_STICKINESS = 1 / 32  # less is not worth a signal, and a shuffled stream may show it by chance


def observe(stream: Stream, inputs: InputSettings, signals: SignalSettings) -> Parts:
    """Return the signals of each recording."""
    engine = _engine(inputs, signals)
    return [_columns(engine, part, inputs, signals) for part in stream.recordings()]


def observe_calibration(
    stream: Stream, inputs: InputSettings, options: FitOptions
) -> tuple[SignalSettings, Parts]:
    """Return the settings of the signals and their values on the calibration stream.

    Novelty and input health are measured out of fold. What no term reads, contradiction, is absent.
    """
    anchored = options.paper.score == "anchored"
    looks_back = anchored and any(term.signal == "contradiction" for term in options.terms)
    stickiness = fit_stickiness(stream, inputs) if looks_back else 0.0
    signals = SignalSettings(options.lags, options.paper.blend, stickiness, novelty=None)
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
    levels = []
    for part in parts:
        engine.reset_history()
        levels.append(np.frombuffer(engine.score(_signal_integers(part)), np.uint16))
    return np.concatenate(levels).astype(np.int64)


def fit_stickiness(stream: Stream, inputs: InputSettings) -> float:
    """Return how much more often consecutive labels agree than by chance, halved; 0 if hardly.

    Halved, because errors persist as well: a past that is believed too much confirms them.
    """
    engine = _engine(inputs, SignalSettings((1,), 0.5, 0.0, None))
    same, pairs, counts = 0, 0, np.zeros(inputs.classes)
    for part in stream.recordings():
        rows = np.frombuffer(_bytes(engine, part, inputs)[0], np.uint8)
        labels = rows.reshape(len(part), inputs.classes).argmax(axis=1)
        same += int((labels[1:] == labels[:-1]).sum())
        pairs += len(labels) - 1
        counts += np.bincount(labels, minlength=inputs.classes)
    chance = float(((counts / counts.sum()) ** 2).sum())
    if pairs == 0 or chance == 1:
        return 0.0
    beyond = (same / pairs - chance) / (1 - chance)
    stickiness = round(256 * BELIEF * beyond) / 256
    return stickiness if stickiness >= LEAST_STICKINESS else 0.0


def device_features(stream: Stream, inputs: InputSettings) -> Floats:
    """Return the features that enter the device's signals, in float units."""
    engine = _engine(inputs, SignalSettings((1,), 0.5, 0.0, None))
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
        contradiction=column["contradiction"] if signals.stickiness else None,
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
