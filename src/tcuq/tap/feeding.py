# SPDX-License-Identifier: Apache-2.0
"""Convert inputs to a model's type and shape; refuse a change that would be ambiguous."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tcuq._conversion import as_numbers
from tcuq.errors import InputError
from tcuq.tap.batches import is_loader

Array = NDArray[Any]
MOST_CLIPPED = 0.1  # of the inputs: more were prepared for another model
MAX_MODEL_BYTES = 2 << 30  # the limit of FlatBuffers and Protocol Buffers


def read_model(path: str | os.PathLike[str]) -> bytes:
    """Read a model's file after checking its size."""
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 < size <= MAX_MODEL_BYTES:
                raise InputError(
                    f"{path}: a model has 1 to {MAX_MODEL_BYTES:,} bytes, got {size:,}"
                )
            return file.read(MAX_MODEL_BYTES)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def one_array(inputs: Any) -> Array:  # noqa: ANN401 - whatever a caller has
    """Return the numbers of a batch for a model with one input."""
    if isinstance(inputs, Mapping):
        raise InputError(
            f"inputs must be one array, since the model has one input, got {', '.join(inputs)}"
        )
    if is_loader(inputs):
        raise InputError(
            f"inputs must be one batch, got {type(inputs).__name__}:"
            " tcuq.tap.record takes a whole loader"
        )
    return as_numbers(inputs, "inputs")


@contextmanager
def input_errors_of(framework: str) -> Iterator[None]:
    """Turn an error that a model raises for its inputs into a one-line InputError."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"inputs are refused by {framework}: {reason}") from error


def named_arrays(inputs: Any, names: Sequence[str]) -> dict[str, Array]:  # noqa: ANN401 - as above
    """Return the numbers of a batch by input name; every input of the model must be there."""
    if len(names) == 1 and not isinstance(inputs, Mapping):
        return {names[0]: one_array(inputs)}
    if not isinstance(inputs, Mapping) or set(inputs) != set(names):
        got = ", ".join(inputs) if isinstance(inputs, Mapping) else type(inputs).__name__
        raise InputError(f"inputs must be a dictionary of {', '.join(names)}, got {got}")
    return {name: as_numbers(inputs[name], name) for name in names}


def to_shape(inputs: Array, shape: Sequence[int | None], name: str = "inputs") -> Array:
    """Reshape steps (None: any size) by adding or dropping axes of length 1 only."""

    def without_ones(sizes: Sequence[int | None]) -> list[int | None]:
        return [size for size in sizes if size != 1]

    present, wanted = without_ones(inputs.shape[1:]), without_ones(shape)
    alike = len(present) == len(wanted) and all(
        w is None or p == w for p, w in zip(present, wanted, strict=True)
    )
    if not alike:
        text = ", ".join("any" if size is None else str(size) for size in shape)
        raise InputError(f"{name} must have the shape (steps, {text}), got {inputs.shape}")
    if None in shape:
        return inputs
    return inputs.reshape(len(inputs), *(size for size in shape if size is not None))


def to_dtype(inputs: Array, dtype: DTypeLike, *, scale: float = 0.0, zero_point: int = 0) -> Array:
    """Convert to the model's type: quantise real numbers by its scale; integers must fit."""
    wanted = np.dtype(dtype)
    if inputs.dtype == wanted:
        return inputs
    if inputs.dtype.kind == "f" and wanted.kind in "iu":
        if scale <= 0:
            raise InputError(f"inputs must be {wanted}, got {inputs.dtype} and no scale to use")
        return _quantise(inputs, wanted, scale, zero_point)
    cast = inputs.astype(wanted)
    if wanted.kind != "f" and not np.array_equal(cast, inputs):
        raise InputError(f"inputs must fit {wanted}, got {inputs.min()}..{inputs.max()}")
    return cast


def _quantise(inputs: Array, dtype: np.dtype[Any], scale: float, zero_point: int) -> Array:
    if not np.isfinite(inputs).all():
        raise InputError("inputs must be finite, got NaN or infinity")
    limits = np.iinfo(dtype)
    quantised = np.rint(inputs.astype(np.float64) / scale) + zero_point
    outside = float(((quantised < limits.min) | (quantised > limits.max)).mean())
    if outside > MOST_CLIPPED:
        low, high = ((limit - zero_point) * scale for limit in (limits.min, limits.max))
        raise InputError(
            f"inputs must lie in {low:.4g}..{high:.4g}, the range that the model was quantised for,"
            f" and {outside:.0%} do not: got {inputs.min():.4g}..{inputs.max():.4g}"
        )
    clipped: Array = np.clip(quantised, limits.min, limits.max).astype(dtype)
    return clipped


def dequantise(values: Array, scale: float, zero_point: int) -> Array:
    """Convert quantised values to float32: (q - zero point) · scale; leave others unchanged."""
    if values.dtype.kind == "f" or scale <= 0:
        return values
    steps = (values.astype(np.int32) - zero_point).astype(np.float32)
    return np.multiply(steps, np.float32(scale))
