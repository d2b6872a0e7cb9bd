# SPDX-License-Identifier: Apache-2.0
"""Evidence counts: devices per cohort and evidence, their sums over groups, groups' e-values.

Everything is judged per owner of the sites: a group's devices have one owner.

The e-value against "fewer than r of these n devices drift" is the mean of the n - r + 1 smallest.
Proof: if fewer than r drift, some n - r + 1 do not; the mean of theirs is an e-value, and the mean
of the smallest is at most that, under any dependence. With r = 1 it is the plain average, which
one device alone can raise without bound; with r a share of n it takes that share of the group.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq_fleet.judge.ebh import Discovery, cutoff_or_unreachable, discover_each

Array = NDArray[Any]
Flags = NDArray[np.bool_]
# Profile, firmware, site (None: any) and owner.
GroupKey = tuple[int | None, int | None, int | None, int]

# Codes in place of a device's evidence. Evidence below 0 bits is counted as 0: such a device is
# never discovered, and an e-value of 0 in its place lowers a group's e-value by less than 1.
SILENT, YOUNG = -2, -1
# Columns by which devices of an owner are grouped: profile, firmware or site alone, all three.
KINDS = ((0, 3), (1, 3), (2, 3), (0, 1, 2, 3))
NO_OWNER = 0


class EvidenceCounts:
    """Counts of devices by cohort and evidence, and their sums over groups.

    Rows are profile, firmware, site, evidence_q8 (or SILENT, YOUNG) and devices, in any order;
    `owners` maps sites to owners.
    """

    def __init__(self, rows: NDArray[np.int64], owners: Mapping[int, int] | None = None) -> None:
        self.evidence_q8, self.devices = rows[:, 3], rows[:, 4]
        self.cohorts, self.cohort = distinct(rows[:, :3])  # cohort: the index of each row's
        sites, site = np.unique(self.cohorts[:, 2], return_inverse=True)
        of_sites = [(owners or {}).get(number, NO_OWNER) for number in sites.tolist()]
        owner = np.array(of_sites, np.int64)[site]
        # Owners, and the index of each cohort's and each group's.
        self.owners, self.cohort_owner = np.unique(owner, return_inverse=True)
        keyed = np.column_stack([self.cohorts, owner])
        self.groups: list[GroupKey] = []
        self.inside = np.empty((len(KINDS), len(self.cohorts)), np.intp)  # each cohort's groups
        sizes: list[int] = []
        for kind, columns in enumerate(KINDS):
            keys, where = distinct(keyed[:, columns])
            self.inside[kind] = where + len(self.groups)
            values: list[Any] = [[None] * len(keys)] * 4
            for position, column in enumerate(columns):
                values[column] = keys[:, position].tolist()
            self.groups += zip(*values, strict=True)
            sizes.append(len(keys))
        self.kinds = np.repeat(np.arange(len(KINDS)), sizes)  # of each group, by index
        of_groups: list[int] = [key[3] for key in self.groups]
        self.group_owner = np.searchsorted(self.owners, np.array(of_groups, np.int64))
        judgeable = self.evidence_q8 >= 0
        self.tested = self._by_owner(judgeable)
        self.judgeable = int(self.devices[judgeable].sum())

    def by_cohort(self, rows: Flags) -> Array:
        """Return the number of devices per cohort in the selected rows."""
        return _sums(self.cohort[rows], self.devices[rows], len(self.cohorts))

    def by_group(self, of_cohorts: Array) -> Array:
        """Sum a column over each group's cohorts."""
        tiled = np.tile(of_cohorts, len(KINDS))
        return _sums(self.inside.reshape(-1), tiled, len(self.groups))

    def _by_owner(self, rows: Flags) -> Array:
        owner = self.cohort_owner[self.cohort[rows]]
        return _sums(owner, self.devices[rows], len(self.owners))

    def discoveries(self, level: float) -> list[Discovery]:
        """Apply e-BH to the devices of each owner."""
        above = self.evidence_q8 > 0
        part, devices = self.cohort_owner[self.cohort[above]], self.devices[above]
        return discover_each(part, self.evidence_q8[above], devices, self.tested, level)

    def cutoffs_q8(self, discoveries: Sequence[Discovery]) -> Array:
        """Return the cut-off of each cohort, from the discoveries of each owner."""
        cutoffs = [cutoff_or_unreachable(each.cutoff_q8) for each in discoveries]
        return np.array(cutoffs, np.int64)[self.cohort_owner]

    def discovery(self, level: float) -> Discovery:
        """Return how many devices of all owners are discovered, and the least evidence of one."""
        discoveries = [each for each in self.discoveries(level) if each.cutoff_q8 is not None]
        least = min((each.cutoff_q8 or 0 for each in discoveries), default=None)
        return Discovery(sum(each.count for each in discoveries), least)

    def select(self, groups: Flags) -> "SelectedGroups":
        """Return the evidence of some groups, for the statistics that need each device's."""
        return SelectedGroups(self, groups)


