# SPDX-License-Identifier: Apache-2.0
"""Statistics of input health: at most 16 finite numbers per step, each with a name."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._conversion import as_array, as_numbers, refuse_extreme
from tcuq.errors import InputError

MAX_STATISTICS = 16
MAX_NAME = 64
HEALTH_ONE = 1024  # a statistic of 1 on the device


def checked_health(
    health: Any,  # noqa: ANN401 - a tcuq.Health or any array-like
    names: ArrayLike | None,
    steps: int,
) -> tuple[NDArray[np.float64] | None, tuple[str, ...]]:
    """Return the statistics (steps, count) and their names; None and () without health."""
    if health is None:
        if names is not None:
            raise InputError("health_names must not be given without health")
        return None, ()
    if hasattr(health, "values") and hasattr(health, "names"):  # a tcuq.Health
        health, names = health.values, health.names if names is None else names
    rows = as_numbers(health, "health")
    if rows.ndim != 2 or len(rows) != steps or not 1 <= rows.shape[1] <= MAX_STATISTICS:
        raise InputError(
            f"health must have the shape ({steps}, 1 to {MAX_STATISTICS} statistics),"
            f" got {rows.shape}"
        )
    refuse_extreme(rows, "health")
    return rows.astype(np.float64), _checked_names(names, rows.shape[1])


def _checked_names(names: ArrayLike | None, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"statistic {number}" for number in range(1, count + 1))
    listed = as_array(names, "health_names").tolist()
    if (
        not isinstance(listed, list)
        or len(listed) != count
        or len(set(map(str, listed))) != count
        or not all(
            isinstance(n, str) and n.isprintable() and 1 <= len(n) <= MAX_NAME for n in listed
        )
    ):
        raise InputError(
            f"health_names must be {count} different names of 1 to {MAX_NAME} printable characters,"
            f" one per column of health, got {str(listed)[:200]}"
        )
    return tuple(map(str, listed))
