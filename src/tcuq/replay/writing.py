# SPDX-License-Identifier: Apache-2.0
"""Write the chunk layout: collect steps into sorted rows of chunks, in bounded memory."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import StreamError
from tcuq.files import atomic_write
from tcuq.replay.layout import Layout

Array = NDArray[Any]

CHUNK_STEPS = 1000
GROUP_BYTES = 16 << 20  # a row group ends with the stream that fills it
MOST_GROUP_BYTES = 4 * GROUP_BYTES  # or within a stream that is this long
# Decoding costs a fifth of the monitor's time, zstd's half of it (docs/decisions/0014).
COMPRESSION = "lz4"


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
