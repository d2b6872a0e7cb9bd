# SPDX-License-Identifier: Apache-2.0
"""Signals: how a step differs from its recent past and from calibration.

Over the lags for which a past exists: divergence (weighted Jensen-Shannon, base 2), instability
(1 - mean cosine of features), inconsistency (share of changed labels). Over the whole past:
contradiction (log-odds by which it speaks against the label). Of the step alone: doubt (low
confidence and small margin blended), low confidence ln(1 - C + 1e-5), novelty ln(1 + d²), and
input health ln(1 + Σ z²) over the standard scores z of the sensor's statistics. Without classes,
divergence is the mean jump of the outputs, in ranges of 256 int8 steps, and departure ln(1 + |o|²)
of the outputs o, less that of the farthest.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import (
    MAX_HEALTH_DISTANCE,
    MAX_HEALTH_SCORE,
    MAX_STAY_CLASSES,
    UNSEEN,
    HealthSettings,
    InputSettings,
    SignalSettings,
)
from tcuq.stages.columns import SignalColumns, dot, least_squared_distance, matrix_times_rows

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Keeps ln(1 - C) finite where the classifier is certain.
CERTAIN = 1e-5
_SMALLEST = np.finfo(np.float64).tiny
FARTHEST = 18 * np.log(2)  # more than ln(1 + |o|²) of eight int8
OUTPUT_RANGE = 256


@dataclass(slots=True)
class _Past:
    """The last steps, as many as the longest lag: probabilities, entropy, label, features, norm."""

    probabilities: Floats
    entropy: Floats
    label: NDArray[np.int32]
    features: Floats
    norm: Floats

    def then(self, other: "_Past") -> "_Past":
        return _Past(
            *(np.concatenate([getattr(self, f), getattr(other, f)]) for f in _Past.__slots__)
        )

    def last(self, steps: int) -> "_Past":
        return _Past(*(getattr(self, f)[-steps:].copy() for f in _Past.__slots__))


class Signals:
    """Computes the signals of a stream, a step or a chunk at a time.

    Examples
    --------
    >>> signals = Signals(
    ...     SignalSettings(lags=(1,), blend=0.5, stickiness=0.0, novelty=None),
    ...     InputSettings("probabilities", classes=2, width=0, projection=None),
    ... )
    >>> columns = signals.run(np.array([[1.0, 0.0], [0.0, 1.0]]), None)
    >>> columns.divergence.tolist(), columns.inconsistency.tolist()
    ([0.0, 1.0], [0.0, 1.0])
    """

    def __init__(self, settings: SignalSettings, inputs: InputSettings) -> None:
        self.settings = settings
        self.inputs = inputs
        self._lags = np.array(settings.lags)
        novelty = settings.novelty
        if novelty is not None:
            self._whitening = np.array(novelty.whitening, np.float64)
            self._centres = matrix_times_rows(self._whitening, np.array(novelty.means, np.float64))
        self.reset_history()

    def reset_history(self) -> None:
        """Forget the past: the next step has none."""
        self._past = self._step(
            np.empty((0, self.inputs.columns)), np.empty((0, self.inputs.dimensions))
        )
        self._label_past = LabelPast(self.inputs.classes, self.settings.stickiness)

    def run(
        self, probabilities: Floats, features: Floats | None, health: Floats | None = None
    ) -> SignalColumns:
        """Return the signals of these steps, which follow those of the last call."""
        steps = len(probabilities)
        if features is None:
            features = np.empty((steps, 0))
        now = self._step(probabilities, features)
        past = self._past.then(now)
        divergence, instability, inconsistency = self._look_back(past, steps)
        confidence, doubt, low_confidence = self._look_now(probabilities)
        before = len(self._past.label)
        self._past = past.last(max(self.settings.lags))
        return SignalColumns(
            label=now.label,
            confidence=confidence,
            divergence=divergence,
            instability=instability if self.inputs.width else None,
            inconsistency=inconsistency,
            doubt=doubt,
            low_confidence=low_confidence,
            novelty=self._novelty(features) if self.settings.novelty is not None else None,
            contradiction=(
                self._label_past.run(probabilities) if self.settings.stickiness else None
            ),
            whole_past=before + np.arange(steps) >= max(self.settings.lags),
            health=(
                None
                if health is None or self.settings.health is None
                else health_signal(health, self.settings.health)
            ),
        )

    def _step(self, rows: Floats, features: Floats) -> _Past:
        """Return what later steps are compared with; without classes the label is 0."""
        norm = np.sqrt(dot(features, features))
        if self.inputs.outputs is not None:
            return _Past(rows, np.zeros(len(rows)), np.zeros(len(rows), np.int32), features, norm)
        return _Past(rows, _entropy(rows), rows.argmax(axis=1).astype(np.int32), features, norm)

    def _look_now(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Return confidence, doubt, and low confidence or departure."""
        if self.inputs.outputs is not None:
            steps = len(rows)
            return np.ones(steps), np.zeros(steps), np.log1p(dot(rows, rows)) - FARTHEST
        second, confidence = np.partition(rows, -2, axis=1)[:, -2:].T
        blend = self.settings.blend
        doubt = blend * (1 - confidence) + (1 - blend) * (1 - (confidence - second))
        return confidence.copy(), doubt, np.log(1 - confidence + CERTAIN)

    def steady_labels(self, columns: SignalColumns) -> NDArray[np.int32]:
        """Return the most probable class by posterior and past, of the steps of the last run."""
        if columns.contradiction is None:
            return columns.label
        return np.array(self._label_past.steady, np.int32)

    def _look_back(self, past: _Past, steps: int) -> tuple[Floats, Floats, Floats]:
        """Return divergence, instability and inconsistency over the lags that have a past."""
        new = np.arange(len(past.label) - steps, len(past.label))[:, None]
        old = new - self._lags
        exists = (old >= 0).astype(np.float64)  # one row per step, one column per lag
        old = np.maximum(old, 0)
        if self.inputs.outputs is not None:
            jumps = np.abs(past.probabilities[new] - past.probabilities[old])
            apart = jumps.mean(axis=2) / OUTPUT_RANGE
        else:
            mixture = (past.probabilities[new] + past.probabilities[old]) / 2
            apart = _entropy(mixture) - (past.entropy[new] + past.entropy[old]) / 2
        divergence = _mean(np.minimum(np.maximum(apart, 0), 1), exists / self._lags)
        inconsistency = _mean(past.label[new] != past.label[old], exists)
        if self.inputs.width == 0:
            return divergence, np.empty(0), inconsistency
        return divergence, _mean(1 - _cosine(past, new, old), exists), inconsistency

    def _novelty(self, features: Floats) -> Floats:
        whitened = matrix_times_rows(self._whitening, features)
        return np.log1p(least_squared_distance(whitened, self._centres))


