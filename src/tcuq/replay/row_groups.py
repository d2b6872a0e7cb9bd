# SPDX-License-Identifier: Apache-2.0
"""Replay one unit: its row groups, read whole and with page checksums, through a runner.

Every route reads here, so a damaged row group has the same name and reason on all of them. Files
are read, not mapped: a mapped file that is truncated meanwhile would end the process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tcuq.errors import StreamError
from tcuq.replay.function import Runner
from tcuq.replay.layout import Layout
from tcuq.replay.results import schema_of
from tcuq.replay.units import Unit, arrow

WHOLE_BYTES = 128 << 20  # a larger row group is read in parts; `tcuq pack` writes half of it


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
