# SPDX-License-Identifier: Apache-2.0
"""Units of work: row groups that hold whole streams, read from the files' footers."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcuq._extras import import_extra
from tcuq.errors import StreamError
from tcuq.replay.layout import Layout, layout_of


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
    except (pa.ArrowException, OSError) as error:
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
