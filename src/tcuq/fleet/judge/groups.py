# SPDX-License-Identifier: Apache-2.0
"""Groups judged: "firmware 1.8 drifted" rather than 40,000 devices.

Every group of a tally is in one e-BH family; of those that drift the few that account for it are
named, the others drift only because they share devices with them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tcuq.fleet.judge.ebh import Discovery, discover
from tcuq.fleet.judge.tally import SILENT, Array, Flags, Group, Tally

# From 20 devices on a share of 10 % is at least two: no device speaks for a group on its own; and
# groups of a few devices would only make the family larger, and so discovery harder for all.
SMALLEST = 20
MOST_NAMED = 50  # beyond that, groups are not what went wrong
NEVER = 1 << 30  # evidence that nothing reaches


@dataclass(frozen=True, slots=True)
class Groups:
    """What is known of each group, in the order of the tally's."""

    names: list[Group]
    devices: Array
    silent: Array
    judgeable: Array
    discovered: Array  # of those discovered in the whole fleet
    own: list[Discovery]
    bits: Array
    cutoff_q8: int  # of the e-BH among groups
    drifted: Flags
    named: Flags
    outages: Flags  # half is silent, or more; and named for it
    silent_left: int  # devices that are silent outside of outages


def judge_groups(
    tally: Tally,
    level: float,
    share: float,
    *,
    standing: frozenset[Group] = frozenset(),
    standing_silent: frozenset[Group] = frozenset(),
) -> Groups:
    """Every group's counts, and which of them drift; those with a standing alarm stay named."""
    codes = tally.evidence_q8
    everyone, silent = tally.by_cohort(codes >= SILENT), tally.by_cohort(codes == SILENT)
    judgeable = tally.by_cohort(codes >= 0)
    cutoff = or_never(tally.discovery(level).cutoff_q8)
    bits = np.maximum(tally.bits(share, judgeable >= 0), 0)
    enough = tally.by_group(judgeable) >= SMALLEST
    found = discover(bits_q8(bits[enough]), np.ones(enough.sum(), int), int(enough.sum()), level)
    least = or_never(found.cutoff_q8)
    drifted = enough & (bits_q8(bits) >= least)

    def still_drifts(alive: Flags) -> Flags:
        left = tally.by_group(np.where(alive, judgeable, 0))
        return drifted & (left >= SMALLEST) & (bits_q8(tally.bits(share, alive)) >= least)

    def still_silent(alive: Flags) -> Flags:
        left = tally.by_group(np.where(alive, everyone, 0))
        gone = tally.by_group(np.where(alive, silent, 0))
        return np.asarray((left >= SMALLEST) & (2 * gone >= left))

    # Devices that could be discovered in the best of company.
    hits = tally.by_cohort(codes >= 256 * np.log2(1 / level))
    outages = cover(tally, silent, everyone, still_silent, standing_silent)
    return Groups(
        names=tally.groups,
        devices=tally.by_group(everyone),
        silent=tally.by_group(silent),
        judgeable=tally.by_group(judgeable),
        discovered=tally.by_group(tally.by_cohort(codes >= cutoff)),
        own=tally.discoveries(level),
        bits=bits,
        cutoff_q8=least,
        drifted=drifted,
        named=cover(tally, hits, judgeable, still_drifts, standing),
        outages=outages,
        silent_left=int(silent[~outages[tally.inside].any(axis=0)].sum()),
    )


def cover(
    tally: Tally,
    hits: Array,
    sizes: Array,
    holds: Callable[[Flags], Flags],
    standing: frozenset[Group],
) -> Flags:
    """The few groups that account for the hits, one after the other.

    Each is the one that overlaps most with what is left of the hits (Dice's coefficient), among
    those of which it still holds without the devices of the groups before. A broken firmware makes
    profiles, sites and cohorts drift as well; it alone is named.
    """
    named = np.zeros(len(tally.groups), np.bool_)
    alive = np.ones(len(tally.cohorts), np.bool_)
    first = np.array([2.0 * (name in standing) for name in tally.groups])
    for _ in range(MOST_NAMED):
        possible = holds(alive) & ~named
        if not possible.any():
            break
        left = np.where(alive, hits, 0)
        everyone = tally.by_group(np.where(alive, sizes, 0))
        overlap = 2 * tally.by_group(left) / np.maximum(everyone + left.sum(), 1)
        best = int(np.argmax(np.where(possible, overlap + first, -1)))
        named[best] = True
        alive &= ~(tally.inside == best).any(axis=0)
    return named


def bits_q8(bits: Array) -> Array:
    """In 1/256 bit, rounded down, and by a little more than a sum of doubles can be off."""
    return np.floor(256 * np.maximum(bits, 0) - 1e-6).astype(np.int64)


def or_never(cutoff_q8: int | None) -> int:
    """A cut-off as a number."""
    return NEVER if cutoff_q8 is None else cutoff_q8
