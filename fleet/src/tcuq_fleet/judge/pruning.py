# SPDX-License-Identifier: Apache-2.0
"""Pruning: which judged groups are written.

Every group of at least 20 devices is judged, so that the e-BH family does not depend on the
evidence. Of each kind (profile, firmware, site, cohort) the written ones are those that are named,
explain an outage or have an active alarm, the drifting ones with the most evidence, and the largest
ones. A fleet of 50,000 sites writes about as many groups as one of 1,000.
"""

import numpy as np

from tcuq_fleet.judge.evidence_counts import KINDS, Array, Flags, GroupKey
from tcuq_fleet.judge.groups import GroupJudgements

MAX_WRITTEN = 1000  # of a kind, by evidence and again by size


def notable(groups: GroupJudgements, kinds: Array, active: frozenset[GroupKey]) -> Flags:
    """Return which groups are written; `kinds` has each group's kind, `active` have alarms."""
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
