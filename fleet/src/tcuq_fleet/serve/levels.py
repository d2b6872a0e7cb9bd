# SPDX-License-Identifier: Apache-2.0
"""Discoveries at a false-discovery level: the judge's own or another."""

from dataclasses import dataclass, replace

from tcuq_fleet.judge.ebh import discover
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES
from tcuq_fleet.serve.queries import (
    GroupRow,
    JudgementRow,
    cohorts,
    count_suspects,
    discovered_by_group,
    evidence,
    single_groups,
)

LOOSEST, STRICTEST = 0.5, 0.001
MAX_COHORTS = 100  # those with the most evidence
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True, slots=True)
class Finding:
    """How many devices are discovered at a level, and the least evidence among them."""

    level: float
    discovered: int
    cutoff_q8: int | None


def finding_at(session: Session, judgement: JudgementRow, level: float | None) -> Finding:
    """Return the finding at a level, by default the judge's."""
    if level is None or level == judgement.level:
        return Finding(judgement.level, judgement.discovered, judgement.cutoff_q8)
    discovery = discover(*evidence(session, judgement.judgement), judgement.tested, level)
    count, cutoff = discovery.count, discovery.cutoff_q8
    if not session.sees_all and cutoff is not None:
        count = count_suspects(session, judgement.judgement, cutoff, ALL_DEVICES)
    return Finding(level, count, cutoff)


def findings(session: Session, judgement: JudgementRow, chosen: Finding) -> list[Finding]:
    """Return the findings at all levels offered, including the chosen one."""
    levels = sorted({*LEVELS, chosen.level}, reverse=True)
    return [finding_at(session, judgement, level) for level in levels]


@dataclass(frozen=True, slots=True)
class RankedGroup:
    """A group and how many of its devices are discovered at the chosen level."""

    row: GroupRow
    discovered: int
    explained: bool = False  # within a group that is named

    @property
    def share(self) -> float:
        """The discovered share of the judgeable devices."""
        return self.discovered / self.row.judgeable if self.row.judgeable else 0.0


def count_discoveries(
    session: Session, judgement: JudgementRow, finding: Finding, rows: list[GroupRow]
) -> list[RankedGroup]:
    """Return groups with their discoveries at the finding's level."""
    if finding.cutoff_q8 == judgement.cutoff_q8:
        return [RankedGroup(row, row.discovered) for row in rows]
    if finding.cutoff_q8 is None:
        return [RankedGroup(row, 0) for row in rows]
    if len(rows) == 1:
        group = rows[0].group
        count = count_suspects(session, judgement.judgement, finding.cutoff_q8, group)
        return [RankedGroup(rows[0], count)]
    counts = discovered_by_group(session, judgement.judgement, finding.cutoff_q8)
    return [RankedGroup(row, counts.get(row.group, 0)) for row in rows]


def truncated_to(session: Session, judgement: JudgementRow, finding: Finding) -> int:
    """Return how many suspects are listed if more are discovered, else 0."""
    if finding.cutoff_q8 in (None, judgement.cutoff_q8):
        return 0
    listed = count_suspects(session, judgement.judgement, finding.cutoff_q8 or 0, ALL_DEVICES)
    return listed if listed < finding.discovered else 0


def drifting(session: Session, judgement: JudgementRow, finding: Finding) -> list[RankedGroup]:
    """Return groups with discoveries, ranked: named ones first, then drifting, then by evidence."""
    number = judgement.judgement
    rows = [*single_groups(session, number), *cohorts(session, number, ALL_DEVICES, MAX_COHORTS)]
    counted = count_discoveries(session, judgement, finding, rows)
    groups = [group for group in counted if group.discovered]
    named = [group.row.group.parts.items() for group in groups if group.row.named]
    explained = [
        replace(group, explained=any(parts < group.row.group.parts.items() for parts in named))
        for group in groups
    ]
    return sorted(explained, key=_rank)


def _rank(group: RankedGroup) -> tuple[bool, bool, float, float]:
    """Sort by named, drifted, evidence; without evidence, by the share of discovered devices."""
    row = group.row
    return not row.named, not row.drifted, -(row.evidence or 0.0), -group.share