class SelectedGroups:
    """Evidence of selected groups, sorted once; the other groups have none.

    Most groups of a fleet with many sites are too small to be judged, so only the others' devices
    are sorted.
    """

    def __init__(self, counts: EvidenceCounts, groups: Flags) -> None:
        judgeable = np.flatnonzero(counts.evidence_q8 >= 0)
        of_rows = counts.inside[:, counts.cohort[judgeable]]
        kind, at = np.nonzero(groups[of_rows])
        group, rows = of_rows[kind, at], judgeable[at]
        order = np.lexsort((counts.evidence_q8[rows], group))
        self._group, rows = group[order], rows[order]
        self._evidence, self._devices = counts.evidence_q8[rows], counts.devices[rows]
        self._cohort, self._length = counts.cohort[rows], len(counts.groups)

    def discoveries(self, level: float) -> list[Discovery]:
        """Apply e-BH to each group separately."""
        tested = _sums(self._group, self._devices, self._length)
        above = self._evidence > 0
        part, evidence, devices = self._group[above], self._evidence[above], self._devices[above]
        return discover_each(part, evidence, devices, tested, level)

    def bits(self, share: float, alive: Flags) -> Array:
        """Return log2 of each group's e-value against "fewer than this share drift".

        `alive` selects the cohorts that count. An e-value of 0 gives -inf.
        """
        group, evidence = self._group, self._evidence
        devices = np.where(alive[self._cohort], self._devices, 0)
        sizes = _sums(group, devices, self._length)
        drifting = np.maximum(np.ceil(share * sizes - 1e-9), 1)
        smallest = np.maximum(sizes - drifting + 1, 1)
        before = np.cumsum(devices) - devices - (np.cumsum(sizes) - sizes)[group]
        included = np.clip(smallest[group] - before, 0, devices)
        e_values = np.where(evidence > 0, np.exp2(evidence / 256), 0.0)
        sums = _sums(group, included * e_values, self._length)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log2(sums / smallest))


def distinct(rows: Array) -> tuple[Array, Array]:
    """Return the distinct rows in order, and for each row the index of its distinct row."""
    code, size = np.zeros(len(rows), np.int64), 1
    for column in rows.T:
        values, where = np.unique(column, return_inverse=True)
        if size * len(values) >= 1 << 62:
            code = np.unique(code, return_inverse=True)[1].reshape(-1)
            size = len(rows)
        code, size = code * len(values) + where.reshape(-1), size * len(values)
    _, first, code = np.unique(code, return_index=True, return_inverse=True)
    return rows[first], code.reshape(-1)


def _sums(where: Array, values: Array, length: int) -> Array:
    """Sum values by index; sums of integers are exact up to 2^53."""
    sums = np.bincount(where, values, length)
    return sums.astype(np.int64) if values.dtype.kind in "iu" else sums
