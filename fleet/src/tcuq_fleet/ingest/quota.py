# SPDX-License-Identifier: Apache-2.0
"""Quota: an exact count of each sender's messages in the running hour.

A hash table with open addressing, because a dict takes several times the memory: at most half of
the slots are taken, so a sender takes 22 to 44 bytes. The hash differs in every process, so that
nobody can choose ids that share their slots.
"""

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

HOUR_S = 3600
FIRST_SLOTS = 1 << 12
MAX_COUNT = np.iinfo(np.uint16).max


class Quota:
    """Counts messages per sender, an unsigned 64-bit id; beyond `max_senders` new ones are not.

    Nobody is refused for what others send, so a sender that is not counted is not refused.

    Examples
    --------
    >>> Quota().exceeds(np.array([7, 8, 7], np.uint64), 1, now_s=0).tolist()
    [False, False, True]
    """

    def __init__(self, max_senders: int = 1 << 24) -> None:
        self._max_senders = max_senders
        self._factor = np.uint64(secrets.randbits(63) << 1 | 1)
        self._hour = -1

    def exceeds(self, senders: Array, per_hour: int, now_s: float) -> NDArray[np.bool_]:
        """Count one message of each sender given; return which of them are above the quota."""
        hour = int(now_s // HOUR_S)
        if hour != self._hour:
            self._hour = hour
            self._clear(FIRST_SLOTS)
        unique, which, count = np.unique(senders, return_inverse=True, return_counts=True)
        slots = self._slots(unique)
        known = slots >= 0
        before = np.where(known, self._counts[slots], 0).astype(np.int64)
        self._counts[slots[known]] = np.minimum(before + count, MAX_COUNT)[known]
        rank = np.zeros(len(senders), np.int64)
        if len(unique) < len(senders):
            order = np.argsort(which, kind="stable")
            rank[order] = np.arange(len(senders)) - np.repeat(np.cumsum(count) - count, count)
        return np.asarray(before[which] + rank >= per_hour, np.bool_)

    def _clear(self, slots: int) -> None:
        self._senders = np.zeros(slots, np.uint64)
        self._counts = np.zeros(slots, np.uint16)
        self._taken = np.zeros(slots, np.bool_)
        self._used = 0

    def _slots(self, senders: Array) -> NDArray[np.int64]:
        """Return each sender's slot, a new one if it has none; -1 if too many have one."""
        full = self._used >= self._max_senders
        while not full and 2 * (self._used + len(senders)) > len(self._senders):
            old, counts = self._senders[self._taken], self._counts[self._taken]
            self._clear(2 * len(self._senders))
            self._counts[self._find(old, insert=True)] = counts
        return self._find(senders, insert=not full)

    def _find(self, senders: Array, *, insert: bool) -> NDArray[np.int64]:
        """Probe slot after slot for all senders, each of which is given once."""
        mask = len(self._senders) - 1
        slots = ((senders * self._factor) >> np.uint64(64 - mask.bit_length())).astype(np.int64)
        searching = np.arange(len(senders))
        while searching.size:
            at = slots[searching]
            free = ~self._taken[at]
            if insert:
                self._senders[at[free]] = senders[searching[free]]  # of two in one slot the last
                self._taken[at[free]] = True
            settled = self._taken[at] & (self._senders[at] == senders[searching])
            if insert:
                self._used += int((settled & free).sum())
            else:
                slots[searching[free]] = -1
                settled |= free
            searching = searching[~settled]
            slots[searching] = (slots[searching] + 1) & mask
        return slots
