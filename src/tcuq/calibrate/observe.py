# SPDX-License-Identifier: Apache-2.0
"""Compute a recorded stream's signals and risk as the device does."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import HEALTH_ONE
from tcuq.calibrate.folds import folds, out_of_fold
from tcuq.calibrate.health import fit_health
from tcuq.calibrate.novelty import fit_novelty
from tcuq.monitor import make_engine
from tcuq.options import FitOptions
from tcuq.profile.quantize import (
    NO_DECISION,
    health_integers,
    projected_int8,
    quantize_score,
    quantize_signals,
)
from tcuq.profile.settings import (
    InputSettings,
    ScoreSettings,
    SignalSettings,
)
from tcuq.profile.signal_units import SIGNALS, signal_unit
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


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded stream in the device's integers."""

    posteriors: NDArray[np.uint8]  # or outputs
    features: NDArray[np.int8] | None
    health: NDArray[np.int16] | None
    starts: NDArray[np.int64]
    label: NDArray[np.int32]  # the predicted class; without classes, 0

    @property
    def lengths(self) -> list[int]:
        """Return the steps of each recording."""
        lengths: list[int] = np.diff(np.append(self.starts, len(self.posteriors))).tolist()
        return lengths

    def __getitem__(self, steps: NDArray[np.bool_]) -> "Recorded":
        """Return some steps, as one recording."""
        features = None if self.features is None else self.features[steps]
        health = None if self.health is None else self.health[steps]
        alone = np.zeros(1, np.int64)
        return Recorded(self.posteriors[steps], features, health, alone, self.label[steps])


@dataclass(frozen=True, slots=True)
class Observed:
    """What the stages after the signals read of the calibration stream."""

    signals: SignalSettings
    parts: Parts  # by recording
    features: Floats | None  # as they enter the device's signals, in float units
    classes: NDArray[np.int32]  # the true class where it is known, else the predicted one


def observe(stream: Stream, inputs: InputSettings, signals: SignalSettings) -> Parts:
    """Return the signals of each recording."""
    return _observe(_record(stream, inputs), inputs, signals)


def observe_calibration(stream: Stream, inputs: InputSettings, options: FitOptions) -> Observed:
    """Return the settings of the signals and their values on the calibration stream.

    Novelty and input health are measured out of fold. What no term reads, contradiction, is absent.
    """
    recorded = _record(stream, inputs)
    features = None
    if recorded.features is not None:
        features = projected_int8(recorded.features, inputs)
    classes = recorded.label
    if stream.labels is not None and inputs.classes:
        classes = np.where(stream.labels >= 0, stream.labels, classes)
    anchored = options.paper.score == "anchored"
    looks_back = anchored and any(term.signal == "contradiction" for term in options.terms)
    stickiness = _stickiness(recorded) if looks_back else 0.0
    statistics = None if recorded.health is None else recorded.health / HEALTH_ONE

    def fitted_on(steps: NDArray[np.bool_]) -> SignalSettings:
        return SignalSettings(
            options.lags,
            options.paper.blend,
            stickiness,
            None if features is None else fit_novelty(features[steps], classes[steps]),
            None if statistics is None else fit_health(statistics[steps], stream.health_names),
        )

    signals = fitted_on(np.ones(len(classes), np.bool_))
    parts = _observe(recorded, inputs, signals)
    rows = statistics if features is None else features
    if rows is not None:
        # Neither looks back, so the held-out steps of a fold are enough.
        held_out = out_of_fold(
            folds(recorded.lengths, rows),
            lambda fitted, steps: _without_past(recorded[steps], inputs, fitted_on(fitted)),
        )
        parts = [
            replace(
                part,
                novelty=None if part.novelty is None else values[:, 0],
                health=None if part.health is None else values[:, 1],
            )
            for part, values in zip(parts, _split(held_out, parts), strict=True)
        ]
    return Observed(signals, parts, features, classes)


