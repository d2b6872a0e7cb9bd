# SPDX-License-Identifier: Apache-2.0
"""Pack recorded streams into chunks, from `.npz`, `.csv` and Parquet with one row per step.

A table has the columns `posterior_0`, `posterior_1`, ..., and may have `feature_0`, ...,
`health_0`, ..., `label`, `stream` and `recording`; rows of a stream are consecutive and in order.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import HEALTH_ONE, UNKNOWN
from tcuq.errors import InputError, StreamError
from tcuq.files import atomic_write
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import health_integers
from tcuq.replay.layout import POSTERIOR_SCALE, Layout
from tcuq.replay.units import arrow
from tcuq.stream import Kind, Stream

Array = NDArray[Any]
Piece = tuple[str, int, Stream]  # stream, recording, consecutive steps of it
CHUNK_STEPS = 1000
GROUP_BYTES = 16 << 20  # a row group ends with the stream that fills it
MOST_GROUP_BYTES = 4 * GROUP_BYTES  # or within a stream that is this long
# Decoding costs a fifth of the monitor's time, zstd's half of it (docs/decisions/0014).
COMPRESSION = "lz4"


def pack(
    sources: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    profile: Profile | None = None,
    kind: Kind = "probabilities",
) -> int:
    """Write the streams of these files into one file of chunks; return the number of steps.

    Parameters
    ----------
    sources
        Each `.npz` is a stream named after its file; `.csv` and `.parquet` tables have streams.
    output
        A path that ends in .parquet.
    profile
        Steps are stored as its device's input bytes, the smallest and fastest. None: they are
        stored unchanged.
    kind
        Kind of the posteriors in tables; other files have their own.
    """
    arrow()  # before the work
    monitor = None if profile is None else Monitor(profile)
    pieces = _pieces(sorted(map(Path, sources), key=lambda path: path.stem), kind)
    first = next(pieces, None)
    if first is None:
        raise StreamError("there must be at least 1 stream, got 0")
    layout, steps = _layout(first[2], profile), 0
    with ChunkWriter(output, layout) as writer:
        for stream, recording, part in chain([first], pieces):
            writer.add(stream, recording, _columns(part, layout, monitor, stream))
            steps += len(part)
    return steps


def _pieces(paths: Iterable[Path], kind: Kind) -> Iterator[Piece]:
    for path in paths:
        if path.suffix == ".npz":
            parts = enumerate(Stream.load(path).recordings())
            yield from ((path.stem, number, part) for number, part in parts)
        elif path.suffix in (".csv", ".parquet"):
            yield from _table_pieces(path, kind)
        else:
            raise StreamError(f"{path}: must end in .npz, .csv or .parquet")


def _layout(stream: Stream, profile: Profile | None) -> Layout:
    columns = {"posteriors": (stream.posteriors.dtype.str, stream.posteriors.shape[1])}
    if stream.features is not None:
        columns["features"] = (stream.features.dtype.str, stream.width)
    if stream.labels is not None:
        columns["labels"] = ("<i4", 0)
    if stream.health is not None:
        columns["health"] = ("<f8", len(stream.health_names))
    if profile is None:
        return Layout(stream.kind, columns, health_names=stream.health_names)
    for name, dtype in (("posteriors", "|u1"), ("features", "|i1"), ("health", "<i2")):
        if name in columns:
            columns[name] = (dtype, columns[name][1])
    return Layout(
        "outputs" if stream.kind == "outputs" else "probabilities",
        columns,
        POSTERIOR_SCALE,
        profile.inputs.feature_scale or 1.0,
        {"profile": profile.sha256},
        1 / HEALTH_ONE,
        stream.health_names,
    )


def _columns(
    part: Stream, layout: Layout, monitor: Monitor | None, name: str
) -> Mapping[str, Array]:
    """Convert a piece's values to the layout; refuse one that differs from the first."""
    shape = (part.posteriors.shape[1], part.width)
    if shape != (layout.classes, layout.width):
        raise StreamError(
            f"stream {name[:60]!r}: must have {layout.classes} classes and {layout.width} features"
            f" as the first, got {shape[0]} and {shape[1]}"
        )
    if "health" in layout.columns and part.health_names != layout.health_names:
        raise StreamError(
            f"stream {name[:60]!r}: must have the health statistics of the first,"
            f" {', '.join(layout.health_names)}, got {', '.join(part.health_names) or 'none'}"
        )
    unknown = np.full(len(part), UNKNOWN, np.int32)
    columns: dict[str, Any] = {"labels": unknown if part.labels is None else part.labels}
    columns["health"] = part.health
    if monitor is not None:
        try:
            posteriors, features = monitor.quantize(part.posteriors, part.features)
        except InputError as error:
            raise StreamError(f"stream {name[:60]!r}: {error}") from None
        if part.health is not None:
            columns["health"] = health_integers(part.health)
        return columns | {"posteriors": posteriors, "features": features}
    if part.kind != layout.kind:
        raise StreamError(f"stream {name[:60]!r}: kind must be {layout.kind}, got {part.kind}")
    for column in {"posteriors", "features"} & set(layout.columns):
        columns[column] = getattr(part, column)
        if not np.can_cast(columns[column].dtype, layout.columns[column][0]):
            raise StreamError(
                f"stream {name[:60]!r}: {column} must fit the first stream's type"
                f" {layout.columns[column][0]!r}, got {columns[column].dtype.str!r}"
            )
    return columns


