# SPDX-License-Identifier: Apache-2.0
"""A recorded stream: what a classifier said, step by step, in recorded order."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq.errors import InputError

Kind = Literal["probabilities", "logits"]
KINDS: tuple[Kind, ...] = ("probabilities", "logits")
MIN_CLASSES, MAX_CLASSES = 2, 1000
MAX_FEATURES = 65_535  # a width is 16 bits on the device
UNKNOWN = -1
# Far beyond any feature or logit in use, and small enough that no square of it overflows.
MAX_MAGNITUDE = 1e9
# int8 softmax outputs sum to 252..260 of 256: a row this close to 1 is a probability vector.
SUM_TOLERANCE = 0.02

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Stream:
    """Posteriors, and if recorded features and labels, of one or more recordings.

    Parameters
    ----------
    posteriors
        (steps, classes), probabilities or logits as ``kind`` says; never guessed.
    features
        (steps, width) of the layer the monitor looks at, or None.
    labels
        The true class of each step, -1 where unknown, or None.
    kind
        "probabilities" or "logits".
    starts
        Steps at which a new recording begins: history does not reach across. Step 0 always is.
    shifted
        True where a step is known to be out of distribution; for evaluation only.

    Examples
    --------
    >>> stream = Stream([[0.9, 0.1], [0.4, 0.6]], labels=[0, 1])
    >>> len(stream), stream.classes, stream.width
    (2, 2, 0)
    """

    posteriors: Array
    features: Array | None
    labels: NDArray[np.int32] | None
    kind: Kind
    starts: NDArray[np.int64]
    shifted: NDArray[np.bool_] | None

    def __init__(
        self,
        posteriors: ArrayLike,
        features: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        *,
        kind: Kind = "probabilities",
        starts: ArrayLike | None = None,
        shifted: ArrayLike | None = None,
    ) -> None:
        if kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        posterior_rows = checked_posteriors(posteriors, kind)
        steps = len(posterior_rows)
        if steps == 0:
            raise InputError("a stream must have at least 1 step, got 0")
        put = object.__setattr__
        put(self, "posteriors", posterior_rows)
        put(self, "features", None if features is None else checked_features(features, steps))
        put(self, "labels", _checked_labels(labels, steps, posterior_rows.shape[1]))
        put(self, "kind", kind)
        put(self, "starts", _checked_starts(starts, steps))
        put(self, "shifted", _checked_shifted(shifted, steps))

    def __len__(self) -> int:
        return len(self.posteriors)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.posteriors.shape[1])

    @property
    def width(self) -> int:
        """Number of features, 0 if none were recorded."""
        return 0 if self.features is None else int(self.features.shape[1])

    @property
    def sha256(self) -> str:
        """Hash of everything recorded, types and shapes included."""
        digest = hashlib.sha256(self.kind.encode())
        for column in (self.posteriors, self.features, self.labels, self.starts, self.shifted):
            if column is None:
                digest.update(b"none")
            else:
                digest.update(f"{column.dtype.str}{column.shape}".encode())
                digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()

    @property
    def distinct(self) -> int:
        """How many steps differ from every other: resampled steps carry no news."""
        columns = [self.posteriors] if self.features is None else [self.posteriors, self.features]
        joint = np.hstack([c.astype(np.float64) for c in columns])
        rows = np.ascontiguousarray(joint).view(f"V{joint.shape[1] * 8}").ravel()
        return len(np.unique(rows))

    def parts(self) -> Iterator["Stream"]:
        """Each recording as a stream of its own, in order."""
        bounds = [*self.starts, len(self)]
        for begin, end in pairwise(bounds):
            yield self.cut(int(begin), int(end))

    def cut(self, begin: int, end: int) -> "Stream":
        """Steps begin..end-1, recordings kept apart."""

        def part(column: Array | None) -> Array | None:
            return None if column is None else column[begin:end]

        inside = self.starts[(self.starts > begin) & (self.starts < end)] - begin
        # Already checked as a whole: skip __init__ and its copy of every rule.
        other = object.__new__(Stream)
        for name, value in (
            ("posteriors", self.posteriors[begin:end]),
            ("features", part(self.features)),
            ("labels", part(self.labels)),
            ("kind", self.kind),
            ("starts", np.concatenate([np.zeros(1, np.int64), inside])),
            ("shifted", part(self.shifted)),
        ):
            object.__setattr__(other, name, value)
        return other


def checked_posteriors(posteriors: ArrayLike, kind: Kind) -> Array:
    """(steps, classes) of finite numbers; probabilities are not negative and sum to about 1."""
    rows = as_numbers(posteriors, "posteriors")
    if rows.ndim != 2:
        raise InputError(f"posteriors must have the shape (steps, classes), got {rows.shape}")
    classes = rows.shape[1]
    if not MIN_CLASSES <= classes <= MAX_CLASSES:
        raise InputError(
            f"posteriors must have {MIN_CLASSES} to {MAX_CLASSES} classes, got {classes}"
        )
    _refuse_wild(rows, "posteriors")
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
                f' got {sums[step]:.6g} (logits? say kind="logits")'
            )
    return rows


def checked_features(features: ArrayLike, steps: int) -> Array:
    """(steps, width) of finite numbers."""
    rows = as_numbers(features, "features")
    if rows.ndim != 2 or len(rows) != steps:
        raise InputError(f"features must have the shape ({steps}, width), got {rows.shape}")
    if not 1 <= rows.shape[1] <= MAX_FEATURES:
        raise InputError(f"features must be 1 to {MAX_FEATURES} wide, got {rows.shape[1]}")
    _refuse_wild(rows, "features")
    return rows


def as_numbers(values: ArrayLike, name: str, kinds: str = "fiu") -> Array:
    """An array whose type is among these kinds: f real, i and u integer, b boolean."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be a rectangular array of numbers: {error}") from None
    if array.dtype.kind not in kinds:
        wanted = {"fiu": "real numbers", "iu": "integers", "b": "booleans"}[kinds]
        raise InputError(f"{name} must be {wanted}, got dtype {array.dtype}")
    return array


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


