# SPDX-License-Identifier: Apache-2.0
"""Record a tap's outputs, unchanged, batch by batch, into a stream."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._columns import OUT_OF_DISTRIBUTION, UNKNOWN, LabelsLike
from tcuq._conversion import as_array
from tcuq._outputs import MAX_OUTPUTS
from tcuq.errors import InputError
from tcuq.health import Health
from tcuq.stream import Kind, Stream, checked_posteriors
from tcuq.tap.batches import batches
from tcuq.tap.graph import agreed_kind
from tcuq.tap.input_health import HealthRecorder, InputHealth

Array = NDArray[Any]
Pool = Literal["flatten", "first", "mean"]
Reduce = Literal["reconstruction", "best", "best_first", "norm"]
BEST = 'reduce="best" (classes on the last axis) or "best_first" (on the first, as in torch)'


@runtime_checkable
class Tap(Protocol):
    """A model whose posteriors and one layer are read."""

    @property
    def kind(self) -> Kind | None:
        """Kind of its output, or None if the model does not tell."""

    @property
    def layer(self) -> str | None:
        """The layer that features are taken from, or None if there is none."""

    @property
    def batch(self) -> int:
        """Steps per batch."""

    @property
    def labels(self) -> Array | None:
        """The label of each column of its output, or None if columns count from 0."""

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - the model's type
        """Return the posteriors (steps, classes) and the layer (steps, ...) of a batch."""


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
    reduce: Reduce | None = None,
    errors: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    tolerance: ArrayLike | None = None,
    temperature: float = 1.0,
    health: InputHealth | Health | None = None,
    progress: Callable[[int], object] | None = None,
) -> Stream:
    """Run a model over inputs in recorded order and record its outputs.

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
        labels are those of the batches, and classes those of the model.
    kind
        "probabilities", "logits", or "outputs" of a model without classes; needed if the model
        does not tell.
    reduce
        Of a model without classes with more than 8 values a step: "reconstruction", the mean
        squared error of an autoencoder; "best", a detector's best confidence of each class over its
        grid, the classes on the last axis, or "best_first", on the first, as torch has them;
        "norm", the length of an embedding.
    errors, targets, tolerance
        As in ``tcuq.Stream``, of a model without classes.
    pool
        How a layer of several axes becomes one row per step: "flatten", "first" (the first entry
        of axis 1: a class token) or "mean" (over all axes between the first and the last).
    temperature
        Divides the logits, as ``tcuq.fit_temperature`` returns it. On the device, divide the
        weights and the bias of the last layer by it.
    health
        ``InputHealth(...)`` computes the input health of each step from ``inputs``; a
        ``tcuq.Health``, such as of the audio behind a spectrum, is stored as it is.
    progress
        Called with the number of steps of each finished batch.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tcuq.tap import open_tap
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["low"] * 2 + ["high"] * 2)
    >>> record(open_tap(model), [[0.5], [2.5]], ["low", "high"])
    Stream(2 steps, 2 classes, no features, 1 recording, 100% labelled)
    """
    _check(tap, pool, temperature)
    agreed, posteriors, features, beside = kind, [], [], []
    codes = getattr(tap, "input_quantisation", (0.0, 0))
    watched = HealthRecorder(health, codes) if isinstance(health, InputHealth) else None
    for batch in batches(inputs, tap.batch):
        out, layer = tap.run(batch.inputs)
        agreed = _agree(kind, tap.kind)
        if agreed == "outputs":
            out = reduced(out, batch.inputs, reduce)
        posteriors.append(_posterior_rows(out, batch.steps, agreed))
        if layer is not None:
            features.append(_rows(_pool(layer, pool), batch.steps, f"layer {tap.layer!r}"))
        if batch.labels is not None:
            beside.append(batch.labels)
        if watched is not None:
            watched.add(batch.inputs)
        if progress is not None:
            progress(batch.steps)
    if not posteriors or agreed is None:
        raise InputError(f"inputs must hold at least 1 batch, got an empty {type(inputs).__name__}")
    rows = np.concatenate(posteriors)
    if labels is None and beside:
        labels = np.concatenate(beside)
    return Stream(
        rows if temperature == 1 else _scaled(rows, agreed, temperature),
        _concatenate(features, tap.layer) if features else None,
        None if labels is None else _columns(labels, tap.labels),
        classes=_names(tap.labels) if classes is None else classes,
        kind=agreed,
        errors=errors,
        targets=targets,
        tolerance=tolerance,
        starts=starts,
        shifted=shifted,
        health=health if watched is None else watched.result(),
    )


def _check(tap: Tap, pool: Pool, temperature: float) -> None:
    if pool not in get_args(Pool):
        raise InputError(f"pool must be one of {', '.join(get_args(Pool))}, got {pool!r}")
    if not 0 < temperature < math.inf:
        raise InputError(f"temperature must be a positive number, got {temperature!r}")
    if not isinstance(tap, Tap):
        raise InputError(
            f"tap must be a tap, got {type(tap).__name__}: write  record(open_tap(model), inputs)"
        )


def _scaled(rows: Array, kind: Kind, temperature: float) -> Array:
    """Divide logits by the temperature."""
    if kind != "logits":
        raise InputError(
            f"temperature must be 1 where the model returns {kind}, got {temperature}: record its"
            " logits"
        )
    return rows / temperature


def _rows(values: Array, steps: int, name: str) -> Array:
    """Return one row per step."""
    if values.ndim == 0 or len(values) != steps:
        raise InputError(f"{name} must have the shape ({steps}, ...), got {values.shape}")
    return values.reshape(steps, -1)


def _posterior_rows(values: Array, steps: int, kind: Kind) -> Array:
    """Return one posterior per step, of a single sigmoid both classes; or the outputs."""
    shape = tuple(size for size in values.shape[1:] if size > 1)
    if kind != "outputs" and len(shape) > 1:
        raise InputError(
            f"the model's output has the shape {shape}: a detector's grid? Record its best"
            f' confidence of each class with kind="outputs" and {BEST}'
        )
    rows = _rows(values, steps, "output")
    return checked_posteriors(rows, kind, 2) if kind != "outputs" and rows.shape[1] == 1 else rows


def reduced(values: Array, inputs: Any, reduce: Reduce | None) -> Array:  # noqa: ANN401 - a batch
    """Return at most 8 outputs a step."""
    steps = len(values)
    rows: Array = values.reshape(steps, -1).astype(np.float64)
    if reduce is None:
        if rows.shape[1] > MAX_OUTPUTS:
            raise InputError(_looks_like(values, inputs))
        return rows
    if reduce == "norm":
        return np.asarray(np.sqrt((rows * rows).sum(axis=1, keepdims=True)))
    if reduce == "best":
        return np.asarray(values.reshape(steps, -1, values.shape[-1]).max(axis=1))
    if reduce == "best_first":
        return np.asarray(values.reshape(steps, values.shape[1], -1).max(axis=2))
    given = np.asarray(as_array(inputs, "inputs"), np.float64).reshape(steps, -1)
    if given.shape != rows.shape:
        raise InputError(
            f'reduce="reconstruction" needs as many outputs as inputs, {given.shape[1]} a step,'
            f" got {rows.shape[1]}"
        )
    errors: Array = ((rows - given) ** 2).mean(axis=1, keepdims=True)
    return errors


def _looks_like(values: Array, inputs: Any) -> str:  # noqa: ANN401 - a batch
    """Say what an output of many values looks like, and how to record it."""
    size, shape = values[0].size, tuple(n for n in values.shape[1:] if n > 1)
    given = getattr(inputs, "shape", (0,))
    if int(np.prod(given[1:])) == size and len(given) > 1:
        what, how = "a reconstruction of its input (an autoencoder)", 'reduce="reconstruction"'
    elif len(shape) > 1:
        what, how = f"a detector's grid, {shape}", BEST
    else:
        what, how = "an embedding", 'reduce="norm"'
    return f"the model gives {size} values a step, which look like {what}: say {how}"


def _agree(kind: Kind | None, known: Kind | None) -> Kind:
    """Return the kind of the posteriors; caller and model must agree."""
    agreed = agreed_kind(kind, known)
    if agreed is None:
        raise InputError(
            "the model does not end in a softmax or sigmoid, so its kind must be given:"
            ' kind="logits" of a classifier, kind="outputs" of a regressor, an autoencoder, a'
            ' detector or an embedding (kind="probabilities" if the softmax is out of sight)'
        )
    return agreed


def _concatenate(features: Sequence[Array], layer: str | None) -> Array:
    widths = {part.shape[1] for part in features}
    if len(widths) > 1:
        raise InputError(
            f"layer {layer!r} must be equally wide in every batch, got {min(widths)} to"
            f' {max(widths)} values: pad the inputs, or use pool="first" or pool="mean"'
        )
    return np.concatenate(features)


def _pool(layer: Array, pool: Pool) -> Array:
    if pool == "first" and layer.ndim > 2:
        layer = layer[:, 0]
    elif pool == "mean" and layer.ndim > 2:
        layer = layer.mean(axis=tuple(range(1, layer.ndim - 1)))
    return layer


def _names(known: Array | None) -> list[str] | None:
    """Return the model's class names, or None if they are column numbers."""
    if known is None or (known.dtype.kind in "iu" and (known == np.arange(len(known))).all()):
        return None
    return [str(name) for name in known.tolist()]


def _columns(labels: LabelsLike, known: Array | None) -> LabelsLike:
    """Return labels as columns of the output; Stream converts names, and -1 and -2 stay."""
    if known is None or known.dtype.kind in "UO":
        return labels
    values = as_array(labels, "labels")
    if values.dtype.kind in "iu" and np.array_equal(known, np.arange(len(known))):
        return values
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], values), len(known) - 1)
    columns: Array = order[at]
    other = np.isin(values, (UNKNOWN, OUT_OF_DISTRIBUTION)) & (values.dtype.kind in "iu")
    foreign = (known[columns] != values) & ~other
    if foreign.any():
        raise InputError(
            f"labels must be among the model's {known.tolist()[:20]}, got {values[foreign][0]!r}"
        )
    return np.where(other, values, columns)
