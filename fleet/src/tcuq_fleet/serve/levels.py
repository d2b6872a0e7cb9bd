# SPDX-License-Identifier: Apache-2.0
"""Discoveries at a false-discovery level: the judge's own or another."""

from dataclasses import dataclass

import numpy as np

from tcuq_fleet.judge.ebh import Discovery, discover_each
from tcuq_fleet.serve import group_queries, queries
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.group_queries import GroupRow
from tcuq_fleet.serve.identifiers import ALL_DEVICES
from tcuq_fleet.serve.queries import JudgementRow

LOOSEST, STRICTEST = 0.5, 0.001
MAX_COHORTS = 100  # those with the most evidence
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is discovered at a level among each visible owner's devices."""

    level: float
    owners: dict[int, Discovery]
    tested: dict[int, int]

    @property
    def discovered(self) -> int:
        """The number of discovered devices."""
        return sum(discovery.count for discovery in self.owners.values())

    @property
    def cutoffs_q8(self) -> dict[int, int]:
        """The least evidence of a discovered device, of each owner who has one."""
        cutoffs = {owner: each.cutoff_q8 for owner, each in self.owners.items()}
        return {owner: cutoff for owner, cutoff in cutoffs.items() if cutoff is not None}

    @property
    def least_q8(self) -> int | None:
        """The least evidence of any discovered device."""
        return min(self.cutoffs_q8.values(), default=None)


def finding_at(session: Session, judgement: JudgementRow, level: float | None) -> Finding:
    """Return the finding at a level, by default the judge's."""
    rows = queries.owners(session, judgement.judgement)
    tested = {row.owner: row.judgeable for row in rows}
    if level is None or level == judgement.level:
        judged = {row.owner: Discovery(row.discovered, row.cutoff_q8) for row in rows}
        return Finding(judgement.level, judged, tested)
    owner, evidence_q8, devices = queries.evidence(session, judgement.judgement)
    numbers = sorted(tested)
    sizes = np.array([tested[number] for number in numbers], np.int64)
    discoveries = discover_each(np.searchsorted(numbers, owner), evidence_q8, devices, sizes, level)
    return Finding(level, dict(zip(numbers, discoveries, strict=True)), tested)


def findings(session: Session, judgement: JudgementRow, chosen: Finding) -> list[Finding]:
    """Return the findings at all levels offered, including the chosen one."""
    levels = sorted({*LEVELS, chosen.level}, reverse=True)
    return [finding_at(session, judgement, level) for level in levels]


def count_discoveries(
    session: Session, judgement: JudgementRow, finding: Finding, rows: list[GroupRow]
) -> list[GroupRow]:
    """Return groups with their discoveries at the finding's level."""
    if finding.level == judgement.level:
        return rows
    number, cutoffs = judgement.judgement, finding.cutoffs_q8
    if len(rows) == 1:
        count = group_queries.count_suspects(session, number, cutoffs, rows[0].group)
        return [rows[0].model_copy(update={"discovered": count})]
    counts = group_queries.discovered_by_group(session, number, cutoffs)
    return [
        row.model_copy(update={"discovered": counts.get((row.owner, row.group), 0)}) for row in rows
    ]


def truncated_to(session: Session, judgement: JudgementRow, finding: Finding) -> int:
    """Return how many suspects are listed if more are discovered, else 0."""
    if finding.level == judgement.level:
        return 0
    listed = group_queries.count_suspects(
        session, judgement.judgement, finding.cutoffs_q8, ALL_DEVICES
    )
    return listed if listed < finding.discovered else 0


def drifting(session: Session, judgement: JudgementRow, finding: Finding) -> list[GroupRow]:
    """Return groups with discoveries, ranked: named ones first, then drifting, then by evidence."""
    number = judgement.judgement
    rows = [
        *group_queries.single_groups(session, number),
        *group_queries.cohorts(session, number, ALL_DEVICES, MAX_COHORTS),
    ]
    groups = [row for row in count_discoveries(session, judgement, finding, rows) if row.discovered]
    named = [(row.owner, row.group.parts.items()) for row in groups if row.named]

    def is_explained(row: GroupRow) -> bool:
        parts = row.group.parts.items()
        return any(owner == row.owner and part < parts for owner, part in named)

    explained = [row.model_copy(update={"explained": is_explained(row)}) for row in groups]
    return sorted(explained, key=_rank)


def _rank(row: GroupRow) -> tuple[bool, bool, float, float]:
    """Sort by named, drifted, evidence; without evidence, by the share of discovered devices."""
    return not row.named, not row.drifted, -(row.evidence_bits or 0.0), -row.share