class LabelPast:
    """What the past expects of the label: two classes and their probabilities.

    A class stays with the probability ``stickiness``, else any class follows. The posterior times
    what the past then expects of each class, relative to chance, is kept for the two most probable
    classes; the others share the rest. Contradiction is the logarithm of how much more the past
    expects the other classes, weighed by the posterior, than the label.

    Examples
    --------
    >>> past = LabelPast(classes=3, stickiness=0.5)
    >>> sure, changed = [0.9, 0.05, 0.05], [0.05, 0.9, 0.05]
    >>> past.run(np.array([sure, sure, changed])).round(2).tolist()
    [0.0, -1.17, 0.86]
    """

    def __init__(self, classes: int, stickiness: float) -> None:
        self.classes, self.stickiness = classes, stickiness
        self.kept: dict[int, float] = {}
        self.steady: list[int] = []  # the most probable class after each step of the last run

    def run(self, probabilities: Floats) -> Floats:
        """Return the contradiction of each step."""
        self.steady = []
        return np.array([self._step(row) for row in probabilities])

    def _step(self, row: Floats) -> float:
        shares = np.where(row > 0, row, UNSEEN)
        shares /= np.where(row > 0, 0.0, UNSEEN).sum() + 1
        ratios = self._ratios()
        weights = shares * ratios
        label = int(row.argmax())
        others = weights.sum() - weights[label]
        self._keep(row, weights / weights.sum())
        return float(np.log(others / (1 - shares[label]) / ratios[label]))

    def _ratios(self) -> Floats:
        """Return how much more probable each class is than without the past."""
        if not self.kept:
            return np.ones(self.classes)
        stay, change = self.stickiness, 1 - self.stickiness
        rest = 1 - sum(self.kept.values())
        ratios = np.full(self.classes, change)
        if self.classes > 2:
            ratios += stay * rest * self.classes / (self.classes - 2)
        for label, probability in self.kept.items():
            ratios[label] = change + stay * probability * min(self.classes, MAX_STAY_CLASSES)
        return ratios

    def _keep(self, row: Floats, probable: Floats) -> None:
        """Keep the two most probable of the classes that were kept and the posterior's two."""
        label, second = np.argsort(-row, kind="stable")[:2].tolist()
        candidates = [*self.kept, label] + ([second] if row[second] > 0 or not self.kept else [])
        best = sorted(dict.fromkeys(candidates), key=lambda c: -probable[c])[:2]
        self.kept = {label: float(probable[label]) for label in best}
        self.steady.append(best[0])


def health_signal(statistics: Floats, reference: HealthSettings) -> Floats:
    """Return ln(1 + Σ z²) over the standard scores of each step's statistics."""
    distance = np.minimum(np.abs(statistics - np.array(reference.means)), MAX_HEALTH_DISTANCE)
    scores = np.minimum(distance / np.array(reference.scales), MAX_HEALTH_SCORE)
    return np.log1p(dot(scores, scores))


def _entropy(rows: Floats) -> Floats:
    """Return the entropy in bits; 0 · log 0 = 0."""
    return -dot(rows, np.log2(np.maximum(rows, _SMALLEST)))


def _mean(values: NDArray[Any], weights: Floats) -> Floats:
    """Return the weighted mean over the columns; 0 where all weights are 0."""
    total = weights.sum(axis=1)
    mean = np.zeros(len(values))
    np.divide((values * weights).sum(axis=1), total, out=mean, where=total > 0)
    return mean


def _cosine(past: _Past, new: Indices, old: Indices) -> Floats:
    """Return the cosine similarity: 1 between two zero vectors, 0 between a zero and another."""
    norms = past.norm[new] * past.norm[old]
    cosine = ((past.norm[new] == 0) & (past.norm[old] == 0)).astype(np.float64)
    np.divide(dot(past.features[new], past.features[old]), norms, out=cosine, where=norms > 0)
    similarity: Floats = np.minimum(np.maximum(cosine, -1), 1)
    return similarity
