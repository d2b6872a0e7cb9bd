# SPDX-License-Identifier: Apache-2.0
"""Tests of the accepted error, by what is independent: the recordings, or steps far apart.

Recordings are tested by betting (Waudby-Smith and Ramdas, 2024): exact for independent recordings,
however their steps depend on each other. Steps are tested by the exact binomial, their number
divided by the design effect: the longest autocorrelation time of the errors, of the classifier's
doubt and of the true labels, whose visits may be right or wrong as a whole, and repetitions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from tcuq.autocorrelation import autocorrelation_time
from tcuq.profile.settings import RISK_LEVELS
from tcuq.stream import Stream

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Unit = Literal["recordings", "steps"]

ENOUGH_ERRORS = 20  # fewer do not show how errors cluster


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSteps:
    """The labelled steps of a stream in order: which are wrong, and what they have in common.

    ``doubt`` is the classifier's own probability of an error; it and the labels show how errors may
    cluster that are too few to show it themselves.
    """

    wrong: Bools
    label: Ints  # true
    doubt: Floats
    recording: Ints
    row: Ints  # equal for equal steps
    levels: Ints  # of risk

    def independent(self, unit: Unit, levels: Sequence[int]) -> list[int]:
        """Return how many independent units accept below each risk level."""
        accepted = [self.levels < level for level in levels]
        if unit == "recordings":
            return [len(np.unique(self.recording[below])) for below in accepted]
        effects = self._design_effects(levels)
        return [int(below.sum() / effect) for below, effect in zip(accepted, effects, strict=True)]

    def error_by_recording(self, level: int) -> Floats:
        """Return the accepted error of each recording that accepts any step."""
        accepted = self.levels < level
        counts = np.bincount(self.recording[accepted])
        errors = np.bincount(self.recording[accepted], self.wrong[accepted])
        return errors[counts > 0] / counts[counts > 0]

    def _design_effects(self, levels: Sequence[int]) -> list[float]:
        """Return the design effect below each level, or below the first with enough errors."""
        slowest = max(self._inflation(np.ones(len(self.levels), np.bool_), self.doubt), self._dwell)
        errors = np.sort(self.levels[self.wrong])
        enough = int(errors[:ENOUGH_ERRORS][-1]) + 1 if len(errors) else RISK_LEVELS
        reached = [max(level, enough) for level in levels]
        wrong = self.wrong.astype(np.float64)
        effects = {level: self._inflation(self.levels < level, wrong) for level in set(reached)}
        return [max(effects[level], slowest) for level in reached]

    @property
    def _dwell(self) -> float:
        """Return the autocorrelation time of the labels: of visits that err as a whole."""
        by_class = self.label[:, None] == np.unique(self.label)
        return autocorrelation_time(np.split(by_class, self._cuts))

    @property
    def _cuts(self) -> Ints:
        return np.flatnonzero(np.diff(self.recording)) + 1

    def _inflation(self, accepted: Bools, values: Floats) -> float:
        """Return the variance of the mean of the accepted values over that of independent ones."""
        residuals = np.where(accepted, values - values[accepted].mean(), 0.0)
        spread = float(residuals @ residuals)
        if spread <= 0:
            return 1.0
        by_row = np.bincount(self.row, residuals)
        repeated = float(by_row @ by_row) / spread
        return autocorrelation_time(np.split(residuals, self._cuts)) + max(repeated - 1, 0.0)


def labelled_steps(
    stream: Stream, predicted: NDArray[np.int32], doubt: Floats, levels: Ints
) -> LabelledSteps:
    """Return a stream's labelled steps."""
    assert stream.labels is not None  # noqa: S101 - checked; for the type checker
    known = stream.labels >= 0
    columns = [c for c in (stream.posteriors, stream.features) if c is not None]
    joint = np.hstack([column[known].astype(np.float64) for column in columns])
    rows = np.ascontiguousarray(joint).view(f"V{joint.shape[1] * 8}").ravel()
    recording = np.searchsorted(stream.starts, np.arange(len(stream)), side="right") - 1
    return LabelledSteps(
        wrong=(predicted != stream.labels)[known],
        label=stream.labels[known].astype(np.int64),
        doubt=doubt[known],
        recording=recording[known],
        row=np.unique(rows, return_inverse=True)[1].ravel(),
        levels=levels[known],
    )


def binomial_p_value(errors: float, steps: int, share: float) -> float:
    """Return P(at most so many errors), rounded up, if each step errs with this probability."""
    count = math.ceil(errors - 1e-9)
    return 1.0 if count >= steps else float(betainc(steps - count, count + 1, 1 - share))


def betting_p_value(shares: Floats, share: float, miss: float) -> float:
    """Return 1 over the largest capital of bets that the mean is below `share`.

    `shares` lie in 0..1 and are independent. Each bet is chosen by the recordings before it, so
    that the capital is a martingale, or falls, if the mean is `share` or more (Ville's inequality).
    """
    count = np.arange(1, len(shares) + 1)
    mean = np.cumsum(shares) / count
    prior = share * (1 - share)
    spread = (prior + np.cumsum((shares - mean) ** 2)) / (count + 1)
    before = np.concatenate([[prior], spread[:-1]])
    bets = np.minimum(np.sqrt(-2 * math.log(miss) / (len(shares) * before)), 1 / (1 - share))
    capital = np.cumsum(np.log(np.maximum(1 + bets * (share - shares), 1e-300)))
    return float(min(1.0, math.exp(-capital.max())))
