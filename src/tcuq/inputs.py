# SPDX-License-Identifier: Apache-2.0
"""Inputs: what a step carries, checked, as probabilities and at most 32 features."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.errors import InputError
from tcuq.rowwise import matrix_times_rows
from tcuq.settings import InputSettings
from tcuq.stream import Stream, checked_features, checked_posteriors

Floats = NDArray[np.float64]


class Inputs:
    """Turns posteriors or logits into probabilities, and wide features into projected ones.

    Parameters
    ----------
    settings
        Kind, number of classes, width of the features and their projection.

    Examples
    --------
    >>> inputs = Inputs(InputSettings("logits", classes=2, width=0, projection=None))
    >>> inputs.run([[0.0, 0.0]], None)
    (array([[0.5, 0.5]]), None)
    """

    def __init__(self, settings: InputSettings) -> None:
        self.settings = settings
        projection = settings.projection
        if projection is not None:
            self._mean = np.array(projection.mean, np.float64)
            self._matrix = np.array(projection.matrix, np.float64)

    def check_kind(self, stream: Stream) -> None:
        """Refuse a stream whose rows mean something else than the profile's."""
        wanted = self.settings.kind
        if stream.kind != wanted:
            raise InputError(
                f"the stream's kind must be {wanted}, as the profile's, got {stream.kind}"
            )

    def check(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[NDArray[np.generic], NDArray[np.generic] | None]:
        """Refuse what this profile was not made for; cheap, so done on a whole stream at once."""
        settings = self.settings
        rows = checked_posteriors(posteriors, settings.kind)
        if rows.shape[1] != settings.classes:
            raise InputError(
                f"posteriors must have {settings.classes} classes, as the profile's,"
                f" got {rows.shape[1]}"
            )
        if settings.width == 0:
            if features is not None:
                raise InputError("features must be None: the profile was fitted without features")
            return rows, None
        if features is None:
            raise InputError(f"features are missing: the profile needs {settings.width} a step")
        columns = checked_features(features, len(rows))
        if columns.shape[1] != settings.width:
            raise InputError(
                f"features must be {settings.width} wide, as the profile's, got {columns.shape[1]}"
            )
        return rows, columns

    def run(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[Floats, Floats | None]:
        """Probabilities (steps, classes) and features (steps, dimensions) or None."""
        rows, columns = self.check(posteriors, features)
        return self.convert(rows, columns)

    def convert(
        self, rows: NDArray[np.generic], columns: NDArray[np.generic] | None
    ) -> tuple[Floats, Floats | None]:
        """As run, for arrays that were checked."""
        probabilities = self.probabilities(rows)
        if columns is None:
            return probabilities, None
        values = np.ascontiguousarray(columns, np.float64)
        if self.settings.projection is not None:
            values = matrix_times_rows(self._matrix, values - self._mean)
        return probabilities, values

    def probabilities(self, rows: NDArray[np.generic]) -> Floats:
        """Rows that sum to 1, of rows that were checked."""
        values = np.ascontiguousarray(rows, np.float64)
        if self.settings.kind == "logits":
            values = np.exp(values - values.max(axis=1, keepdims=True))
        normalised: Floats = values / values.sum(axis=1, keepdims=True)
        return normalised
