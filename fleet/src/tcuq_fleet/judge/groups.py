# SPDX-License-Identifier: Apache-2.0
"""Judge groups of devices: "firmware 1.8 drifted" rather than 40,000 devices.

The groups of an owner form one e-BH family. Of the groups that drift, the few that explain the
drift are named; the others drift only because they share devices with a named one. Not all judged
groups are written: a fleet of 50,000 sites writes about as many as one of 1,000.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcuq_fleet.judge.ebh import Discovery, cutoff_or_unreachable, discover_each
from tcuq_fleet.judge.evidence_counts import (
    KINDS,
    SILENT,
    Array,
    EvidenceCounts,
    Flags,
    GroupKey,
)

# With 20 devices a share of 10 % is at least two, so no single device makes a group drift. Smaller
# groups would only enlarge the family and make discovery harder for all.
MIN_DEVICES = 20
MAX_NAMED = 50  # of an owner; with more, groups do not explain the drift
MAX_WRITTEN = 1000  # of a kind, by evidence and again by size


@dataclass(frozen=True, slots=True)
class GroupJudgements:
    """Counts and judgements of each group, in the order of `EvidenceCounts.groups`."""

    keys: list[GroupKey]
    devices: Array
    silent: Array
    judgeable: Array
    discovered: Array  # devices discovered among their owner's
    own: list[Discovery]  # by e-BH within the group, if it is in the family
    bits: Array
    cutoffs_q8: Array  # of the e-BH over the groups of the same owner
    drifted: Flags
    named: Flags
    outages: Flags  # groups that explain silent devices: half of each is silent, or more
    silent_left: dict[int, int]  # silent devices outside of outages, by owner


def judge_groups(
    counts: EvidenceCounts,
    level: float,
    share: float,
    *,
    active: frozenset[GroupKey] = frozenset(),
    active_silent: frozenset[GroupKey] = frozenset(),
) -> GroupJudgements:
    """Judge every group; a drifting group with an active alarm is named before others."""
    codes = counts.evidence_q8
    total, silent = counts.by_cohort(codes >= SILENT), counts.by_cohort(codes == SILENT)
    judgeable = counts.by_cohort(codes >= 0)
    discovered = codes >= counts.cutoffs_q8(counts.discoveries(level))[counts.cohort]
    # The family is fixed by the groups' sizes, before any evidence is looked at.
    enough = counts.by_group(judgeable) >= MIN_DEVICES
    family = counts.select(enough)
    bits = np.maximum(family.bits(share, judgeable >= 0), 0)
    owner = counts.group_owner[enough]
    sizes = np.bincount(owner, minlength=len(counts.owners))
    discoveries = discover_each(owner, bits_q8(bits[enough]), np.ones_like(owner), sizes, level)
    cutoffs = np.array([cutoff_or_unreachable(each.cutoff_q8) for each in discoveries], np.int64)
    least = cutoffs[counts.group_owner]
    drifted = enough & (bits_q8(bits) >= least)
    drifting = counts.select(drifted)

    def still_drifts(alive: Flags, sizes: Array, _: Array) -> Flags:
        return drifted & (sizes >= MIN_DEVICES) & (bits_q8(drifting.bits(share, alive)) >= least)

    def still_silent(_: Flags, sizes: Array, hits: Array) -> Flags:
        return np.asarray((sizes >= MIN_DEVICES) & (2 * hits >= sizes))

    # Devices at or above the lowest cut-off that e-BH can have, 1 / level.
    hits = counts.by_cohort(codes >= 256 * np.log2(1 / level))
    outages = cover(counts, silent, total, still_silent, active_silent)
    alone = np.where(outages[counts.inside].any(axis=0), 0, silent)
    left = np.bincount(counts.cohort_owner, alone, len(counts.owners)).astype(int)
    return GroupJudgements(
        keys=counts.groups,
        devices=counts.by_group(total),
        silent=counts.by_group(silent),
        judgeable=counts.by_group(judgeable),
        discovered=counts.by_group(counts.by_cohort(discovered)),
        own=family.discoveries(level),
        bits=bits,
        cutoffs_q8=least,
        drifted=drifted,
        named=cover(counts, hits, judgeable, still_drifts, active),
        outages=outages,
        silent_left=dict(zip(counts.owners.tolist(), left.tolist(), strict=True)),
    )


def cover(
    counts: EvidenceCounts,
    hits: Array,
    sizes: Array,
    holds: Callable[[Flags, Array, Array], Flags],
    active: frozenset[GroupKey],
) -> Flags:
    """Select the few groups of each owner that explain the hits, by a greedy cover.

    Each step selects the group that overlaps most with its owner's remaining hits (Dice's
    coefficient), among those for which `holds` is true without the devices of earlier groups; it
    gets the cohorts that are left, and each group's devices and hits in them. A broken firmware
    makes profiles, sites and cohorts drift as well; it alone is named.
    """
    named = np.zeros(len(counts.groups), np.bool_)
    alive = np.ones(len(counts.cohorts), np.bool_)
    priority = np.array([2.0 * (key in active) for key in counts.groups])
    size, left = counts.by_group(sizes), counts.by_group(hits)
    owner, of_cohort = counts.group_owner, counts.cohort_owner
    remaining = np.bincount(of_cohort, hits, len(counts.owners))
    for _ in range(MAX_NAMED):
        possible = holds(alive, size, left) & ~named
        if not possible.any():
            break
        at = np.flatnonzero(possible)
        overlap = 2 * left[at] / np.maximum(size[at] + remaining[owner[at]], 1)
        rank = at[np.lexsort((-(overlap + priority[at]), owner[at]))]
        best = np.zeros(len(named), np.bool_)
        best[rank[np.unique(owner[rank], return_index=True)[1]]] = True
        named |= best
        removed = np.flatnonzero(alive & best[counts.inside].any(axis=0))
        alive[removed] = False
        remaining -= np.bincount(of_cohort[removed], hits[removed], len(counts.owners))
        for groups in counts.inside[:, removed]:
            np.subtract.at(size, groups, sizes[removed])
            np.subtract.at(left, groups, hits[removed])
    return named


def notable(groups: GroupJudgements, kinds: Array, active: frozenset[GroupKey]) -> Flags:
    """Return which groups are written; `kinds` has each group's kind, `active` have alarms.

    Of each kind (profile, firmware, site, cohort) these are the groups that are named, explain an
    outage or have an active alarm, the drifting ones with the most evidence, and the largest ones.
    """
    has_alarm = np.array([key in active for key in groups.keys], np.bool_)
    chosen = groups.named | groups.outages | has_alarm
    for kind in range(len(KINDS)):
        of_kind = kinds == kind
        chosen |= _largest(np.where(groups.drifted, groups.bits, 0.0), of_kind & groups.drifted)
        chosen |= _largest(groups.devices, of_kind)
    return chosen


def _largest(values: Array, among: Flags) -> Flags:
    """Select the groups with the largest values; of equals, the first."""
    where = np.flatnonzero(among)
    order = np.argsort(-values[where], kind="stable")[:MAX_WRITTEN]
    selected = np.zeros(len(values), np.bool_)
    selected[where[order]] = True
    return selected


def bits_q8(bits: Array) -> Array:
    """Convert to 1/256 bit, rounded down by slightly more than a sum of doubles can be off."""
    return np.floor(256 * np.maximum(bits, 0) - 1e-6).astype(np.int64)
