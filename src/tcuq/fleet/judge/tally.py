# SPDX-License-Identifier: Apache-2.0
"""A fleet, counted: how many devices of each cohort have how much evidence, in which groups.

The e-value against "fewer than r of these n devices drift" is the mean of the n - r + 1 smallest.
Proof: if fewer than r drift, some n - r + 1 do not; the mean of theirs is an e-value, and the mean
of the smallest is at most that, whatever the dependence. With r = 1 it is the plain average, which
one device alone can raise without bound; with r a share of n it takes that share of the group.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.judge.ebh import Discovery, discover, discover_each

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Group = tuple[int | None, int | None, int | None]  # profile, firmware, site; None: any

# What a row holds in place of evidence. Evidence of 0 bits or less is 0: no such device is ever
# discovered, and counting its e-value as 0 lowers a group's by less than 1.
SILENT, YOUNG = -2, -1
# By what devices are grouped: each of profile, firmware and site alone, then all three together.
KINDS = ((0,), (1,), (2,), (0, 1, 2))


class Tally:
    """Counts of devices by cohort and evidence, and sums of them over groups.

    Parameters
    ----------
    rows
        Profile, firmware, site, evidence_q8 (or SILENT, YOUNG), devices; in any order.
    """

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self.evidence_q8, self.devices = rows[:, 3], rows[:, 4]
        self.cohorts, self.cohort = distinct(rows[:, :3])  # and the cohort of each row
        self.groups: list[Group] = []
        self.inside = np.empty((len(KINDS), len(self.cohorts)), np.intp)  # a cohort's group by kind
        for kind, columns in enumerate(KINDS):
            keys, where = distinct(self.cohorts[:, columns])
            self.inside[kind] = where + len(self.groups)
            for key in keys.tolist():
                given = dict(zip(columns, key, strict=True))
                self.groups.append((given.get(0), given.get(1), given.get(2)))
        self.judgeable = int(self.devices[self.evidence_q8 >= 0].sum())

    def by_cohort(self, rows: Flags) -> Array:
        """Devices of each cohort in these rows."""
        return _sums(self.cohort[rows], self.devices[rows], len(self.cohorts))

    def by_group(self, of_cohorts: Array) -> Array:
        """Sums over each group's cohorts."""
        tiled = np.tile(of_cohorts, len(KINDS))
        return _sums(self.inside.reshape(-1), tiled, len(self.groups))

    def discovery(self, level: float) -> Discovery:
        """e-BH over all devices."""
        above = self.evidence_q8 > 0
        return discover(self.evidence_q8[above], self.devices[above], self.judgeable, level)

    def discoveries(self, level: float) -> list[Discovery]:
        """e-BH in each group alone."""
        group, evidence, devices, _ = self._sorted
        tested = self.by_group(self.by_cohort(self.evidence_q8 >= 0))
        above = evidence > 0
        return discover_each(group[above], evidence[above], devices[above], tested, level)

    def bits(self, share: float, alive: Flags) -> Array:
        """log2 of each group's e-value against "fewer than this share drift"; -inf of 0.

        `alive` marks the cohorts that are looked at.
        """
        group, evidence, everyone, cohort = self._sorted
        devices = np.where(alive[cohort], everyone, 0)
        sizes = _sums(group, devices, len(self.groups))
        drifting = np.maximum(np.ceil(share * sizes - 1e-9), 1)
        smallest = np.maximum(sizes - drifting + 1, 1)
        before = np.cumsum(devices) - devices - (np.cumsum(sizes) - sizes)[group]
        taken = np.clip(smallest[group] - before, 0, devices)
        worth = np.where(evidence > 0, np.exp2(evidence / 256), 0.0)
        sums = _sums(group, taken * worth, len(self.groups))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log2(sums / smallest))

    @cached_property
    def _sorted(self) -> tuple[Array, Array, Array, Array]:
        """Group, evidence, devices and cohort of judgeable rows, once for each kind, sorted."""
        rows = self.evidence_q8 >= 0
        group = self.inside[:, self.cohort[rows]].reshape(-1)
        columns = (self.evidence_q8[rows], self.devices[rows], self.cohort[rows])
        evidence, devices, cohort = (np.tile(column, len(KINDS)) for column in columns)
        order = np.lexsort((evidence, group))
        return group[order], evidence[order], devices[order], cohort[order]


def distinct(rows: Array) -> tuple[Array, Array]:
    """Rows that differ, in order, and which of them each row is."""
    code = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, where = np.unique(column, return_inverse=True)
        code = code * len(values) + where.reshape(-1)
        # Closed up after each column: codes stay below the number of rows times that of values.
        code = np.unique(code, return_inverse=True)[1].reshape(-1)
    _, first = np.unique(code, return_index=True)
    return rows[first], code


def _sums(where: Array, values: Array, length: int) -> Array:
    """Sums by index; of whole numbers, exact up to 2^53."""
    sums = np.bincount(where, values, length)
    return sums.astype(np.int64) if values.dtype.kind in "iu" else sums