def _table_pieces(path: Path, kind: Kind) -> Iterator[Piece]:
    """Yield the streams of a table with one row per step, batch by batch."""
    for batch in _table_batches(path):
        try:
            yield from _batch_pieces(batch, path.stem, kind)
        except (InputError, ValueError) as error:
            raise StreamError(f"{path}: {error}") from None


def _table_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if path.suffix == ".csv":
            types = csv.ConvertOptions(column_types={"stream": pa.string()})
            with csv.open_csv(path, convert_options=types) as reader:
                yield from reader
            return
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            yield from file.iter_batches(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise StreamError(f"{path}: {str(error).splitlines()[0][:200]}") from None


def _batch_pieces(batch: Any, name: str, kind: Kind) -> Iterator[Piece]:  # noqa: ANN401
    def matrix(prefix: str) -> Array | None:
        count = sum(n.startswith(prefix) for n in batch.schema.names)
        columns = [
            batch.column(f"{prefix}{i}").to_numpy(zero_copy_only=False) for i in range(count)
        ]
        return np.column_stack(columns) if columns else None

    def single(column: str) -> Any:  # noqa: ANN401
        return batch.column(column).to_pylist() if column in batch.schema.names else None

    rows = batch.num_rows
    posteriors, features, labels = matrix("posterior_"), matrix("feature_"), single("label")
    health = matrix("health_")
    if posteriors is None:
        raise StreamError("column 'posterior_0' is missing: a table has a row a step")
    streams = [str(stream) for stream in single("stream") or [name] * rows]
    recordings = single("recording") or [0] * rows
    keys = list(zip(streams, recordings, strict=True))
    breaks = [row for row in range(1, rows) if keys[row] != keys[row - 1]]
    for begin, end in pairwise([0, *breaks, rows] if rows else []):
        at = slice(begin, end)
        yield (
            *keys[begin],
            Stream(
                posteriors[at],
                None if features is None else features[at],
                None if labels is None else labels[at],
                kind=kind,
                health=None if health is None else health[at],
            ),
        )


class ChunkWriter:
    """Writes a Parquet file of chunks atomically.

    Parameters
    ----------
    path, layout
        The file, and the layout of its columns.
    """

    def __init__(self, path: str | os.PathLike[str], layout: Layout) -> None:
        import pyarrow as pa

        self._layout = layout
        fields = [("stream", pa.string())]
        fields += [(name, pa.int64()) for name in ("recording", "first_step", "steps")]
        fields += [(name, pa.binary()) for name in layout.columns]
        self._schema = pa.schema(fields, layout.metadata())
        self._path = path
        self._stack = ExitStack()
        self._rows: dict[str, list[Any]] = {name: [] for name in self._schema.names}
        self._pending: list[Mapping[str, Array]] = []  # steps that do not fill a chunk yet
        self._pending_steps = self._first = self._bytes = 0
        self._key: tuple[str, int] | None = None

    def __enter__(self) -> Self:
        from pyarrow import parquet

        file = self._stack.enter_context(atomic_write(self._path))
        self._file = self._stack.enter_context(
            parquet.ParquetWriter(
                file,
                self._schema,
                compression=COMPRESSION,
                use_dictionary=["stream"],
                write_page_checksum=True,
            )
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                self._chunk(self._pending_steps)
                self._flush()
        finally:
            self._stack.__exit__(kind, *rest)  # type: ignore[arg-type]

    def add(self, stream: str, recording: int, columns: Mapping[str, Array]) -> None:
        """Append steps of a recording; streams ascend by name, recordings count from 0."""
        if (stream, recording) != self._key:
            self._begin(stream, recording)
        self._pending.append({name: columns[name] for name in self._layout.columns})
        self._pending_steps += len(columns["posteriors"])
        while self._pending_steps >= CHUNK_STEPS:
            self._chunk(CHUNK_STEPS)

    def _begin(self, stream: str, recording: int) -> None:
        self._chunk(self._pending_steps)
        before, last = self._key or ("", -1)
        if self._key is None or stream != before:
            if self._key is not None and stream < before:
                raise StreamError(
                    f"stream {stream[:60]!r} must not come after {before[:60]!r}:"
                    " sort by stream, then by time"
                )
            last = -1
            if self._bytes >= GROUP_BYTES:
                self._flush()
        if recording != last + 1:
            raise StreamError(
                f"stream {stream[:60]!r}: recording must be {last + 1}, got {recording}"
            )
        self._key, self._first = (stream, recording), 0

    def _chunk(self, steps: int) -> None:
        """Turn the first pending steps into a row."""
        if steps == 0 or self._key is None:
            return
        names, parts = self._layout.columns, self._pending
        columns = {name: np.concatenate([part[name] for part in parts]) for name in names}
        cells: dict[str, Any] = {
            "stream": self._key[0],
            "recording": self._key[1],
            "first_step": self._first,
            "steps": steps,
        }
        for name, (dtype, _) in self._layout.columns.items():
            cells[name] = columns[name][:steps].astype(dtype).tobytes()
            self._bytes += len(cells[name])
        for name, cell in cells.items():
            self._rows[name].append(cell)
        self._pending = [{name: values[steps:] for name, values in columns.items()}]
        self._pending_steps -= steps
        self._first += steps
        if self._bytes >= MOST_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._rows["stream"]:
            self._file.write_table(pa.Table.from_pydict(self._rows, self._schema))
        self._rows = {name: [] for name in self._rows}
        self._bytes = 0
