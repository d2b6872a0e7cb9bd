# SPDX-License-Identifier: Apache-2.0
"""Folder: files of records, counted as the store counts them, without any server.

NumPy holds them all; a database, were it only a file, would store what is read once. Files hold one
record or many in a row, and the folder that a file lies in is its site.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from tcuq.errors import InputError
from tcuq.fleet.judge.tally import Array, Flags
from tcuq.telemetry import COUNTERS, RECORD, SIZES, Decoded, Keys, Reason, decode


@dataclass(frozen=True, slots=True)
class Fleet:
    """Devices in order, and sums over all boots of each device and each cohort."""

    sites: list[str]
    records: int  # that are fine and not repeated
    refused: Counter[Reason]
    devices: Array  # the newest record of each
    site: Array  # of each device
    judgeable: Flags  # has closed an epoch under its present firmware
    evidence_q8: Array  # of that epoch
    totals: Array  # a row a device, a column a counter
    cohorts: Array  # profile, firmware, site
    cohort_totals: Array


def read_folder(folder: Path, keys: Keys | None = None) -> Fleet:
    """Every file in a folder and below; what is refused is counted by its reason."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give one that holds files of records")
    sites: dict[str, int] = {}
    refused: Counter[Reason] = Counter()
    parts, where = [np.empty(0, RECORD)], [np.empty(0, np.int64)]
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        site = sites.setdefault(path.parent.resolve().name, len(sites))
        for decoded in _decoded(path.read_bytes(), keys):
            refused.update(reason for reason, _ in decoded.refused)
            parts.append(decoded.records)
            where.append(np.full(len(decoded.records), site))
    return _counted(np.concatenate(parts), np.concatenate(where), list(sites), refused)


def _decoded(content: bytes, keys: Keys | None) -> Iterator[Decoded]:
    """A file's whole records; a piece at its end is refused alone."""
    size = SIZES.get(content[0], 1) if content else 1
    rest = len(content) % size
    yield decode(content[: len(content) - rest], keys)
    if rest:
        yield Decoded(np.empty(0, RECORD), [(Reason.SIZE, content[-rest:])])


def _counted(records: Array, site: Array, sites: list[str], refused: Counter[Reason]) -> Fleet:
    order = np.lexsort((records["sequence"], records["boot"], records["device"]))
    records, site = records[order], site[order]
    once = ~(_same(records, "device") & _same(records, "boot") & _same(records, "sequence"))
    records, site = records[once], site[once]
    added = _added(records)
    starts = np.flatnonzero(~_same(records, "device"))
    ends = np.append(starts[1:], len(records))[: len(starts)]
    keys = np.stack([records["profile"].astype(np.int64), records["firmware"], site], axis=1)
    cohorts, cohort = np.unique(keys, axis=0, return_inverse=True)
    cohort_totals = np.zeros((len(cohorts), len(COUNTERS)), np.int64)
    np.add.at(cohort_totals, cohort.reshape(-1), added)
    judgeable, evidence_q8 = _closed(records, np.append(starts, len(records)))
    return Fleet(
        sites=sites,
        records=len(records),
        refused=refused,
        devices=records[ends - 1],
        site=site[ends - 1],
        judgeable=judgeable,
        evidence_q8=evidence_q8,
        totals=np.add.reduceat(added, starts) if len(starts) else added,
        cohorts=cohorts,
        cohort_totals=cohort_totals,
    )


def _same(records: Array, field: str) -> Flags:
    """Whether a record's field is that of the record before."""
    same = np.zeros(len(records), np.bool_)
    same[1:] = records[field][1:] == records[field][:-1]
    return same


def _added(records: Array) -> Array:
    """What each record adds to the one before of its boot: counters wrap, alarms stop."""
    same_boot = _same(records, "device") & _same(records, "boot")
    added = np.empty((len(records), len(COUNTERS)), np.int64)
    for i, name in enumerate(COUNTERS):
        counter = records[name].astype(np.int64)
        more = counter - np.where(same_boot, np.roll(counter, 1), 0)
        added[:, i] = np.maximum(more, 0) if name == "alarms" else more % 2**32
    return added


def _closed(records: Array, bounds: Array) -> tuple[Flags, Array]:
    """For each device, whether an epoch closed under its present firmware, and its evidence."""
    opening = ~_same(records, "epoch")
    changed = ~(_same(records, "profile") & _same(records, "firmware"))
    judgeable = np.zeros(len(bounds) - 1, np.bool_)
    evidence_q8 = np.zeros(len(bounds) - 1, np.int64)
    for i, (start, end) in enumerate(pairwise(bounds)):
        last = start + 1 + np.flatnonzero(opening[start + 1 : end])[-1:]
        if last.size and not changed[last[0] : end].any():
            judgeable[i], evidence_q8[i] = True, records["evidence_q8"][last[0] - 1]
    return judgeable, evidence_q8
