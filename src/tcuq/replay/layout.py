# SPDX-License-Identifier: Apache-2.0
"""The chunk layout of recorded streams (docs/spec/stream.md): the meaning of a row's bytes.

A row is a chunk of consecutive steps of one stream. Arrow batches are checked and read as NumPy
arrays over the same memory.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import MAX_STATISTICS
from tcuq._outputs import MAX_OUTPUTS
from tcuq.errors import StreamError
from tcuq.recording import FORMAT, SCALES, read_metadata
from tcuq.stream import KINDS, MAX_CLASSES, MAX_FEATURES, MIN_CLASSES, Kind

Array = NDArray[Any]

POSTERIOR_SCALE = 1 / 256  # of the device's bytes
_NUMBERS = {"posteriors": "fiu", "features": "fiu", "labels": "iu", "health": "fiu"}


@dataclass(frozen=True, slots=True)
class Layout:
    """The schema's metadata: NumPy type and width of each column, and scales."""

    kind: Kind
    columns: Mapping[str, tuple[str, int]]
    posterior_scale: float = 1.0
    feature_scale: float = 1.0
    source: Mapping[str, str] = field(default_factory=dict)
    health_scale: float = 1.0
    health_names: tuple[str, ...] = ()

    @property
    def classes(self) -> int:
        """Number of classes, or of outputs."""
        return self.columns["posteriors"][1]

    @property
    def width(self) -> int:
        """Number of features, 0 if there are none."""
        return self.columns["features"][1] if "features" in self.columns else 0

    @property
    def statistics(self) -> int:
        """Number of statistics of input health, 0 if there are none."""
        return self.columns["health"][1] if "health" in self.columns else 0

    @property
    def of_bytes(self) -> bool:
        """Whether posteriors and features are the device's input bytes."""
        features = self.columns.get("features", ("|i1", 0))[0]
        types = (self.columns["posteriors"][0], features)
        return types == ("|u1", "|i1") and self.posterior_scale == POSTERIOR_SCALE

    def metadata(self) -> dict[str, str]:
        """Return the layout as the schema's metadata."""
        meta: dict[str, Any] = {
            "kind": self.kind,
            "columns": {name: list(column) for name, column in self.columns.items()},
            "posterior_scale": self.posterior_scale,
            "feature_scale": self.feature_scale,
            "source": dict(self.source),
        }
        if self.statistics:
            meta |= {"health_scale": self.health_scale, "health_names": list(self.health_names)}
        return {FORMAT: json.dumps(meta)}