def _without_past(recorded: Recorded, inputs: InputSettings, signals: SignalSettings) -> Floats:
    """Return novelty and health of each step, (n, 2); 0 where there is none."""
    (part,) = _observe(recorded, inputs, signals)
    absent = np.zeros(len(part.label))
    columns = (part.novelty, part.health)
    return np.column_stack([absent if each is None else each for each in columns])


def _split(column: Floats, parts: Parts) -> list[Floats]:
    """Cut a column of the whole stream where its parts begin."""
    return np.split(column, np.cumsum([len(part.label) for part in parts])[:-1])


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


def _stickiness(recorded: Recorded) -> float:
    """Return how much more often consecutive labels agree than by chance, halved; 0 if hardly.

    Halved, because errors persist as well: a past that is believed too much confirms them.
    """
    labels = recorded.label
    pairs = np.ones(len(labels), np.bool_)
    pairs[recorded.starts] = False
    chance = float(((np.bincount(labels) / len(labels)) ** 2).sum())
    if not pairs.any() or chance == 1:
        return 0.0
    same = float((labels[1:] == labels[:-1])[pairs[1:]].mean())
    beyond = (same - chance) / (1 - chance)
    stickiness = round(256 * BELIEF * beyond) / 256
    return stickiness if stickiness >= LEAST_STICKINESS else 0.0


def _engine(
    inputs: InputSettings, signals: SignalSettings, score: ScoreSettings | None = None
) -> Engine:
    """Return a runtime that computes signals, and a given score, but no decisions."""
    scored = {} if score is None else quantize_score(score)
    return make_engine({**NO_DECISION, **quantize_signals(inputs, signals), **scored}, inputs)


def _record(stream: Stream, inputs: InputSettings) -> Recorded:
    engine = _engine(inputs, SignalSettings((1,), 0.5, 0.0, None))
    posteriors = np.ascontiguousarray(stream.posteriors, np.float64)
    features = None if inputs.width == 0 else np.ascontiguousarray(stream.features, np.float64)
    quantised = engine.quantize(posteriors, features)
    assert quantised is not None  # noqa: S101 - a Stream was checked; for the type checker
    rows, wide = quantised
    bytes_ = np.frombuffer(rows, np.uint8).reshape(len(stream), inputs.columns)
    return Recorded(
        bytes_,
        np.frombuffer(wide, np.int8).reshape(len(stream), inputs.width) if wide else None,
        None if stream.health is None else health_integers(stream.health),
        stream.starts,
        _labels(bytes_, inputs),
    )


def _labels(rows: NDArray[np.uint8], inputs: InputSettings) -> NDArray[np.int32]:
    labels = rows.argmax(axis=1) if inputs.classes else np.zeros(len(rows))
    return labels.astype(np.int32)


def _observe(recorded: Recorded, inputs: InputSettings, signals: SignalSettings) -> Parts:
    engine = _engine(inputs, signals)
    starts = recorded.starts[1:]
    posteriors = np.split(recorded.posteriors, starts)
    none = [None] * len(posteriors)
    features = none if recorded.features is None else np.split(recorded.features, starts)
    given = None if signals.health is None else recorded.health
    health = none if given is None else np.split(given, starts)
    columns = zip(posteriors, features, health, strict=True)
    return [_columns(engine, part, inputs, signals) for part in columns]


def _columns(
    engine: Engine,
    recording: tuple[NDArray[np.uint8], NDArray[np.int8] | None, NDArray[np.int16] | None],
    inputs: InputSettings,
    signals: SignalSettings,
) -> SignalColumns:
    rows, features, health = recording
    engine.reset_history()
    observed = engine.observe(rows, features, health)
    assert observed is not None  # noqa: S101 - bytes break no rule; for the type checker
    table = np.frombuffer(observed, np.int32).reshape(len(rows), OBSERVED)
    values = table.astype(np.float64)
    column = {name: values[:, i] * signal_unit(name) for i, name in enumerate(SIGNALS)}
    return SignalColumns(
        label=_labels(rows, inputs),
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
