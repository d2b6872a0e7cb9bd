# SPDX-License-Identifier: Apache-2.0
"""Units of work: row groups that hold whole streams, found in the files' footers."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcuq.errors import MissingExtraError, StreamError
from tcuq.replay.layout import Layout, layout_of


@dataclass(frozen=True, slots=True)
class Unit:
    """Row groups of one file that are read one after another."""

    path: Path
    number: int  # of the file
    groups: tuple[int, ...]
    first_row: int
    rows: int
    steps: int

    @property
    def name(self) -> str:
        """Of the file of its results."""
        return f"{self.number:05d}-{self.groups[0]:06d}.arrow"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of chunks: its layout, units, and a name for its content."""

    path: Path
    layout: Layout
    units: tuple[Unit, ...]
    digest: str


def arrow() -> tuple[Any, Any]:
    """Arrow and its Parquet, or what to install."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "replay") from None
    return pa, parquet


def sources_of(paths: Iterable[str | os.PathLike[str]]) -> list[Source]:
    """The files, and those in folders, in the order of their names."""
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        found += [file for file in inside if not file.name.startswith((".", "_"))]
    if not found:
        raise StreamError("there must be at least 1 file of chunks, got 0")
    return [_source(path, number) for number, path in enumerate(found)]


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
    """Neighbouring groups are one unit where the last stream of one is the first of the next."""
    names = [file.metadata.schema.column(i).name for i in range(file.metadata.num_columns)]
    at = names.index("stream") if "stream" in names else None
    held: list[int] = []
    last, first_row, rows = None, 0, 0
    for group in range(file.metadata.num_row_groups):
        described = file.metadata.row_group(group)
        stats = None if at is None else described.column(at).statistics
        # Without statistics nothing tells streams apart: then groups are read one after another.
        apart = held and stats is not None and stats.has_min_max and stats.min != last
        if apart:
            yield Unit(path, number, tuple(held), first_row, rows, _steps(file, held))
            held, first_row, rows = [], first_row + rows, 0
        held.append(group)
        rows += described.num_rows
        last = stats.max if stats is not None and stats.has_min_max else None
    if held:
        yield Unit(path, number, tuple(held), first_row, rows, _steps(file, held))


def _steps(file: Any, groups: list[int]) -> int:  # noqa: ANN401
    """How many steps these groups say they have; only progress depends on it."""
    pa, _ = arrow()
    try:
        return int(sum(file.read_row_groups(groups, ["steps"])["steps"].to_pylist()))
    except (pa.ArrowException, OSError, TypeError, KeyError):
        return 0