def layout_of(schema: Any) -> Layout:  # noqa: ANN401 - pyarrow has no types
    """Return the layout that a schema describes; refuse one that breaks a rule."""
    try:
        meta = read_metadata(schema.metadata or {})
        columns = {str(n): (np.dtype(t).str, w) for n, (t, w) in meta["columns"].items()}
        scales = {n: float(meta.get(n, 1.0)) for n in SCALES.values()}
        names = tuple(str(name) for name in meta.get("health_names", ()))
        kind = meta["kind"]
        source = {str(k): str(v) for k, v in meta.get("source", {}).items()}
    except StreamError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError):
        raise StreamError(f"the schema's metadata must hold {FORMAT!r} with its columns") from None
    if kind not in KINDS:
        raise StreamError(f"kind must be one of {', '.join(KINDS)}, got {str(kind)[:40]!r}")
    for name, scale in scales.items():
        if not 0 < scale < float("inf"):
            raise StreamError(f"{name} must be a positive number, got {scale}")
    known = {name: columns[name] for name in _NUMBERS if name in columns}
    fewest, widest = (1, MAX_OUTPUTS) if kind == "outputs" else (MIN_CLASSES, MAX_CLASSES)
    least = {"posteriors": fewest, "features": 1, "labels": 0, "health": 1}
    most = {
        "posteriors": widest, "features": MAX_FEATURES, "labels": 0, "health": MAX_STATISTICS
    }  # fmt: skip
    for name, (dtype, width) in known.items():
        if np.dtype(dtype).kind not in _NUMBERS[name]:
            raise StreamError(f"column {name!r} must not have dtype {dtype!r}")
        if not isinstance(width, int) or not least[name] <= width <= most[name]:
            raise StreamError(
                f"width of {name} must lie in {least[name]}..{most[name]}, got {str(width)[:20]}"
            )
    missing = {"posteriors"} - set(known) or {"first_step", "steps", *known} - set(schema.names)
    if missing:
        raise StreamError(f"column {min(missing)!r} is missing")
    return Layout(kind, known, **scales, source=source, health_names=names)


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive steps of one recording, within a batch."""

    stream: str
    starts_stream: bool
    starts_recording: bool
    row: int  # of its first chunk
    steps: int
    columns: Mapping[str, Array]


class Chunks:
    """Reads consecutive batches of rows; refuses rows out of order.

    `name` is the stream's where rows do not name theirs; errors count from `first_row`.
    """

    def __init__(self, layout: Layout, name: str, first_row: int = 0) -> None:
        self._layout = layout
        self._name = name
        self._row = first_row
        self._stream: str | None = None
        self._recording = 0
        self._next = 0

    def spans(self, batch: Any) -> Iterator[Span]:  # noqa: ANN401 - pyarrow has no types
        """Cut the batch where a recording begins; yield arrays over its memory."""
        rows, names = batch.num_rows, batch.schema.names
        steps, first = self._integers(batch, "steps", 1), self._integers(batch, "first_step", 0)
        zeros = np.zeros(rows, np.int64)
        recording = self._integers(batch, "recording", 0) if "recording" in names else zeros
        if "stream" in names and batch.column("stream").null_count:
            raise StreamError("column 'stream' must not have nulls")
        named = batch.column("stream").to_pylist() if "stream" in names else [self._name] * rows
        streams = np.array(named, object)
        ends = np.cumsum(steps)
        columns = {name: self._values(batch, name, steps) for name in self._layout.columns}
        same = (streams[1:] == streams[:-1]) & (recording[1:] == recording[:-1])
        same &= first[1:] == first[:-1] + steps[:-1]
        breaks = np.flatnonzero(~same) + 1
        for begin, end in zip([0, *breaks.tolist()], [*breaks.tolist(), rows], strict=True):
            key = (str(streams[begin]), int(recording[begin]), int(first[begin]))
            starts = self._starts(*key, begin)
            self._next = int(first[end - 1] + steps[end - 1])
            at = slice(int(ends[begin] - steps[begin]), int(ends[end - 1]))
            part = {name: values[at] for name, values in columns.items()}
            yield Span(key[0], *starts, self._row + begin, at.stop - at.start, part)
        self._row += rows

    def _starts(self, stream: str, recording: int, first: int, row: int) -> tuple[bool, bool]:
        """Tell whether a stream and a recording begin at this row; refuse a row out of order."""
        if (stream, recording, first) == (self._stream, self._recording, self._next):
            return False, False
        starts_stream = stream != self._stream
        expected = 0 if starts_stream else self._recording + 1
        if first != 0 or recording != expected:
            raise StreamError(
                f"row {self._row + row}: stream {stream[:60]!r} must go on at its next step"
                f" or at step 0 of recording {expected}, got step {first} of recording {recording};"
                " all rows of a stream stand together, in order"
            )
        self._stream, self._recording = stream, recording
        return starts_stream, True

    def _values(self, batch: Any, name: str, steps: Array) -> Array:  # noqa: ANN401
        """Return a binary column's values, one row per step."""
        dtype, width = self._layout.columns[name]
        column = batch.column(name)
        offset = {"binary": np.int32, "large_binary": np.int64}.get(str(column.type))
        if offset is None or column.null_count:
            raise StreamError(f"column {name!r} must be binary without nulls, got {column.type}")
        _, offsets, data = column.buffers()
        at = np.frombuffer(
            offsets, offset, len(column) + 1, column.offset * np.dtype(offset).itemsize
        )
        step_bytes = np.dtype(dtype).itemsize * max(width, 1)
        wrong = np.flatnonzero(np.diff(at) != steps * step_bytes)
        if len(wrong):
            row = int(wrong[0])
            raise StreamError(
                f"row {self._row + row}: {name} must hold {int(steps[row]) * step_bytes} bytes"
                f" for {int(steps[row])} steps, got {int(at[row + 1] - at[row])}"
            )
        count = int(at[-1] - at[0]) // np.dtype(dtype).itemsize
        values = np.frombuffer(data, dtype, count, int(at[0])) if count else np.empty(0, dtype)
        values = values if values.flags.aligned else values.copy()
        return values.reshape(-1, width) if width else values

    def _integers(self, batch: Any, name: str, least: int) -> NDArray[np.int64]:  # noqa: ANN401
        column = batch.column(name)
        if str(column.type) != "int64" or column.null_count:
            raise StreamError(f"column {name!r} must be int64 without nulls, got {column.type}")
        values: NDArray[np.int64] = column.to_numpy()
        if len(values) and not least <= values.min() <= values.max() < 1 << 48:
            row = int(np.argmax((values < least) | (values >= 1 << 48)))
            raise StreamError(
                f"row {self._row + row}: {name} must be at least {least}, got {values[row]}"
            )
        return values
