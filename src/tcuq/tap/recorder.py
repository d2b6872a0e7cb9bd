# SPDX-License-Identifier: Apache-2.0
"""A tap and its inputs, batch by batch, to a stream: the outputs of the engine, unchanged."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._conversion import as_array
from tcuq._labels import UNKNOWN, LabelsLike
from tcuq.errors import InputError
from tcuq.stream import Kind, Stream
from tcuq.tap.batches import batches

Array = NDArray[Any]
Pool = Literal["flatten", "first", "mean"]


@runtime_checkable
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

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - as the model takes
        """Posteriors (steps, classes) and the layer (steps, ...) of a batch."""


def record(
    tap: Tap,
    inputs: Any,  # noqa: ANN401 - arrays, tables, dictionaries, loaders
    labels: LabelsLike | None = None,
    *,
    classes: ArrayLike | None = None,
    kind: Kind | None = None,
    starts: ArrayLike | None = None,
    shifted: ArrayLike | None = None,
    pool: Pool = "flatten",
    progress: Callable[[int], object] | None = None,
) -> Stream:
    """Run a model over inputs in recorded order and keep its outputs.

    Parameters
    ----------
    tap
        From ``open_tap`` or one of the taps' classes.
    inputs
        (steps, ...) as the model takes them: an array, a tensor, a DataFrame (which reaches a
        scikit-learn pipeline as one), a dictionary of named inputs such as a tokenizer's; or a
        DataLoader or other iterable of batches, each of which is inputs, (inputs, labels), or a
        dictionary that may hold "labels".
    labels, classes, starts, shifted
        As in ``tcuq.Stream``; labels as the model was trained with, names or numbers. If None,
        labels are those of the batches, and classes those that the model names.
    kind
        "probabilities" or "logits"; needed where the model does not say itself.
    pool
        How a layer of several axes becomes one row per step: "flatten", "first" (the first entry
        of axis 1: a class token) or "mean" (over all axes between the first and the last).
    progress
        Called with the number of steps of every batch that is done.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tcuq.tap import open_tap
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["low"] * 2 + ["high"] * 2)
    >>> record(open_tap(model), [[0.5], [2.5]], ["low", "high"])
    Stream(2 steps, 2 classes, no features, 1 recording, 100% labelled)
    """
    if pool not in get_args(Pool):
        raise InputError(f"pool must be one of {', '.join(get_args(Pool))}, got {pool!r}")
    if not isinstance(tap, Tap):
        raise InputError(
            f"tap must be a tap, got {type(tap).__name__}: write  record(open_tap(model), inputs)"
        )
    agreed, posteriors, features, beside = kind, [], [], []
    for batch in batches(inputs, tap.batch):
        out, layer = tap.run(batch.inputs)
        agreed = _agreed(kind, tap.kind)
        posteriors.append(_rows(out, batch.steps, "output"))
        if layer is not None:
            features.append(_rows(_pooled(layer, pool), batch.steps, f"layer {tap.layer!r}"))
        if batch.labels is not None:
            beside.append(batch.labels)
        if progress is not None:
            progress(batch.steps)
    if not posteriors or agreed is None:
        raise InputError(f"inputs must hold at least 1 batch, got an empty {type(inputs).__name__}")
    if labels is None and beside:
        labels = np.concatenate(beside)
    return Stream(
        np.concatenate(posteriors),
        _joined(features, tap.layer) if features else None,
        None if labels is None else _columns(labels, tap.labels),
        classes=_names(tap.labels) if classes is None else classes,
        kind=agreed,
        starts=starts,
        shifted=shifted,
    )


def _rows(values: Array, steps: int, name: str) -> Array:
    """One row per step."""
    if values.ndim == 0 or len(values) != steps:
        raise InputError(f"{name} must have the shape ({steps}, ...), got {values.shape}")
    return values.reshape(steps, -1)


def _agreed(kind: Kind | None, known: Kind | None) -> Kind:
    """The kind of the posteriors, as the caller and the model say."""
    if kind is not None and known is not None and kind != known:
        raise InputError(f"kind must be {known!r}, as the model ends, got {kind!r}")
    agreed = kind or known
    if agreed is None:
        raise InputError('kind must be said, since the model does not: "probabilities" or "logits"')
    return agreed


def _joined(features: Sequence[Array], layer: str | None) -> Array:
    widths = {part.shape[1] for part in features}
    if len(widths) > 1:
        raise InputError(
            f"layer {layer!r} must be equally wide in every batch, got {min(widths)} to"
            f' {max(widths)} values: pad the inputs, or use pool="first" or pool="mean"'
        )
    return np.concatenate(features)


def _pooled(layer: Array, pool: Pool) -> Array:
    if pool == "first" and layer.ndim > 2:
        layer = layer[:, 0]
    elif pool == "mean" and layer.ndim > 2:
        layer = layer.mean(axis=tuple(range(1, layer.ndim - 1)))
    return layer


def _names(known: Array | None) -> list[str] | None:
    """Names of the classes, where the model has other ones than column numbers."""
    if known is None or (known.dtype.kind in "iu" and (known == np.arange(len(known))).all()):
        return None
    return [str(name) for name in known.tolist()]


def _columns(labels: LabelsLike, known: Array | None) -> LabelsLike:
    """Labels as columns of the output; names are left to Stream, and -1, unknown, stays."""
    if known is None or known.dtype.kind in "UO":
        return labels
    given = as_array(labels, "labels")
    if given.dtype.kind in "iu" and np.array_equal(known, np.arange(len(known))):
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
