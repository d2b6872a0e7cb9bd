# SPDX-License-Identifier: Apache-2.0
"""Recordings: streams in files, `.npz` always and `.parquet` with the extra `parquet`.

Both layouts are in docs/spec/stream.md. A file is untrusted: nothing in it is unpickled, sizes are
bounded before they are allocated, and every value is checked by the constructor that gets it.
"""

import errno
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tcuq._extras import import_extra
from tcuq.errors import InputError, MissingExtraError, StreamError
from tcuq.files import atomic_write

FORMAT = "tcuq.stream/1"
ENDINGS = (".npz", ".parquet")
MAX_COLUMN_BYTES = 8 << 30
PARQUET_CHUNK_STEPS = 1000
SCALES = {
    "posteriors": "posterior_scale", "features": "feature_scale", "health": "health_scale"
}  # fmt: skip
NAMES = {"class_names": "classes", "health_names": "health_names"}  # and arguments of Stream
_TYPES = {
    "posteriors": "fiu", "features": "fiu", "labels": "iu", "starts": "iu", "shifted": "b",
    "health": "fiu",
}  # fmt: skip
COLUMNS = tuple(_TYPES)


T = TypeVar("T")


def read_recording(path: str | os.PathLike[str], make: Callable[..., T]) -> T:
    """Call `make` with the columns in a file; its errors and the file's name the file."""
    read: Callable[[Path], dict[str, NDArray[Any]]] = _by_ending(
        path, dict(zip(ENDINGS, (_read_npz, _read_parquet), strict=True))
    )
    return _read_untrusted(path, lambda file: make(**_arguments(read(file))))


def _read_untrusted(path: str | os.PathLike[str], reader: Callable[[Path], T]) -> T:
    """Call a reader; make every error name the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return reader(Path(path))
    except (StreamError, InputError) as error:
        raise StreamError(f"{path}: {error}") from None
    except MissingExtraError:
        raise
    except FileNotFoundError as error:  # Parquet's names its own functions
        raise StreamError(f"{path}: {os.strerror(errno.ENOENT)}") from error
    except OSError as error:
        raise StreamError(f"{path}: {_first_line(error.strerror or error)}") from error
    except Exception as error:
        raise StreamError(f"{path}: not a readable stream: {_first_line(error)}") from error


def _first_line(error: object) -> str:
    return (next(iter(str(error).splitlines()), "") or type(error).__name__)[:200]


def write_recording(columns: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a stream's columns; the file appears whole or not at all."""
    write = _by_ending(path, dict(zip(ENDINGS, (_write_npz, _write_parquet), strict=True)))
    try:
        write(columns, Path(path))
    except OSError as error:
        raise StreamError(f"{path}: {error.strerror or error}") from error


def _by_ending(path: str | os.PathLike[str], known: Mapping[str, Any]) -> Callable[..., Any]:
    ending = Path(path).suffix
    if ending not in known:
        raise StreamError(f"{path}: the file of a stream must end in {' or '.join(known)}")
    chosen: Callable[..., Any] = known[ending]
    return chosen


