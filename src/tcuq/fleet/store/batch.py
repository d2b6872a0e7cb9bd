# SPDX-License-Identifier: Apache-2.0
"""Batch: the newest record per device and boot, in rounds that hold each device at most once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.telemetry import RECORD

Array = NDArray[Any]

_SMALL, _WHOLE, _BIG = ">i2", ">i4", ">i8"
# The stage table's columns in order; binary COPY writes each after its length.
COLUMNS: tuple[tuple[str, str], ...] = (
    ("round", _SMALL),
    ("device", _BIG),
    ("boot", _BIG),
    ("sequence", _BIG),
    ("steps", _BIG),
    ("abstained", _BIG),
    ("denied", _BIG),
    ("exceeded", _BIG),
    ("profile", _WHOLE),
    ("firmware", _WHOLE),
    ("site", _WHOLE),
    ("alarms", _WHOLE),
    ("threshold", _WHOLE),
    ("epoch", _WHOLE),
    ("evidence", _SMALL),
    ("closed", _SMALL),
    ("cause", _SMALL),
    ("histogram_shift", _SMALL),
)
_ROW = np.dtype(
    [
        ("columns", ">i2"),
        *(pair for name, kind in COLUMNS for pair in ((f"{name}_bytes", ">i4"), (name, kind))),
        ("histogram_bytes", ">i4"),
        ("histogram", "u1", (32,)),
    ]
)
_HEAD = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TAIL = b"\xff\xff"
_EMPTY_ROW = np.zeros((), _ROW)
_EMPTY_ROW["columns"] = len(COLUMNS) + 1
for _name in (*(name for name, _ in COLUMNS), "histogram"):
    _EMPTY_ROW[f"{_name}_bytes"] = _ROW[_name].itemsize


@dataclass(frozen=True, slots=True)
class Batch:
    """The newest record of each boot of each device, sorted; a device's nth boot is in round n."""

    records: Array
    sites: NDArray[np.int32]
    rounds: NDArray[np.int16]
    rows: NDArray[np.intp]  # for each input record, the index of its boot's newest record

    @classmethod
    def of(cls, parts: Sequence[tuple[Array, int]]) -> "Batch":
        """Build a batch from records and their sites, in any order and with repetitions."""
        if not parts:
            empty = np.empty(0, np.intp)
            return cls(np.empty(0, RECORD), empty.astype(np.int32), _rounds(empty), empty)
        records = np.concatenate([records for records, _ in parts])
        sites = np.repeat(
            np.array([site for _, site in parts], np.int32), [len(records) for records, _ in parts]
        )
        device, boot = records["device"].copy(), records["boot"].copy()
        order = np.lexsort((records["sequence"], boot, device))
        device, boot = device[order], boot[order]
        last = np.ones(len(order), np.bool_)
        last[:-1] = (device[1:] != device[:-1]) | (boot[1:] != boot[:-1])
        newest = order[last]
        rows = np.empty(len(order), np.intp)
        rows[order] = np.cumsum(last) - last
        return cls(records[newest], sites[newest], _rounds(device[last]), rows)

    def to_copy_binary(self) -> bytes:
        """Encode the rows for PostgreSQL's COPY in binary format."""
        rows = np.full(len(self.records), _EMPTY_ROW, _ROW)
        rows["round"], rows["site"] = self.rounds, self.sites
        for name, kind in COLUMNS:
            if name in (RECORD.names or ()):
                column = self.records[name]
                signed = column.dtype.kind == "i" or column.dtype.itemsize < int(kind[-1])
                rows[name] = column if signed else column.view(f"<{kind[1:]}")
        rows["histogram"] = self.records["histogram"].copy().view(np.uint8).reshape(-1, 32)
        return _HEAD + rows.tobytes() + _TAIL


def _rounds(sorted_devices: Array) -> NDArray[np.int16]:
    """Number each device's rows: 0 for its first, 1 for its second, ..."""
    first = np.ones(len(sorted_devices), np.bool_)
    first[1:] = sorted_devices[1:] != sorted_devices[:-1]
    at = np.arange(len(sorted_devices))
    return (at - np.maximum.accumulate(np.where(first, at, 0))).astype(np.int16)
