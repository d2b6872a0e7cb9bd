# SPDX-License-Identifier: Apache-2.0
"""Input health's reference: mean and standard deviation of each statistic, without labels."""

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import MAX_HEALTH_SCALE, MIN_HEALTH_SCALE, HealthSettings

Floats = NDArray[np.float64]


def fit_health(statistics: Floats, names: tuple[str, ...]) -> HealthSettings:
    """Fit the reference; a statistic that hardly varied counts as if it varied by the least."""
    scales = np.clip(statistics.std(axis=0), MIN_HEALTH_SCALE, MAX_HEALTH_SCALE)
    return HealthSettings(names, tuple(statistics.mean(axis=0).tolist()), tuple(scales.tolist()))