def read_arrays(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return those of the named arrays that an untrusted .npz file holds."""
    read: Callable[[Path], dict[str, NDArray[Any]]] = _by_ending(
        path, {".npz": lambda file: _read_npz(file, names)}
    )
    return _read_untrusted(path, read)


def _read_npz(
    path: Path, names: Iterable[str] = (*COLUMNS, "kind", *NAMES, *SCALES.values())
) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            archive.open(member).close()  # a damaged name would pass for another array's
            if member.comment:  # a damaged length would hide the members behind it
                raise StreamError(f"{member.filename} must not have a comment")
        members = {Path(member.filename).stem: member for member in archive.infolist()}
        return {name: _read_npy(archive, members[name]) for name in names if name in members}


def _read_npy(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array; refuse it before allocating if it claims more than its file holds."""
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


def _arguments(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the arrays of a file as arguments of Stream."""
    if "posteriors" not in arrays:
        raise StreamError("posteriors are missing")
    if "kind" not in arrays:
        raise StreamError('kind is missing: say "probabilities" or "logits"')
    arguments: dict[str, Any] = {name: arrays[name] for name in COLUMNS if name in arrays}
    for name, column in arguments.items():
        if column.dtype.kind not in _TYPES[name]:
            raise StreamError(f"{name} must not have dtype {column.dtype}")
    for name, scale in SCALES.items():
        if scale in arrays and name in arguments:
            arguments[name] = _scaled(arguments[name], arrays[scale], scale)
    names = {NAMES[name]: arrays[name] for name in NAMES if name in arrays}
    return {"kind": str(arrays["kind"]), **arguments, **names}


def _scaled(values: NDArray[Any], scale: NDArray[Any], name: str) -> NDArray[Any]:
    if scale.shape != () or scale.dtype.kind not in "fiu" or not 0 < float(scale) < np.inf:
        raise StreamError(f"{name} must be one positive number")
    with np.errstate(over="ignore"):  # what overflows is refused as not finite
        scaled: NDArray[Any] = values.astype(np.float64) * float(scale)
    return scaled


def _write_npz(columns: Mapping[str, Any], path: Path) -> None:
    arrays = {name: columns[name] for name in COLUMNS if columns[name] is not None}
    arrays |= {name: np.array(columns[name]) for name in NAMES if columns[name]}
    with atomic_write(path) as file:
        np.savez_compressed(file, kind=np.array(columns["kind"]), **arrays)


def read_metadata(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return what a Parquet file's schema says of a recording; empty if it says nothing.

    Refuses another version of the format by name.
    """
    if FORMAT.encode() not in metadata:
        for name in metadata:
            if name.startswith(FORMAT.partition("/")[0].encode() + b"/"):
                raise StreamError(
                    f"the schema's metadata must hold {FORMAT!r}, got {name.decode()[:40]!r},"
                    " of another version of tcuq"
                )
    meta = json.loads(metadata.get(FORMAT.encode(), b"null"))
    return meta if isinstance(meta, dict) else {}


def _read_parquet(path: Path) -> dict[str, NDArray[Any]]:
    arrow, parquet = (import_extra(name, "parquet") for name in ("pyarrow", "pyarrow.parquet"))
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
    meta = read_metadata(table.schema.metadata or {})
    if not isinstance(meta.get("columns"), dict):
        raise StreamError(f"the schema's metadata must hold {FORMAT!r} with its columns")
    for name in ("first_step", "steps"):
        if table.schema.field(name).type != arrow.int64() or table[name].null_count:
            raise StreamError(f"column {name!r} must be int64 without nulls")
    if "stream" in table.schema.names and len(set(table["stream"].to_pylist())) > 1:
        raise StreamError("it holds several streams: tcuq replay reads them")
    return dict(_columns_of(table, meta))


def _columns_of(table: Any, meta: Mapping[str, Any]) -> Iterator[tuple[str, NDArray[Any]]]:  # noqa: ANN401 - pyarrow has no types
    """Yield each column as the array that the metadata describes, its chunks concatenated."""
    yield "kind", np.array(str(meta["kind"]))
    yield from ((name, np.array(meta[name])) for name in (*SCALES.values(), *NAMES) if name in meta)
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
        if not isinstance(width, int) or width < 0:
            raise StreamError(f"width of {name} must not be negative, got {str(width)[:20]}")
        raw = b"".join(table[name].to_pylist())
        expected = steps * max(1, width) * np.dtype(dtype).itemsize
        if len(raw) != expected:
            raise StreamError(
                f"{name} must hold {expected} bytes for {steps} steps, got {len(raw)}"
            )
        values = np.frombuffer(raw, dtype)
        yield name, values.reshape(steps, width) if width else values


def _write_parquet(columns: Mapping[str, Any], path: Path) -> None:
    arrow, parquet = (import_extra(name, "parquet") for name in ("pyarrow", "pyarrow.parquet"))
    arrays = {n: columns[n] for n in COLUMNS if n != "starts" and columns[n] is not None}
    rows: dict[str, list[Any]] = {n: [] for n in ("recording", "first_step", "steps", *arrays)}
    bounds = [*columns["starts"].tolist(), len(columns["posteriors"])]
    for number, (first, last) in enumerate(pairwise(bounds)):
        for begin in range(first, last, PARQUET_CHUNK_STEPS):
            end = min(begin + PARQUET_CHUNK_STEPS, last)
            rows["recording"].append(number)
            rows["first_step"].append(begin - first)
            rows["steps"].append(end - begin)
            for name, array in arrays.items():
                rows[name].append(np.ascontiguousarray(array[begin:end]).tobytes())
    meta = {
        "kind": columns["kind"],
        "columns": {n: [a.dtype.str, a.shape[1] if a.ndim == 2 else 0] for n, a in arrays.items()},
    }
    meta |= {name: list(columns[name]) for name in NAMES if columns[name]}
    table = arrow.table(rows).replace_schema_metadata({FORMAT: json.dumps(meta)})
    with atomic_write(path) as file:
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)
