# SPDX-License-Identifier: Apache-2.0
"""Folder: read files of records and sum their counters as the store does, without any server.

A file holds one or more records, and the name of its folder is its site. All records are held in
memory by NumPy: a database, even an embedded one, would store what is read only once.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from tcuq.errors import InputError
from tcuq.telemetry import COUNTERS, RECORD, SIZES, Decoded, Keys, Reason, decode
from tcuq_fleet.judge.evidence import judged_q8
from tcuq_fleet.judge.evidence_counts import Array, Flags


@dataclass(frozen=True, slots=True)
class FleetTotals:
    """Devices in order of their id, and counters summed over boots, per device and per cohort."""

    sites: list[str]
    records: int  # valid ones, without repetitions
    refused: Counter[Reason]
    devices: Array  # the newest record of each device
    site: Array  # of each device
    judgeable: Flags  # whether a device has evidence of its current firmware
    evidence_q8: Array  # by which it is judged
    totals: Array  # one row per device, one column per counter
    cohorts: Array  # profile, firmware, site
    cohort_totals: Array


def read_folder(folder: Path, keys: Keys | None = None) -> FleetTotals:
    """Read every file in a folder and its subfolders; count refused records by reason."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give a folder with files of records")
    sites: dict[str, int] = {}
    refused: Counter[Reason] = Counter()
    parts, part_sites = [np.empty(0, RECORD)], [np.empty(0, np.int64)]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        site = sites.setdefault(path.parent.resolve().name, len(sites))
        for decoded in _decode_file(path.read_bytes(), keys):
            refused.update(reason for reason, _ in decoded.refused)
            parts.append(decoded.records)
            part_sites.append(np.full(len(decoded.records), site))
    return _sum(np.concatenate(parts), np.concatenate(part_sites), list(sites), refused)


def _decode_file(content: bytes, keys: Keys | None) -> Iterator[Decoded]:
    """Decode a file's complete records; refuse an incomplete one at its end."""
    size = SIZES.get(content[0], 1) if content else 1
    rest = len(content) % size
    yield decode(content[: len(content) - rest], keys)
    if rest:
        yield Decoded(np.empty(0, RECORD), [(Reason.SIZE, content[-rest:])])


def _sum(records: Array, site: Array, sites: list[str], refused: Counter[Reason]) -> FleetTotals:
    """Sort the records, drop repetitions, and sum what each adds."""
    order = np.lexsort((records["sequence"], records["boot"], records["device"]))
    records, site = records[order], site[order]
    first = ~(_same(records, "device") & _same(records, "boot") & _same(records, "sequence"))
    records, site = records[first], site[first]
    increments = _increments(records)
    starts = np.flatnonzero(~_same(records, "device"))
    ends = np.append(starts[1:], len(records))[: len(starts)]
    keys = np.stack([records["profile"].astype(np.int64), records["firmware"], site], axis=1)
    cohorts, cohort = np.unique(keys, axis=0, return_inverse=True)
    cohort_totals = np.zeros((len(cohorts), len(COUNTERS)), np.int64)
    np.add.at(cohort_totals, cohort.reshape(-1), increments)
    judgeable, evidence_q8 = _judged(records, np.append(starts, len(records)))
    return FleetTotals(
        sites=sites,
        records=len(records),
        refused=refused,
        devices=records[ends - 1],
        site=site[ends - 1],
        judgeable=judgeable,
        evidence_q8=evidence_q8,
        totals=np.add.reduceat(increments, starts) if len(starts) else increments,
        cohorts=cohorts,
        cohort_totals=cohort_totals,
    )


def _same(records: Array, field: str) -> Flags:
    """Return whether each record's field equals the previous record's."""
    same = np.zeros(len(records), np.bool_)
    same[1:] = records[field][1:] == records[field][:-1]
    return same


def _increments(records: Array) -> Array:
    """Return what each record adds to its boot's previous one; counters wrap, alarms saturate."""
    same_boot = _same(records, "device") & _same(records, "boot")
    increments = np.empty((len(records), len(COUNTERS)), np.int64)
    for i, name in enumerate(COUNTERS):
        counter = records[name].astype(np.int64)
        difference = counter - np.where(same_boot, np.roll(counter, 1), 0)
        increments[:, i] = np.maximum(difference, 0) if name == "alarms" else difference % 2**32
    return increments


def _judged(records: Array, bounds: Array) -> tuple[Flags, Array]:
    """Return per device whether it can be judged, and its evidence in 1/256 bit."""
    states = [_epochs(records[start:end]) for start, end in pairwise(bounds)]
    mixed, closed = np.array(states, np.int64).reshape(-1, 2).T
    return mixed == 0, judged_q8(closed, records["evidence"][bounds[1:] - 1])


def _epochs(records: Array) -> tuple[bool, int]:
    """Return whether a device's running epoch began under another firmware, and what it closed.

    The rules are the store's; an epoch that was never closed has 0 half bits, an e-value of 1.
    """
    mixed, closed, before = False, 0, None
    fields = ("profile", "firmware", "epoch", "closed")
    for row in zip(*(records[name].tolist() for name in fields), strict=True):
        profile, firmware, epoch, last = row
        own = last if epoch > 0 else 0
        if before is None or before[0] != profile:
            mixed, closed = False, own
        elif before[1] != firmware:
            mixed, closed = True, 0
        elif epoch != before[2]:
            later = epoch > 0 and epoch != before[2] - 1
            closed = own if later and not (mixed and epoch == before[2] + 1) else closed
            mixed = False
        before = row
    return mixed, closed