def _refuse_wild(rows: Array, name: str) -> None:
    # By the extremes, without a temporary array the size of the stream; NaN compares as False.
    if rows.size and not -MAX_MAGNITUDE <= float(rows.min()) <= float(rows.max()) <= MAX_MAGNITUDE:
        tame = np.abs(rows, dtype=np.float64) <= MAX_MAGNITUDE
        step, column = (int(i) for i in np.argwhere(~tame)[0])
        raise InputError(
            f"{name} must be finite and within ±{MAX_MAGNITUDE:g},"
            f" got {rows[step, column]} at step {step}, column {column}"
        )


def _checked_labels(labels: ArrayLike | None, steps: int, classes: int) -> NDArray[np.int32] | None:
    if labels is None:
        return None
    array = as_numbers(labels, "labels", "iu")
    if array.shape != (steps,):
        raise InputError(f"labels must have the shape ({steps},), got {array.shape}")
    if array.min() < UNKNOWN or array.max() >= classes:
        raise InputError(
            f"labels must lie in {UNKNOWN}..{classes - 1}, got {array.min()}..{array.max()}"
        )
    return array.astype(np.int32)


def _checked_starts(starts: ArrayLike | None, steps: int) -> NDArray[np.int64]:
    given = checked_steps(() if starts is None else starts, "starts", steps)
    return np.unique(np.concatenate([np.zeros(1, np.int64), given]))


def _checked_shifted(shifted: ArrayLike | None, steps: int) -> NDArray[np.bool_] | None:
    if shifted is None:
        return None
    array = as_numbers(shifted, "shifted", "b")
    if array.shape != (steps,):
        raise InputError(f"shifted must have the shape ({steps},), got {array.shape}")
    return array
