# SPDX-License-Identifier: Apache-2.0
"""A tap and its inputs, batch by batch, to a stream: what the engine says, unchanged."""

from collections.abc import Callable
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.errors import InputError
from tcuq.stream import UNKNOWN, Kind, Stream, as_numbers

Array = NDArray[Any]
Pool = Literal["flatten", "first", "mean"]


class Tap(Protocol):
    """A model whose posteriors and one layer are read."""

    @property
    def kind(self) -> Kind | None:
        """What its output is, or None if the model does not say."""

    @property
    def layer(self) -> str | None:
        """The layer that features are taken from, None: the model has none to give."""

    @property
    def batch(self) -> int:
        """Steps it is given at once."""

    @property
    def labels(self) -> Array | None:
        """The label of each column of its output, None: columns count from 0."""

    def run(self, inputs: Array) -> tuple[Array, Array | None]:
        """Posteriors (steps, classes) and the layer (steps, ...) of a batch."""


def record(
    tap: Tap,
    inputs: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    kind: Kind | None = None,
    starts: ArrayLike | None = None,
    shifted: ArrayLike | None = None,
    pool: Pool = "flatten",
    progress: Callable[[int], object] | None = None,
) -> Stream:
    """Run a model over inputs in recorded order and keep what it says.

    Parameters
    ----------
    tap
        From ``open_tap`` or one of the taps' classes.
    inputs
        (steps, ...) as the model takes them.
    labels, starts, shifted
        As in ``tcuq.Stream``; labels as the model was trained with.
    kind
        "probabilities" or "logits"; needed where the model does not say itself.
    pool
        How a layer of several axes becomes one row a step: "flatten", "first" (the first entry of
        axis 1: a class token) or "mean" (over all axes between the first and the last).
    progress
        Is told of every batch of steps that is done.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tcuq.tap import open_tap
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> stream = record(open_tap(model), [[0.5], [2.5]], [0, 1])
    >>> len(stream), stream.classes, stream.kind
    (2, 2, 'probabilities')
    """
    if pool not in get_args(Pool):
        raise InputError(f"pool must be one of {', '.join(get_args(Pool))}, got {pool!r}")
    rows = as_numbers(inputs, "inputs", "fiu")
    if rows.ndim == 0 or len(rows) == 0:
        raise InputError(f"inputs must have the shape (steps, ...), got {rows.shape}")
    known = tap.kind
    if kind is not None and known is not None and kind != known:
        raise InputError(f"kind must be {known!r}, as the model ends, got {kind!r}")
    said = kind or known
    if said is None:
        raise InputError('kind must be said, since the model does not: "probabilities" or "logits"')
    posteriors, features = [], []
    for begin in range(0, len(rows), tap.batch):
        batch = rows[begin : begin + tap.batch]
        out, layer = tap.run(batch)
        posteriors.append(_checked(out, len(batch), "output").reshape(len(batch), -1))
        if layer is not None:
            features.append(_pooled(_checked(layer, len(batch), f"layer {tap.layer!r}"), pool))
        if progress is not None:
            progress(len(batch))
    return Stream(
        np.concatenate(posteriors),
        np.concatenate(features) if features else None,
        None if labels is None else _columns(labels, tap.labels),
        kind=said,
        starts=starts,
        shifted=shifted,
    )


def _checked(values: Array, steps: int, name: str) -> Array:
    if values.ndim < 2 or len(values) != steps:
        raise InputError(f"{name} must have the shape ({steps}, ...), got {values.shape}")
    return values


def _pooled(layer: Array, pool: Pool) -> Array:
    if pool == "first" and layer.ndim > 2:
        layer = layer[:, 0]
    elif pool == "mean" and layer.ndim > 2:
        layer = layer.mean(axis=tuple(range(1, layer.ndim - 1)))
    return layer.reshape(len(layer), -1)


def _columns(labels: ArrayLike, known: Array | None) -> Array:
    """Labels as columns of the output; -1, unknown, stays."""
    given = np.asarray(labels)
    if known is None or (given.dtype.kind in "iu" and np.array_equal(known, np.arange(len(known)))):
        return given
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], given), len(known) - 1)
    columns: Array = order[at]
    unknown = given == UNKNOWN if given.dtype.kind in "iu" else np.zeros(given.shape, np.bool_)
    strange = (known[columns] != given) & ~unknown
    if strange.any():
        raise InputError(
            f"labels must be among the model's {known.tolist()[:20]}, got {given[strange][0]!r}"
        )
    return np.where(unknown, UNKNOWN, columns)
