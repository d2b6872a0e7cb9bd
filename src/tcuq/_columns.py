# SPDX-License-Identifier: Apache-2.0
"""Columns of a stream beside its outputs: labels, stored as numbers, and input health."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._conversion import as_array, as_numbers, refuse_extreme
from tcuq.errors import InputError

MAX_STATISTICS = 16  # of input health
MAX_NAME = 64
HEALTH_ONE = 1024  # a statistic of 1 on the device
UNKNOWN = -1
OUT_OF_DISTRIBUTION = -2  # no class is right: every prediction is wrong
LabelsLike = ArrayLike | Sequence[str | int | None]


def checked_names(classes: ArrayLike | None, columns: int) -> tuple[str, ...] | None:
    """Return the class names, one per column, or None."""
    if classes is None:
        return None
    names = as_array(classes, "classes").tolist()
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise InputError(f"classes must be a list of names, got {str(classes)[:200]!r}")
    if len(names) != columns or len(set(names)) != columns:
        raise InputError(
            f"classes must be {columns} different names, one per column of posteriors,"
            f" got {str(names)[:200]}"
        )
    return tuple(names)


def checked_labels(
    labels: LabelsLike | None, steps: int, columns: int, names: tuple[str, ...] | None
) -> NDArray[np.int32] | None:
    """Return the column of each step's true class, -1 or -2 where there is none, or None."""
    if labels is None:
        return None
    if isinstance(labels, list | tuple) and any(isinstance(label, str) for label in labels):
        values = np.array(labels, object)  # NumPy would turn NaN beside names into a name
    else:
        values = as_array(labels, "labels")
    if values.dtype.kind in "UO" and values.ndim == 1:
        values = _named_labels(values.tolist(), names)
    _refuse_other_labels(values, (steps, columns))
    array = as_numbers(values, "labels", "iu")
    if array.shape != (steps,):
        raise InputError(f"labels must have the shape ({steps},), got {array.shape}")
    outside = (array < OUT_OF_DISTRIBUTION) | (array >= columns)
    if outside.any():
        step = int(np.argmax(outside))
        raise InputError(
            f"labels must lie in 0..{columns - 1}, or be {UNKNOWN} (unknown) or"
            f" {OUT_OF_DISTRIBUTION} (out of distribution), got {array[step]} at step {step}"
        )
    return array.astype(np.int32)


def _refuse_other_labels(values: NDArray[Any], one_hot: tuple[int, int]) -> None:
    """Say what to write in place of one-hot rows or floats."""
    if values.shape == one_hot and values.dtype.kind in "biuf":
        raise InputError(
            f"labels must have the shape ({one_hot[0]},), got {values.shape}, which looks one-hot:"
            " write  labels.argmax(axis=1)"
        )
    if values.dtype.kind == "f":
        raise InputError(
            f"labels must be whole numbers, columns of the posteriors, got {values.dtype}: write"
            "  labels.astype(int)"
        )


def _named_labels(labels: list[object], names: tuple[str, ...] | None) -> NDArray[np.int64]:
    """Return the column of each name; None, NaN and NA are unknown, -2 is out of distribution."""
    if names is None:
        listed = sorted({label for label in labels if isinstance(label, str)})
        raise InputError(
            f"labels are names, such as {labels[0]!r}: list them in the order of the posterior's"
            f" columns, classes={str(listed)[:200]}"
        )
    columns: dict[object, int] = {name: column for column, name in enumerate(names)}
    columns[OUT_OF_DISTRIBUTION] = OUT_OF_DISTRIBUTION
    numbers = [UNKNOWN if _is_missing(label) else columns.get(label) for label in labels]
    if None in numbers:
        unknown = dict.fromkeys(
            repr(label) for label, column in zip(labels, numbers, strict=True) if column is None
        )
        raise InputError(
            f"labels must be among classes {str(list(names))[:200]},"
            f" got {', '.join(list(unknown)[:5])} first at step {numbers.index(None)}"
        )
    return np.array(numbers, np.int64)


def _is_missing(label: object) -> bool:
    return label is None or (label != label) is not False  # noqa: PLR0124 - NaN, and NA of pandas


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
    return rows.astype(np.float64), _checked_health_names(names, rows.shape[1])


def _checked_health_names(names: ArrayLike | None, count: int) -> tuple[str, ...]:
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
