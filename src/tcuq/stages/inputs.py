# SPDX-License-Identifier: Apache-2.0
"""Inputs: posteriors or outputs, and features, checked and rounded as the device rounds them.

Posteriors become bytes in 1/256 and then shares of their sum; outputs of a model without classes
become int8, as distances from their middle; features become int8, and at most 32 of them.
Statistics of input health become int16 in 1/1024.
"""

import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._conversion import as_numbers, refuse_extreme
from tcuq._outputs import checked_outputs
from tcuq.errors import InputError
from tcuq.profile.quantize import health_integers
from tcuq.profile.settings import UNSEEN, HealthSettings, InputSettings
from tcuq.stages.columns import matrix_times_rows
from tcuq.stream import (
    Kind,
    Stream,
    checked_features,
    checked_posteriors,
    require_stream,
)

Floats = NDArray[np.float64]


class Inputs:
    """Turns posteriors or logits into quantised shares, and wide features into projected ones.

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

    def unpack(
        self,
        stream: Stream | ArrayLike,
        features: ArrayLike | None,
        health: ArrayLike | None,
        starts: ArrayLike,
    ) -> tuple[ArrayLike, ArrayLike | None, ArrayLike | None, ArrayLike]:
        """Return posteriors, features, health and starts of a Stream; check its kind."""
        if isinstance(stream, str | os.PathLike):
            require_stream(stream, "stream")
        if not isinstance(stream, Stream):
            return stream, features, health, starts
        if features is not None or health is not None or np.size(starts):
            raise InputError(
                "features, health and starts must not be given beside a Stream: it holds them"
            )
        if stream.kind != self.settings.kind:
            raise InputError(
                f"the stream's kind must be {self.settings.kind}, as the profile's,"
                f" got {stream.kind}"
            )
        return stream.posteriors, stream.features, stream.health, stream.starts

    def check(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[NDArray[np.generic], NDArray[np.generic] | None]:
        """Refuse inputs that do not fit this profile; cheap, so done once for a whole stream."""
        settings = self.settings
        if is_quantised(posteriors, features):
            return self._check_bytes(np.asarray(posteriors), features)
        rows = (
            checked_posteriors(posteriors, settings.kind, settings.classes)
            if settings.outputs is None
            else checked_outputs(posteriors, settings.columns)
        )
        if rows.shape[1] != settings.columns:
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

    def _check_bytes(
        self, rows: NDArray[np.generic], features: ArrayLike | None
    ) -> tuple[NDArray[np.generic], NDArray[np.generic] | None]:
        columns = None if features is None else np.asarray(features)
        classes, width = self.settings.columns, self.settings.width
        if self.settings.classes == 2 and rows.shape in ((len(rows),), (len(rows), 1)):
            # Both classes' bytes of a single sigmoid, as the export's `tcuq_device_sigmoid`.
            first = np.minimum(256 - rows.reshape(-1).astype(np.int16), 255)
            rows = np.column_stack([first, rows.reshape(-1)]).astype(np.uint8)
        if rows.ndim != 2 or rows.shape[1] != classes:
            raise InputError(f"posteriors must have the shape (steps, {classes}), got {rows.shape}")
        shape = None if columns is None else columns.shape
        if shape != ((len(rows), width) if width else None):
            wanted = f"the shape ({len(rows)}, {width})" if width else "no features"
            raise InputError(f"features must have {wanted}, got {shape}")
        return rows, columns

    def run(
        self, posteriors: ArrayLike, features: ArrayLike | None
    ) -> tuple[Floats, Floats | None]:
        """Return shares (steps, classes) or int8 outputs, and features (steps, dimensions)."""
        rows, columns = self.check(posteriors, features)
        return self.convert(rows, columns)

    def convert(
        self, rows: NDArray[np.generic], columns: NDArray[np.generic] | None
    ) -> tuple[Floats, Floats | None]:
        """Do what `run` does for arrays that were checked."""
        quantised = is_quantised(rows, columns)
        outputs = self.settings.outputs
        if outputs is not None:
            centres, scales = np.array(outputs.centres), np.array(outputs.scales)
            shares = (
                rows.view(np.int8).astype(np.float64)
                if quantised
                else _int8((rows.astype(np.float64) - centres) / scales, 1.0)
            )
        else:
            kind = self.settings.kind
            bytes_ = rows.astype(np.float64) if quantised else posterior_bytes(rows, kind)
            total = bytes_.sum(axis=1, keepdims=True)
            shares = np.divide(bytes_, total, out=np.zeros_like(bytes_), where=total > 0)
        if columns is None or self.settings.feature_scale is None:
            return shares, None
        scale = self.settings.feature_scale
        numbers = columns.astype(np.float64)
        values = numbers * scale if quantised else _int8(numbers, scale)
        if self.settings.selection is not None:
            values = values.take(self.settings.selection, axis=1)  # C order: rows sum alike
        projection = self.settings.projection
        if projection is not None:
            projected = matrix_times_rows(self._matrix, values - self._mean)
            values = _int8(projected, projection.scale)
        return shares, values


def device_health(
    health: ArrayLike | None, settings: HealthSettings | None, steps: int
) -> NDArray[np.int16] | None:
    """Return input health as the device's integers; an int16 array holds them already.

    None where the steps carry none, or where the profile has no reference for it.
    """
    if health is None or settings is None:
        return None
    rows = as_numbers(health, "health")
    if rows.shape != (steps, len(settings.names)):
        raise InputError(
            f"health must have the shape ({steps}, {len(settings.names)}), as the profile's"
            f" statistics ({', '.join(settings.names)}), got {rows.shape}"
        )
    if rows.dtype == np.int16:
        return np.ascontiguousarray(rows)
    refuse_extreme(rows, "health")
    return health_integers(rows.astype(np.float64))


def is_quantised(posteriors: ArrayLike, features: ArrayLike | None) -> bool:
    """Tell whether both are arrays of the device's own types."""
    return (
        isinstance(posteriors, np.ndarray)
        and posteriors.dtype == np.uint8
        and (features is None or (isinstance(features, np.ndarray) and features.dtype == np.int8))
    )


def posterior_bytes(rows: NDArray[np.generic], kind: Kind) -> Floats:
    """Round checked rows to bytes in 1/256, as a device does: its bytes come back unchanged."""
    values = probabilities(rows, kind) if kind == "logits" else rows.astype(np.float64)
    return np.minimum(np.rint(values * 256), 255)


def logits(posteriors: NDArray[np.generic], kind: Kind) -> Floats:
    """Return logits as they are, or logarithms of probabilities, none below that of a byte of 0."""
    if kind == "logits":
        return np.asarray(posteriors, np.float64)
    return np.log(np.maximum(probabilities(posteriors, kind), UNSEEN))


def probabilities(rows: NDArray[np.generic], kind: Kind) -> Floats:
    """Turn checked rows into rows that sum to 1."""
    values = np.ascontiguousarray(rows, np.float64)
    if kind == "logits":
        values = np.exp(values - values.max(axis=1, keepdims=True))
    normalised: Floats = values / values.sum(axis=1, keepdims=True)
    return normalised


def _int8(values: Floats, scale: float) -> Floats:
    """Round to the nearest values that an int8 in this scale holds."""
    return np.clip(np.rint(np.ascontiguousarray(values) / scale), -127, 127) * scale
