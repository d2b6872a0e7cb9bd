# SPDX-License-Identifier: Apache-2.0
"""How many independent steps the labelled ones are worth: Kish's effective sample size.

The design effect is the variance of the accepted error over that of independent steps: by the
autocorrelation within recordings, or by the spread between recordings if that is larger, and by
repeated steps. Few recordings estimate it poorly, which Student's t corrects.

References
----------
E. Korn and B. Graubard, Confidence intervals for proportions with small expected number of positive
counts estimated from survey data, Survey Methodology 24, 1998.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from tcuq._autocorrelation import autocorrelation_time
from tcuq.stream import Stream

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ENOUGH_ERRORS = 20  # fewer do not show how errors cluster


@dataclass(frozen=True, slots=True, eq=False)
class LabelledSteps:
    """The labelled steps of a stream in order: which are wrong, and what they have in common.

    ``doubt`` is the classifier's own probability of an error, which stands for the errors where
    they are too few to show how they cluster.
    """

    wrong: Bools
    doubt: Floats
    recording: Ints
    row: Ints  # equal for equal steps
    confidence: float

    def independent(self, levels: Ints, level: int) -> int:
        """Return how many independent steps those below a risk level are worth."""
        accepted = levels < level
        steps = int(accepted.sum())
        if steps == 0:
            return 0
        return int(steps / self._design_effect(levels, level) * self._few_recordings(accepted))

    def _design_effect(self, levels: Ints, level: int) -> float:
        """Return the design effect below the level, or below the first with enough errors."""
        errors = np.sort(levels[self.wrong])
        if len(errors) >= ENOUGH_ERRORS:
            accepted = levels < max(level, int(errors[ENOUGH_ERRORS - 1]) + 1)
            return self._inflation(accepted, self.wrong.astype(np.float64))
        every = np.ones(len(levels), np.bool_)
        return max(
            self._inflation(every, self.doubt),
            self._inflation(every, self.wrong.astype(np.float64)),
        )

    def _inflation(self, accepted: Bools, values: Floats) -> float:
        """Return the variance of the mean of the accepted values over that of independent ones."""
        residuals = np.where(accepted, values - values[accepted].mean(), 0.0)
        spread = float(residuals @ residuals)
        if spread <= 0:
            return 1.0
        cuts = np.flatnonzero(np.diff(self.recording)) + 1
        effect = autocorrelation_time(np.split(residuals, cuts))
        count = len(np.unique(self.recording[accepted]))
        if count > 1:
            between = _squared_sums(residuals, self.recording) / spread
            effect = max(effect, between * count / (count - 1))
        return effect + max(_squared_sums(residuals, self.row) / spread - 1, 0.0)

    def _few_recordings(self, accepted: Bools) -> float:
        count = len(np.unique(self.recording[accepted]))
        if count == 1:
            return 1.0
        known, estimated = norm.ppf(self.confidence), t.ppf(self.confidence, count - 1)
        return float((known / estimated) ** 2)


def labelled_steps(
    stream: Stream, predicted: NDArray[np.int32], doubt: Floats, confidence: float
) -> tuple[LabelledSteps, Bools]:
    """Return a stream's labelled steps, and a mask of them."""
    assert stream.labels is not None  # noqa: S101 - checked; for the type checker
    known = stream.labels >= 0
    columns = [stream.posteriors] if stream.features is None else [stream.posteriors, stream.features]
    joint = np.hstack([column[known].astype(np.float64) for column in columns])
    rows = np.ascontiguousarray(joint).view(f"V{joint.shape[1] * 8}").ravel()
    steps = LabelledSteps(
        wrong=(predicted != stream.labels)[known],
        doubt=doubt[known],
        recording=(np.searchsorted(stream.starts, np.arange(len(stream)), side="right") - 1)[known],
        row=np.unique(rows, return_inverse=True)[1].ravel(),
        confidence=confidence,
    )
    return steps, known


def _squared_sums(values: Floats, group: Ints) -> float:
    """Return the sum over groups of the squared sum of their values."""
    sums = np.bincount(group, values)
    return float(sums @ sums)
