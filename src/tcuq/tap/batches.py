# SPDX-License-Identifier: Apache-2.0
"""Inputs in batches: arrays, tables and dictionaries are cut, loaders and iterables are iterated.

A table stays a table and a dictionary a dictionary: only the tap knows its model's inputs.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tcuq._conversion import as_array
from tcuq.errors import InputError

Array = NDArray[Any]
LABELS = ("labels", "label")  # as collators of Hugging Face name them


class Batch(NamedTuple):
    """Consecutive steps, and their labels or None."""

    inputs: Any
    labels: Array | None
    steps: int


def batches(inputs: Any, size: int) -> Iterator[Batch]:  # noqa: ANN401 - whatever a caller has
    """Yield the inputs in order, at most ``size`` steps at once."""
    if is_loader(inputs):
        if type(getattr(inputs, "sampler", None)).__name__ == "RandomSampler":
            raise InputError(
                "inputs must come in recorded order, got a loader that shuffles: make it with"
                " shuffle=False"
            )
        for batch in inputs:
            yield from _cut(*_split(batch), size)
    elif isinstance(inputs, Mapping):
        yield from _cut(*_split(inputs), size)
    else:
        yield from _cut(inputs, None, size)


def is_loader(inputs: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether iterating yields batches, as with a DataLoader or a generator."""
    holds_steps = hasattr(inputs, "shape") or isinstance(
        inputs, list | tuple | str | bytes | range | Mapping
    )
    return hasattr(inputs, "__iter__") and not holds_steps


def _split(batch: Any) -> tuple[Any, Any]:  # noqa: ANN401 - as above
    """Split (inputs,), (inputs, labels), a dictionary, or inputs alone into inputs and labels."""
    if isinstance(batch, Mapping):
        labels = next((batch[name] for name in LABELS if name in batch), None)
        return {name: batch[name] for name in batch if name not in LABELS}, labels
    if isinstance(batch, list | tuple) and batch and _is_inputs(batch[0]):
        if len(batch) > 2:
            raise InputError(
                f"a batch must be inputs or (inputs, labels), got {len(batch)} members: give a"
                " dictionary of named inputs"
            )
        return batch[0], batch[1] if len(batch) == 2 else None
    return batch, None


def _is_inputs(member: Any) -> bool:  # noqa: ANN401 - as above
    return isinstance(member, Mapping) or bool(getattr(member, "shape", ()))


def _cut(inputs: Any, labels: Any, size: int) -> Iterator[Batch]:  # noqa: ANN401 - as above
    columns = inputs if isinstance(inputs, Mapping) else {"inputs": inputs}
    arrays = {n: v if hasattr(v, "shape") else as_array(v, n) for n, v in columns.items()}
    steps = {name: values.shape[0] if values.shape else 0 for name, values in arrays.items()}
    if not steps or min(steps.values()) == 0:
        shape = next((tuple(values.shape) for values in arrays.values()), ())
        raise InputError(f"inputs must have the shape (steps, ...), got {shape}")
    if len(set(steps.values())) > 1:
        raise InputError(f"inputs must have equally many steps, got {steps}")
    total = next(iter(steps.values()))
    for begin in range(0, total, size):
        at = slice(begin, min(begin + size, total))
        part = {name: _rows(values, at) for name, values in arrays.items()}
        beside = None if labels is None else as_array(labels, "labels")[at]
        rows = part if isinstance(inputs, Mapping) else part["inputs"]
        yield Batch(rows, beside, at.stop - begin)


def _rows(values: Any, at: slice) -> Any:  # noqa: ANN401 - as above
    return values.iloc[at] if hasattr(values, "iloc") else values[at]
