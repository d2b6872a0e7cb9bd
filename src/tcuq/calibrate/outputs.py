# SPDX-License-Identifier: Apache-2.0
"""Outputs of a model without classes: how they are rounded, and what share of them is wrong."""

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.calibrate.projection import int8_step
from tcuq.profile.settings import OutputSettings
from tcuq.stream import Stream

HEADROOM = 2.0  # calibration has half of int8's range, so that a fault shows its size


def fit_outputs(outputs: NDArray[np.generic]) -> OutputSettings:
    """Fit the middle of each output and its int8 step."""
    values = outputs.astype(np.float64)
    centres = np.median(values, axis=0)
    away = HEADROOM * (values - centres)
    return OutputSettings(
        tuple(float(np.float32(centre)) for centre in centres),
        tuple(int8_step(column) for column in away.T),
    )


def error_share(stream: Stream, alpha: float) -> float:
    """Return the share of steps that are wrong on calibration; half of alpha if nobody knows."""
    labels = np.full(1, UNKNOWN) if stream.labels is None else stream.labels
    known = int((labels != UNKNOWN).sum())
    return (int((labels > 0).sum()) + 1) / (known + 2) if known else alpha / 2
