# SPDX-License-Identifier: Apache-2.0
"""A recorded stream: a model's outputs, step by step, in recorded order."""

import hashlib
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._columns import (
    OUT_OF_DISTRIBUTION,
    UNKNOWN,
    LabelsLike,
    checked_health,
    checked_labels,
    checked_names,
)
from tcuq._conversion import as_numbers, refuse_extreme
from tcuq._notebook import counted, facts_table
from tcuq._outputs import checked_outputs, output_labels
from tcuq.errors import InputError
from tcuq.recording import read_recording, write_recording

Kind = Literal["probabilities", "logits", "outputs"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MIN_CLASSES, MAX_CLASSES = 2, 1000
MAX_FEATURES = 65_535  # a width is 16 bits on the device
# int8 softmax outputs sum to 252..260 of 256: a row this close to 1 is a probability vector.
SUM_TOLERANCE = 0.02

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
class Stream:
    """Posteriors or outputs, and if recorded features and labels, of one or more recordings.

    Every column may be a NumPy array, a list, a pandas or Arrow table or column, or a tensor.

    Parameters
    ----------
    posteriors
        (steps, classes), probabilities or logits as ``kind`` says; never guessed. One column, such
        as a wake word's sigmoid, needs ``classes`` to name both classes: the probability p of the
        second becomes [1 - p, p], a logit z becomes [0, z].
    features
        (steps, width) of the layer the monitor looks at, or None.
    labels
        The true class of each step: its column, -1 where unknown; or its name in ``classes``, None
        or NaN where unknown. ``tcuq.OUT_OF_DISTRIBUTION`` (-2) where no class is right, so that
        every prediction is wrong. None if there are no labels.
    outputs
        In place of posteriors, of a model without classes: (steps,) or (steps, 1 to 8) numbers,
        such as a regressor's values or an anomaly score.
    errors
        In place of labels, of a model without classes: True where a step's outputs were wrong.
    targets, tolerance
        In place of errors: a step is wrong where an output is farther from its target than the
        tolerance, one number or one per output. NaN where a target is unknown.
    classes
        The names of the classes in the order of the columns; stored as ``class_names``.
    kind
        "probabilities" or "logits"; "outputs" if there are outputs.
    starts
        Steps at which a new recording begins, ascending: history does not reach across. Step 0
        always is.
    shifted
        True where a step is known to be out of distribution; for evaluation only. Steps labelled
        out of distribution are marked, too.
    health
        Statistics of the sensor's samples, a ``tcuq.Health`` or (steps, 1 to 16) numbers, or None.
    health_names
        The names of the statistics, by which an alarm reports its cause; a Health has its own.

    Examples
    --------
    >>> stream = Stream([[0.9, 0.1], [0.4, 0.6]], labels=["sit", "walk"], classes=["sit", "walk"])
    >>> stream
    Stream(2 steps, 2 classes, no features, 1 recording, 100% labelled)
    >>> stream[1:].labels.tolist()
    [1]
    >>> Stream(outputs=[20.5, 21.5], targets=[20.0, 24.0], tolerance=1.0).labels.tolist()
    [0, 1]
    """

    posteriors: Array
    features: Array | None
    labels: NDArray[np.int32] | None
    kind: Kind
    starts: NDArray[np.int64]
    shifted: NDArray[np.bool_] | None
    class_names: tuple[str, ...] | None
    health: NDArray[np.float64] | None
    health_names: tuple[str, ...]

    def __init__(
        self,
        posteriors: ArrayLike | None = None,
        features: ArrayLike | None = None,
        labels: LabelsLike | None = None,
        *,
        outputs: ArrayLike | None = None,
        errors: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        tolerance: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        kind: Kind | None = None,
        starts: ArrayLike | None = None,
        shifted: ArrayLike | None = None,
        health: Any = None,  # noqa: ANN401 - a Health or any array-like
        health_names: ArrayLike | None = None,
    ) -> None:
        if kind not in (None, *KINDS):
            raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        given = posteriors if outputs is None else outputs
        if given is None or (posteriors is not None and outputs is not None):
            raise InputError(
                "a stream has posteriors of a classifier, or outputs of a model without classes:"
                " give one of them"
            )
        kind = kind or "probabilities" if outputs is None else "outputs"
        if kind == "outputs":
            posterior_rows = checked_outputs(given)
            labels = output_labels(posterior_rows, labels, (errors, targets, tolerance), classes)
        else:
            if not (errors is None and targets is None and tolerance is None):
                raise InputError("errors and targets are of models without classes: give labels")
            posterior_rows = checked_posteriors(
                given, kind, None if classes is None else np.size(classes)
            )
        steps = len(posterior_rows)
        if steps == 0:
            raise InputError("a stream must have at least 1 step, got 0")
        columns = posterior_rows.shape[1]
        names = checked_names(classes, columns)
        numbers = checked_labels(labels, steps, 2 if kind == "outputs" else columns, names)
        begins = checked_steps(() if starts is None else starts, "starts", steps)
        if (np.diff(begins) <= 0).any():
            step = int(np.argmax(np.diff(begins) <= 0))
            raise InputError(
                f"starts must ascend, got {begins[step]} before {begins[step + 1]}: give the steps"
                " at which recordings begin, not their lengths"
            )
        self._set_slots(
            posterior_rows,
            None if features is None else checked_features(features, steps),
            numbers,
            kind,
            np.unique(np.concatenate([np.zeros(1, np.int64), begins])),
            _checked_shifted(shifted, numbers, steps),
            names,
            *checked_health(health, health_names, steps),
        )

    def _set_slots(self, *values: object) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Stream":
        """Read a recording from an .npz or .parquet file; nothing in it is unpickled."""
        return read_recording(path, cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a recording as .npz or .parquet; the file appears whole or not at all."""
        write_recording({name: getattr(self, name) for name in self.__slots__}, path)

    def __len__(self) -> int:
        return len(self.posteriors)

    @property
    def classes(self) -> int:
        """Number of classes; 0 if the model has none."""
        return 0 if self.kind == "outputs" else int(self.posteriors.shape[1])

    @property
    def outputs(self) -> Array | None:
        """The outputs of a model without classes, (steps, 1 to 8); else None."""
        return self.posteriors if self.kind == "outputs" else None

    @property
    def width(self) -> int:
        """Number of features, 0 if none were recorded."""
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def labelled(self) -> float:
        """The share of steps whose label is known."""
        return 0.0 if self.labels is None else float((self.labels != UNKNOWN).mean())

    @property
    def sha256(self) -> str:
        """Hash of all columns, types and shapes included; names do not change it."""
        digest = hashlib.sha256(self.kind.encode())
        columns = [self.posteriors, self.features, self.labels, self.starts, self.shifted]
        for column in columns if self.health is None else [*columns, self.health]:
            if column is None:
                digest.update(b"none")
            else:
                digest.update(f"{column.dtype.str}{column.shape}".encode())
                digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    @property
    def distinct(self) -> int:
        """Number of distinct steps: resampled steps add no information."""
        columns = (self.posteriors, self.features, self.health)
        joint = np.hstack([c.astype(np.float64) for c in columns if c is not None])
        rows = np.ascontiguousarray(joint).view(f"V{joint.shape[1] * 8}").ravel()
        return len(np.unique(rows))

    def recordings(self) -> list["Stream"]:
        """Return each recording as a stream of its own, in order."""
        return [self[begin:end] for begin, end in pairwise([*self.starts, len(self)])]

    def __getitem__(self, steps: slice) -> "Stream":
        """Return consecutive steps, such as ``stream[100:200]``; recordings stay separate."""
        if not isinstance(steps, slice) or steps.step not in (None, 1):
            raise InputError(
                "a stream is indexed by a slice of consecutive steps, such as stream[100:200],"
                f" got {steps!r}"
            )
        begin, end, _ = steps.indices(len(self))
        if begin >= end:
            raise InputError(
                f"a slice must have at least 1 step, got {begin}:{end} of {len(self)} steps"
            )

        def part(column: Array | None) -> Array | None:
            return None if column is None else column[begin:end]

        inside = self.starts[(self.starts > begin) & (self.starts < end)] - begin
        # Already checked as a whole: skip __init__ and its copy of every rule.
        other = object.__new__(Stream)
        other._set_slots(
            self.posteriors[begin:end],
            part(self.features),
            part(self.labels),
            self.kind,
            np.concatenate([np.zeros(1, np.int64), inside]),
            part(self.shifted),
            self.class_names,
            part(self.health),
            self.health_names,
        )
        return other

    def __repr__(self) -> str:
        labels = ["no labels" if self.labels is None else f"{100 * self.labelled:.4g}% labelled"]
        if self.health is not None:
            labels.append(counted(len(self.health_names), "health statistic"))
        sizes = (
            counted(len(self), "step"),
            self.what,
            counted(self.width, "feature") if self.width else "no features",
            counted(len(self.starts), "recording"),
        )
        return f"Stream({', '.join([*sizes, *labels])})"

    @property
    def what(self) -> str:
        """What a step carries beside features, in words."""
        if self.kind == "outputs":
            return counted(self.posteriors.shape[1], "output")
        return counted(self.classes, "class", "classes")

    def _repr_html_(self) -> str:
        names = f" ({', '.join(self.class_names)})" if self.class_names else ""
        facts: dict[str, object] = {
            "steps": f"{len(self):,}",
            "model": f"{self.what}{names}",
            "posteriors": f"{self.kind}, {self.posteriors.dtype}",
            "features": "none" if self.features is None else f"{self.width}, {self.features.dtype}",
            "recordings": f"{len(self.starts):,}",
            "labelled": "no labels" if self.labels is None else f"{self.labelled:.1%}",
        }
        if self.health is not None:
            facts["health"] = ", ".join(self.health_names)
        if self.shifted is not None:
            facts["shifted"] = f"{self.shifted.mean():.1%}"
        return facts_table("Stream", facts)


def require_stream(value: object, name: str) -> None:
    """Refuse arrays and paths where a stream belongs, with the line to write instead."""
    if isinstance(value, Stream):
        return
    is_path = isinstance(value, str | os.PathLike)
    instead = (
        f"tcuq.Stream.load({str(value)!r})" if is_path else "tcuq.Stream(posteriors, features)"
    )
    raise InputError(f"{name} must be a tcuq.Stream, got {type(value).__name__}: write  {instead}")


def checked_posteriors(posteriors: ArrayLike, kind: Kind, classes: int | None = None) -> Array:
    """(steps, classes) of finite numbers; probabilities are not negative and sum to about 1.

    One column, where ``classes`` is 2, is a model with one output: p becomes [1 - p, p], a logit z
    becomes [0, z].
    """
    rows = as_numbers(posteriors, "posteriors")
    if rows.size and (rows.ndim == 1 or rows.shape[1:] == (1,)):
        if classes is None:
            raise InputError(
                "posteriors have one column. The probability of the second of two classes? Name"
                ' both: classes=["no", "yes"]. Values of a regressor, or an anomaly score? Give'
                " outputs= in place of posteriors"
            )
        if classes == 2:
            rows = _two_columns(rows.reshape(-1, 1), kind)
    if rows.ndim != 2:
        raise InputError(f"posteriors must have the shape (steps, classes), got {rows.shape}")
    columns = rows.shape[1]
    if not MIN_CLASSES <= columns <= MAX_CLASSES:
        raise InputError(
            f"posteriors must have {MIN_CLASSES} to {MAX_CLASSES} classes, got {columns}"
        )
    refuse_extreme(rows, "posteriors")
    if kind == "probabilities" and len(rows):
        if rows.min() < 0:
            step = int(np.argmax((rows < 0).any(axis=1)))
            raise InputError(
                f"posteriors of step {step} must not be negative, got {rows[step].min():.6g}"
                ' (logits? say kind="logits")'
            )
        sums = rows.sum(axis=1, dtype=np.float64)
        off = np.abs(sums - 1.0)
        if off.max() > SUM_TOLERANCE:
            step = int(np.argmax(off))
            raise InputError(
                f"posteriors of step {step} must sum to 1 within {SUM_TOLERANCE},"
                f' got {sums[step]:.6g} (logits? say kind="logits"; one sigmoid per class is not a'
                " posterior; a model without classes gives outputs=)"
            )
    return rows


def _two_columns(column: Array, kind: Kind) -> Array:
    """Turn the one output of a two-class model into the posteriors of both classes."""
    refuse_extreme(column, "posteriors")
    if kind == "logits":
        return np.hstack([np.zeros_like(column), column])
    if column.min() < 0 or column.max() > 1:
        step = int(np.argmax((column < 0) | (column > 1)))
        raise InputError(
            f"posteriors of one column must lie in 0..1, got {column[step, 0]:.6g} at step {step}"
            ' (a logit? say kind="logits"; a regressor gives outputs=)'
        )
    return np.hstack([1 - column, column])


def checked_features(features: ArrayLike, steps: int) -> Array:
    """(steps, width) of finite numbers."""
    rows = as_numbers(features, "features")
    if rows.ndim != 2 or len(rows) != steps:
        raise InputError(f"features must have the shape ({steps}, width), got {rows.shape}")
    if not 1 <= rows.shape[1] <= MAX_FEATURES:
        raise InputError(f"features must be 1 to {MAX_FEATURES} wide, got {rows.shape[1]}")
    refuse_extreme(rows, "features")
    return rows


def checked_steps(values: ArrayLike, name: str, steps: int) -> NDArray[np.int64]:
    """Steps of a stream: a list, possibly empty, of integers in 0..steps-1."""
    array = as_numbers(values, name)
    if array.size == 0:  # an empty list has no type to judge by
        return np.empty(0, np.int64)
    array = as_numbers(array, name, "iu")
    if array.ndim != 1:
        raise InputError(f"{name} must have one dimension, got the shape {array.shape}")
    if array.min() < 0 or array.max() >= steps:
        raise InputError(f"{name} must lie in 0..{steps - 1}, got {array.min()}..{array.max()}")
    return array.astype(np.int64)


def _checked_shifted(
    shifted: ArrayLike | None, labels: NDArray[np.int32] | None, steps: int
) -> NDArray[np.bool_] | None:
    outside = None if labels is None else labels == OUT_OF_DISTRIBUTION
    if shifted is None:
        return outside if outside is not None and outside.any() else None
    array = as_numbers(shifted, "shifted", "b")
    if array.shape != (steps,):
        raise InputError(f"shifted must have the shape ({steps},), got {array.shape}")
    return array if outside is None else array | outside
