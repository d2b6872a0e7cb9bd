# SPDX-License-Identifier: Apache-2.0
"""Units of work: row groups that hold whole streams, found in the files' footers and replayed.

Every route reads here, so a damaged row group has the same name and reason on all of them. Files
are read, not mapped: a mapped file that is truncated meanwhile would end the process.
"""

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcuq._extras import import_extra
from tcuq.errors import StreamError
from tcuq.replay.function import Runner, schema_of
from tcuq.replay.layout import Layout, layout_of

WHOLE_BYTES = 128 << 20  # a larger row group is read in parts; `tcuq pack` writes half of it


@dataclass(frozen=True, slots=True)
class Unit:
    """Row groups of one file that are read one after another."""

    path: Path
    number: int  # of the file
    groups: tuple[int, ...]
    first_row: int
    rows: int

    @property
    def name(self) -> str:
        """File name of its results."""
        return f"{self.number:05d}-{self.groups[0]:06d}.arrow"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of chunks: its layout, units, and a digest of its content."""

    path: Path
    layout: Layout
    units: tuple[Unit, ...]
    digest: str


def arrow() -> tuple[Any, Any]:
    """Import Arrow and its Parquet, or name the extra to install."""
    return import_extra("pyarrow", "parquet"), import_extra("pyarrow.parquet", "parquet")


def files_of(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return these files, and those in folders sorted by name."""
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        files += [file for file in inside if not file.name.startswith((".", "_"))]
    return files


def sources_of(paths: Iterable[str | os.PathLike[str]]) -> list[Source]:
    """Return what the footers of these files, and of those in folders, describe."""
    files = files_of(paths)
    if not files:
        raise StreamError("there must be at least 1 file of chunks, got 0")
    return [_source(path, number) for number, path in enumerate(files)]


def _source(path: Path, number: int) -> Source:
    pa, parquet = arrow()
    try:
        with parquet.ParquetFile(path) as file:
            units = tuple(_units(file, path, number))
            layout = layout_of(file.schema_arrow)
            size = file.metadata.serialized_size
        with path.open("rb") as raw:
            length = raw.seek(0, os.SEEK_END)
            raw.seek(max(0, length - size - 8))
            digest = hashlib.sha256(raw.read())
    except StreamError as error:
        raise StreamError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise StreamError(f"{path}: {os.strerror(errno.ENOENT)}") from None
    except (pa.ArrowException, OSError) as error:
        if path.suffix == ".npz":
            raise StreamError(
                f"{path}: a stream, no archive: pack it first, with"
                f"  tcuq pack {path} -o archive.parquet"
            ) from None
        raise StreamError(f"{path}: {str(error).splitlines()[0][:200]}") from None
    return Source(path, layout, units, f"{length}-{digest.hexdigest()}")


def _units(file: Any, path: Path, number: int) -> Iterator[Unit]:  # noqa: ANN401 - pyarrow has no types
    """Yield units; neighbouring groups that share a stream are one unit."""
    names = [file.metadata.schema.column(i).name for i in range(file.metadata.num_columns)]
    at = names.index("stream") if "stream" in names else None
    groups: list[int] = []
    last, first_row, rows = None, 0, 0
    for group in range(file.metadata.num_row_groups):
        described = file.metadata.row_group(group)
        stats = None if at is None else described.column(at).statistics
        # Without statistics streams cannot be told apart: then all groups are one unit.
        apart = groups and stats is not None and stats.has_min_max and stats.min != last
        if apart:
            yield Unit(path, number, tuple(groups), first_row, rows)
            groups, first_row, rows = [], first_row + rows, 0
        groups.append(group)
        rows += described.num_rows
        last = stats.max if stats is not None and stats.has_min_max else None
    if groups:
        yield Unit(path, number, tuple(groups), first_row, rows)


@dataclass(frozen=True, slots=True)
class Damage:
    """Row groups that could not be read, or whose rows break a rule."""

    file: str
    first_row: int
    rows: int
    reason: str

    def __str__(self) -> str:
        last = self.first_row + self.rows - 1
        return f"{self.file} rows {self.first_row}..{last}: {self.reason}"


def replay_unit(unit: Unit, runner: Runner) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the table of a unit's results, or its Damage."""
    pa, _ = arrow()
    replay = runner.replay
    try:
        batches = read_unit(unit, replay.layout)
        tables = runner.run(batches, name=unit.path.stem, first_row=unit.first_row)
        return pa.Table.from_batches(tables, schema_of(decisions=replay.decisions))
    except (StreamError, pa.ArrowException, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:300]
        return Damage(str(unit.path), unit.first_row, unit.rows, reason)


def read_unit(unit: Unit, layout: Layout) -> Iterator[Any]:
    """Yield a unit's rows: a row group as one batch, a very large one in several."""
    _, parquet = arrow()
    wanted = {"stream", "recording", "first_step", "steps", *layout.columns}
    with parquet.ParquetFile(unit.path, page_checksum_verification=True) as file:
        _check_unchanged(unit, file.metadata)
        columns = sorted(wanted & set(file.schema_arrow.names))
        for group in unit.groups:
            described = file.metadata.row_group(group)
            parts = 1 + max(described.total_byte_size, 0) // WHOLE_BYTES
            rows = max(described.num_rows // parts, 1)
            yield from file.iter_batches(
                rows, row_groups=[group], columns=columns, use_threads=False
            )


def _check_unchanged(unit: Unit, metadata: Any) -> None:  # noqa: ANN401
    """Refuse a file that was replaced after its footer was read: its groups are other ones."""
    rows = -1
    if unit.groups[-1] < metadata.num_row_groups:
        rows = sum(metadata.row_group(group).num_rows for group in unit.groups)
    if rows != unit.rows:
        raise StreamError("the file was changed after the replay began: start the replay again")
