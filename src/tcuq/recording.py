# SPDX-License-Identifier: Apache-2.0
"""Recorded streams in files: `.npz` always, `.parquet` with the extra `parquet`.

Both layouts are in docs/spec/stream.md. A file is a stranger's: nothing in it is unpickled, sizes
are bounded before they are allocated, and every value passes the Stream's own rules.
"""

import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tcuq._atomic import written_whole
from tcuq.errors import InputError, MissingExtraError, StreamError
from tcuq.stream import MAX_FEATURES, Stream

FORMAT = "tcuq.stream/1"
MAX_COLUMN_BYTES = 8 << 30
PARQUET_CHUNK_STEPS = 1000
COLUMNS = ("posteriors", "features", "labels", "starts", "shifted")
SCALES = ("posterior_scale", "feature_scale")
_TYPES = {"posteriors": "fiu", "features": "fiu", "labels": "iu", "starts": "iu", "shifted": "b"}


T = TypeVar("T")


def load_stream(path: str | os.PathLike[str]) -> Stream:
    """Read a recorded stream, by the file's ending: .npz or .parquet."""
    reader: Callable[[Path], Stream] = _by_ending(
        path, {".npz": _read_npz, ".parquet": _read_parquet}
    )
    return _guarded(path, reader)


def _guarded(path: str | os.PathLike[str], reader: Callable[[Path], T]) -> T:
    """What a reader makes of a file; whatever goes wrong is said of the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return reader(Path(path))
    except (StreamError, InputError) as error:
        raise StreamError(f"{path}: {error}") from None
    except MissingExtraError:
        raise
    except OSError as error:
        raise StreamError(f"{path}: {_first_line(error.strerror or error)}") from error
    except Exception as error:
        raise StreamError(f"{path}: not a readable stream: {_first_line(error)}") from error


def _first_line(error: object) -> str:
    return (next(iter(str(error).splitlines()), "") or type(error).__name__)[:200]


def save_stream(stream: Stream, path: str | os.PathLike[str]) -> None:
    """Write a recorded stream, by the file's ending; it appears whole or not at all."""
    writer = _by_ending(path, {".npz": _write_npz, ".parquet": _write_parquet})
    try:
        writer(stream, Path(path))
    except OSError as error:
        raise StreamError(f"{path}: {error.strerror or error}") from error


def _by_ending(path: str | os.PathLike[str], known: Mapping[str, Any]) -> Callable[..., Any]:
    ending = Path(path).suffix
    if ending not in known:
        raise StreamError(f"{path}: a stream's file must end in {' or '.join(known)}")
    chosen: Callable[..., Any] = known[ending]
    return chosen


def read_arrays(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Those of these arrays that an .npz file of a stranger holds."""
    read: Callable[[Path], dict[str, NDArray[Any]]] = _by_ending(
        path, {".npz": lambda file: _read_zip(file, names)}
    )
    return _guarded(path, read)


def _read_npz(path: Path) -> Stream:
    return _stream_from(_read_zip(path, (*COLUMNS, "kind", *SCALES)))


def _read_zip(path: Path, names: Iterable[str]) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            archive.open(member).close()  # a damaged name would pass for another array's
            if member.comment:  # a damaged length would hide the members behind it
                raise StreamError(f"{member.filename} must not have a comment")
        held = {Path(member.filename).stem: member for member in archive.infolist()}
        return {name: _read_npy(archive, held[name]) for name in names if name in held}


def _read_npy(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """One array, refused before memory is taken for it if it claims more than its file holds."""
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
    with archive.open(member) as file:
        array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        file.read()  # to the end, where the archive's checksum is compared
    return array


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
    for name, scale in zip(("posteriors", "features"), SCALES, strict=True):
        if scale in arrays and name in given:
            given[name] = _scaled(given[name], arrays[scale], scale)
    return Stream(kind=kind, **given)  # type: ignore[arg-type]


def _scaled(values: NDArray[Any], scale: NDArray[Any], name: str) -> NDArray[Any]:
    if scale.shape != () or scale.dtype.kind not in "fiu" or not 0 < float(scale) < np.inf:
        raise StreamError(f"{name} must be one positive number")
    with np.errstate(over="ignore"):  # what overflows is refused as not finite
        scaled: NDArray[Any] = values.astype(np.float64) * float(scale)
    return scaled


def _write_npz(stream: Stream, path: Path) -> None:
    arrays = {n: getattr(stream, n) for n in COLUMNS if getattr(stream, n) is not None}
    with written_whole(path) as file:
        np.savez_compressed(file, kind=np.array(stream.kind), **arrays)


def _read_parquet(path: Path) -> Stream:
    parquet, arrow = _arrow()
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        groups = range(file.metadata.num_row_groups)
        claimed = sum(file.metadata.row_group(group).total_byte_size for group in groups)
        if claimed > MAX_COLUMN_BYTES:
            raise StreamError(f"it claims {claimed} bytes, at most {MAX_COLUMN_BYTES} are read")
        if (
            sum(file.metadata.row_group(group).num_rows for group in groups)
            != file.metadata.num_rows
        ):
            raise StreamError("its row groups must hold all of its rows")
        table = file.read()
    meta = json.loads((table.schema.metadata or {}).get(FORMAT.encode(), b"null"))
    if not isinstance(meta, dict) or not isinstance(meta.get("columns"), dict):
        raise StreamError(f"the schema's metadata must hold {FORMAT!r} with its columns")
    for name in ("first_step", "steps"):
        if table.schema.field(name).type != arrow.int64() or table[name].null_count:
            raise StreamError(f"column {name!r} must be int64 without nulls")
    if "stream" in table.schema.names and len(set(table["stream"].to_pylist())) > 1:
        raise StreamError("it holds several streams: tcuq replay reads them")
    return _stream_from(dict(_columns_of(table, meta)))


def _columns_of(table: Any, meta: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:  # noqa: ANN401 - pyarrow has no types
    """Each column's chunks, end to end, as the array the metadata describes."""
    yield "kind", np.array(str(meta["kind"]))
    yield from ((name, np.array(meta[name])) for name in SCALES if name in meta)
    lengths = table["steps"].to_numpy()
    steps = int(lengths.sum())
    begins = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    yield "starts", begins[table["first_step"].to_numpy() == 0]
    for name, described in meta["columns"].items():
        dtype, width = described if isinstance(described, list) else (None, None)
        if name not in _TYPES or np.dtype(dtype).kind not in _TYPES[name]:
            raise StreamError(
                f"column {str(name)[:60]!r} of dtype {str(dtype)[:20]!r} is not known"
            )
        if not isinstance(width, int) or not 0 <= width <= MAX_FEATURES:
            raise StreamError(
                f"width of {name} must lie in 0..{MAX_FEATURES}, got {str(width)[:20]}"
            )
        raw = b"".join(table[name].to_pylist())
        expected = steps * max(1, width) * np.dtype(dtype).itemsize
        if len(raw) != expected:
            raise StreamError(
                f"{name} must hold {expected} bytes for {steps} steps, got {len(raw)}"
            )
        values = np.frombuffer(raw, dtype)
        yield name, values.reshape(steps, width) if width else values


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
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return parquet, pa
