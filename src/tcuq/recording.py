# SPDX-License-Identifier: Apache-2.0
"""Recorded streams in files: `.npz` always, `.parquet` with the extra `parquet`.

Both layouts are in docs/spec/stream.md. A file is a stranger's: nothing in it is unpickled, sizes
are bounded before they are allocated, and every value passes the Stream's own rules.
"""

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tcuq.atomic import written_whole
from tcuq.errors import InputError, MissingExtraError, StreamError
from tcuq.stream import Stream

FORMAT = "tcuq.stream/1"
MAX_COLUMN_BYTES = 8 << 30
PARQUET_CHUNK_STEPS = 1000
COLUMNS = ("posteriors", "features", "labels", "starts", "shifted")
_TYPES = {"posteriors": "fiu", "features": "fiu", "labels": "iu", "starts": "iu", "shifted": "b"}


def load_stream(path: str | os.PathLike[str]) -> Stream:
    """Read a recorded stream, by the file's ending: .npz or .parquet."""
    reader = _by_ending(path, {".npz": _read_npz, ".parquet": _read_parquet})
    try:
        stream: Stream = reader(Path(path))
    except (StreamError, InputError) as error:
        raise StreamError(f"{path}: {error}") from None
    except OSError as error:
        raise StreamError(f"{path}: {error.strerror or error}") from error
    return stream


def save_stream(stream: Stream, path: str | os.PathLike[str]) -> None:
    """Write a recorded stream, by the file's ending; it appears whole or not at all."""
    _by_ending(path, {".npz": _write_npz, ".parquet": _write_parquet})(stream, Path(path))


def _by_ending(path: str | os.PathLike[str], known: Mapping[str, Any]) -> Callable[..., Any]:
    ending = Path(path).suffix
    if ending not in known:
        raise StreamError(f"{path}: a stream's file must end in {' or '.join(known)}")
    chosen: Callable[..., Any] = known[ending]
    return chosen


def _read_npz(path: Path) -> Stream:
    if not path.exists():
        raise StreamError("no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                _check_npy_header(archive, member)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, ValueError, EOFError, KeyError, NotImplementedError) as error:
        if isinstance(error, StreamError):
            raise
        raise StreamError(f"not a readable .npz file: {str(error)[:200]}") from None
    return _stream_from(arrays)


def _check_npy_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
    """Refuse a member whose header claims more than it may hold, before NumPy allocates for it."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = reader(file)
    claimed = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if dtype.hasobject:
        raise StreamError(f"{member.filename} holds Python objects, which are never loaded")
    if claimed > MAX_COLUMN_BYTES or claimed > member.file_size:
        raise StreamError(
            f"{member.filename} claims {claimed} bytes, its file holds {member.file_size},"
            f" at most {MAX_COLUMN_BYTES} are read"
        )


def _stream_from(arrays: Mapping[str, NDArray[Any]]) -> Stream:
    if "posteriors" not in arrays:
        raise StreamError("posteriors are missing")
    kind = str(arrays["kind"]) if "kind" in arrays else None
    if kind is None:
        raise StreamError('kind is missing: say "probabilities" or "logits"')
    given = {name: arrays[name] for name in COLUMNS if name in arrays}
    for name, column in given.items():
        if column.dtype.kind not in _TYPES[name]:
            raise StreamError(f"{name} must not have dtype {column.dtype}")
    for name, scale in (("posteriors", "posterior_scale"), ("features", "feature_scale")):
        if scale in arrays and name in given:
            given[name] = _scaled(given[name], arrays[scale], scale)
    return Stream(kind=kind, **given)  # type: ignore[arg-type]


def _scaled(values: NDArray[Any], scale: NDArray[Any], name: str) -> NDArray[Any]:
    if scale.shape != () or scale.dtype.kind not in "fiu" or not 0 < float(scale) < np.inf:
        raise StreamError(f"{name} must be one positive number")
    return values.astype(np.float64) * float(scale)


def _write_npz(stream: Stream, path: Path) -> None:
    arrays = {n: getattr(stream, n) for n in COLUMNS if getattr(stream, n) is not None}
    with written_whole(path) as file:
        np.savez_compressed(file, kind=np.array(stream.kind), **arrays)


def _read_parquet(path: Path) -> Stream:
    parquet, arrow = _arrow()
    try:
        with parquet.ParquetFile(path) as file:
            table = file.read()
        meta = json.loads((table.schema.metadata or {}).get(FORMAT.encode(), b"null"))
        if not isinstance(meta, dict):
            raise StreamError(f"the schema's metadata must hold {FORMAT!r}")
        arrays = dict(_columns_of(table, meta))
    except (arrow.ArrowException, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, StreamError):
            raise
        raise StreamError(f"not a readable stream: {str(error).splitlines()[0][:200]}") from None
    return _stream_from(arrays)


def _columns_of(table: Any, meta: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:  # noqa: ANN401 - pyarrow has no types
    """Each column's chunks, end to end, as the array the metadata describes."""
    yield "kind", np.array(str(meta["kind"]))
    lengths = np.array(table["steps"], np.int64)
    steps = int(lengths.sum())
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    yield "starts", begins[np.array(table["first_step"], np.int64) == 0]
    for name, (dtype, width) in meta["columns"].items():
        if name not in _TYPES or np.dtype(dtype).kind not in _TYPES[name]:
            raise StreamError(
                f"column {str(name)[:60]!r} of dtype {str(dtype)[:20]!r} is not known"
            )
        raw = b"".join(table[name].to_pylist())
        expected = steps * max(1, int(width)) * np.dtype(dtype).itemsize
        if len(raw) != expected:
            raise StreamError(
                f"{name} must hold {expected} bytes for {steps} steps, got {len(raw)}"
            )
        values = np.frombuffer(raw, dtype)
        yield name, values.reshape(steps, int(width)) if width else values


def _write_parquet(stream: Stream, path: Path) -> None:
    parquet, arrow = _arrow()
    names = [n for n in COLUMNS if n != "starts" and getattr(stream, n) is not None]
    rows: dict[str, list[Any]] = {n: [] for n in ("recording", "first_step", "steps", *names)}
    for number, part in enumerate(stream.parts()):
        for begin in range(0, len(part), PARQUET_CHUNK_STEPS):
            chunk = part.cut(begin, min(begin + PARQUET_CHUNK_STEPS, len(part)))
            rows["recording"].append(number)
            rows["first_step"].append(begin)
            rows["steps"].append(len(chunk))
            for name in names:
                rows[name].append(np.ascontiguousarray(getattr(chunk, name)).tobytes())
    shapes = {n: getattr(stream, n) for n in names}
    meta = {
        "kind": stream.kind,
        "columns": {n: [c.dtype.str, c.shape[1] if c.ndim == 2 else 0] for n, c in shapes.items()},
    }
    table = arrow.table(rows).replace_schema_metadata({FORMAT: json.dumps(meta)})
    with written_whole(path) as file:
        parquet.write_table(table, file, compression="zstd")


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return parquet, pa
