# SPDX-License-Identifier: Apache-2.0
"""Array-likes to NumPy arrays: lists, DataFrames, Arrow tables and columns, tensors.

By duck typing alone: none of these libraries is imported.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.errors import InputError

Array = NDArray[Any]
NUMERIC = "fiu"
NAMED_COLUMNS = 5  # at most, in a message
# Far beyond any feature or logit in use, and small enough that no square of it overflows.
MAX_MAGNITUDE = 1e9


def as_array(values: Any, name: str) -> Array:  # noqa: ANN401 - whatever holds numbers
    """Convert values to a NumPy array; the caller checks the dtype."""
    try:
        array = _converted(values, name)
        if array.dtype == object and array.ndim == 1 and _holds_rows(array):
            array = np.asarray(array.tolist())
    except InputError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise InputError(f"{name} must be a rectangular array of numbers: {reason}") from None
    return array


def as_numbers(values: ArrayLike, name: str, kinds: str = "fiu") -> Array:
    """Convert values to an array of these kinds: f real, i and u integer, b boolean."""
    array = as_array(values, name)
    if array.dtype.kind not in kinds:
        wanted = {"iu": "integers", "b": "booleans"}.get(kinds, "real numbers")
        raise InputError(f"{name} must be {wanted}, got dtype {array.dtype}")
    return array


def refuse_extreme(rows: Array, name: str) -> None:
    """Refuse a number that is NaN or beyond any use."""
    # By the extremes, without a temporary array the size of the stream; NaN compares as False.
    if rows.size and not -MAX_MAGNITUDE <= float(rows.min()) <= float(rows.max()) <= MAX_MAGNITUDE:
        tame = np.abs(rows, dtype=np.float64) <= MAX_MAGNITUDE
        step, column = (int(i) for i in np.argwhere(~tame)[0])
        raise InputError(
            f"{name} must be finite and within ±{MAX_MAGNITUDE:g},"
            f" got {rows[step, column]} at step {step}, column {column}"
        )


def _converted(values: Any, name: str) -> Array:  # noqa: ANN401 - as above
    if _is_tensor(values):
        return _from_tensor(values)
    if isinstance(values, list | tuple) and values and _is_tensor(values[0]):
        return np.stack([as_array(value, name) for value in values])
    array = np.asarray(values)
    if array.dtype.kind not in NUMERIC + "b" and hasattr(values, "columns"):
        return _from_table(values, name)
    return array


def _is_tensor(values: Any) -> bool:  # noqa: ANN401 - as above
    return callable(getattr(values, "detach", None)) and callable(getattr(values, "cpu", None))


def _from_tensor(tensor: Any) -> Array:  # noqa: ANN401 - of torch
    """Convert a tensor on any device, with or without a gradient."""
    plain = tensor.detach().cpu()
    if str(plain.dtype) == "torch.bfloat16":  # NumPy has no such type
        plain = plain.float()
    return np.asarray(plain)


def _from_table(table: Any, name: str) -> Array:  # noqa: ANN401 - of pandas, Arrow or Polars
    """Stack the columns of a table; each must be numeric."""
    names = getattr(table, "column_names", None)  # Arrow's; `columns` are the values there
    columns = (
        {str(label): as_array(table[label], name) for label in table.columns}
        if names is None
        else {str(n): as_array(c, name) for n, c in zip(names, table.columns, strict=True)}
    )
    other = [f"{n!r} ({c.dtype})" for n, c in columns.items() if c.dtype.kind not in NUMERIC]
    if other:
        more = f" and {len(other) - NAMED_COLUMNS} more" if len(other) > NAMED_COLUMNS else ""
        raise InputError(
            f"{name} must have columns of numbers only, got {', '.join(other[:NAMED_COLUMNS])}"
            f"{more}: select the numeric columns"
        )
    return np.column_stack(list(columns.values()))


def _holds_rows(array: Array) -> bool:
    """Whether each element is a row of its own, as in a column of lists."""
    return array.size > 0 and all(isinstance(row, list | tuple | np.ndarray) for row in array)
