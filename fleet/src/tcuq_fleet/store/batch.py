# SPDX-License-Identifier: Apache-2.0
"""Batch: the newest record per device and boot, in rounds that hold each device at most once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tcuq.telemetry import MEANS, RECORD, Reason

Array = NDArray[Any]

UNKNOWN, FORBIDDEN = 0, -1  # in place of a site's number
GATEWAY_ONLY, OWN_CERTIFICATE, SIGNATURE = 0, 1, 2  # trust: what authenticates a record
MAX_BOOTS = 8  # of one device in a batch

# The stage table's columns in order; binary COPY writes each after its length.
COLUMNS: tuple[tuple[str, str], ...] = (
    *((name, ">i8") for name in ("device", "boot", "sequence")),
    *((name, ">i8") for name in ("steps", "abstained", "denied", "exceeded")),
    *((name, ">i4") for name in ("profile", "firmware", "site", "alarms", "epoch")),
    *((name, ">i2") for name in ("evidence", "closed", "cause", "change", "label")),
    *((name, ">i2") for name in ("histogram_shift", "trust")),
    *((name, ">i2") for name in MEANS),  # -1: none
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
# Rows and records are copied as bytes: field by field takes twenty times as long.
_EMPTY_ROW = _EMPTY_ROW.view((np.void, _ROW.itemsize))
_BYTES = np.dtype((np.void, RECORD.itemsize))


class Part(NamedTuple):
    """Records that arrived together: one message of a gateway, or single records of devices."""

    records: Array
    site: str | Sequence[str]  # of the gateway's topic, or one per record
    sender: str | Sequence[str]  # the gateway's name, or the device's for each record
    trust: int
    key_ids: NDArray[np.uint8] | None = None  # by which the records are signed

    def address(self, index: int) -> tuple[str, str]:
        """Return site and sender of a record."""
        if isinstance(self.site, str):
            return self.site, str(self.sender)
        return self.site[index], self.sender[index]


@dataclass(slots=True)
class Batch:
    """The newest record of each device, boot and site, sorted; some of them may be refused."""

    records: Array
    sites: NDArray[np.int32]
    trust: NDArray[np.int16]
    reasons: NDArray[np.uint8]  # why a record is refused, or FINE
    rows: NDArray[np.intp]  # for each input record, the index of its boot's newest record

    @classmethod
    def of(
        cls, parts: Sequence[tuple[Array, int | NDArray[np.int32]]], trust: Sequence[int] = ()
    ) -> "Batch":
        """Build a batch from records and their sites, in any order and with repetitions."""
        if not parts:
            empty = np.empty(0, np.int32)
            no_reasons = empty.astype(np.uint8)
            return cls(
                np.empty(0, RECORD), empty, empty.astype(np.int16), no_reasons, np.empty(0, np.intp)
            )
        sizes = [len(records) for records, _ in parts]
        records = concatenated([records for records, _ in parts])
        sites = np.concatenate(
            [np.broadcast_to(np.asarray(site, np.int32), len(some)) for some, site in parts]
        )
        trusted = np.repeat(np.asarray(trust or [0] * len(parts), np.int16), sizes)
        device, boot = records["device"].copy().view(np.int64), records["boot"]
        order = np.argsort(device)
        last = np.ones(len(order), np.bool_)
        if (device[order[1:]] == device[order[:-1]]).any():  # sorting by all takes twice as long
            order = np.lexsort((records["sequence"], sites, boot, device))
            device, boot, site = device[order], boot[order], sites[order]
            last[:-1] = (
                (device[1:] != device[:-1]) | (boot[1:] != boot[:-1]) | (site[1:] != site[:-1])
            )
        newest = order[last]
        rows = np.empty(len(order), np.intp)
        rows[order] = np.cumsum(last) - last
        sites = sites[newest]
        reasons = np.select(
            [sites == UNKNOWN, sites == FORBIDDEN], [Reason.SITE, Reason.GATEWAY], 0
        )
        selected = selection(records, newest)
        return cls(selected, sites, trusted[newest], reasons.astype(np.uint8), rows)

    def devices_of_several_sites(self) -> list[int]:
        """Return the devices whose records name more than one site."""
        fine = np.flatnonzero(self.reasons == Reason.FINE)
        device, site = self.records["device"][fine], self.sites[fine]
        differs = (device[1:] == device[:-1]) & (site[1:] != site[:-1])
        return np.unique(device[1:][differs]).tolist()  # type: ignore[no-any-return]

    def keep_sites(self, sites: Mapping[int, int]) -> None:
        """Refuse these devices' records of other sites; the first site of an unknown device."""
        site_of = dict(sites)
        named = np.isin(self.records["device"], np.array(list(site_of), np.uint64))
        for row in np.flatnonzero(named & (self.reasons == Reason.FINE)):
            device, site = int(self.records["device"][row]), int(self.sites[row])
            if device in site_of and (site_of[device] or site) != site:
                self.reasons[row] = Reason.SITE
            elif device in site_of:
                site_of[device] = site

    def rounds(self) -> tuple[NDArray[np.intp], NDArray[np.int16]]:
        """Return the rows to store and the round of each; a round holds a device at most once.

        A device's boots are in ascending rounds. Boots beyond the first few are refused: a device
        sends the next boot only after the last one is acknowledged.
        """
        rows = np.flatnonzero(self.reasons == Reason.FINE)
        numbers = _count_within(self.records["device"][rows])
        self.reasons[rows[numbers >= MAX_BOOTS]] = Reason.QUOTA
        valid = numbers < MAX_BOOTS
        return rows[valid], numbers[valid].astype(np.int16)

    def to_copy_binary(self, stored: NDArray[np.intp]) -> bytearray:
        """Encode the rows to store for PostgreSQL's COPY in binary format."""
        encoded = bytearray(len(_HEAD) + len(stored) * _ROW.itemsize + len(_TAIL))
        encoded[: len(_HEAD)], encoded[-len(_TAIL) :] = _HEAD, _TAIL
        rows = np.frombuffer(encoded, _ROW, len(stored), len(_HEAD))
        rows.view(_EMPTY_ROW.dtype)[:] = _EMPTY_ROW
        rows["site"], rows["trust"] = self.sites[stored], self.trust[stored]
        records = selection(self.records, stored)
        for name, kind in COLUMNS:
            if name in (RECORD.names or ()):
                column = records[name]
                signed = column.dtype.kind == "i" or column.dtype.itemsize < int(kind[-1])
                rows[name] = column if signed else column.view(f"<{kind[1:]}")
        rows["histogram"] = records["histogram"].copy().view(np.uint8).reshape(-1, 32)
        return encoded


def concatenated(parts: Sequence[Array]) -> Array:
    """Return the records of all parts."""
    return np.concatenate([records.view(_BYTES) for records in parts]).view(RECORD)


def selection(records: Array, rows: NDArray[np.intp]) -> Array:
    """Return the records of these rows."""
    return records.view(_BYTES)[rows].view(RECORD)


def _count_within(sorted_devices: Array) -> NDArray[np.intp]:
    """Number each device's rows: 0 for its first, 1 for its second, ..."""
    first = np.ones(len(sorted_devices), np.bool_)
    first[1:] = sorted_devices[1:] != sorted_devices[:-1]
    at = np.arange(len(sorted_devices))
    return at - np.maximum.accumulate(np.where(first, at, 0))
