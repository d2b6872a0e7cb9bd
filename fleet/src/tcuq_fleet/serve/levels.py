# SPDX-License-Identifier: Apache-2.0
"""Discoveries at a false-discovery level: the judge's own or another."""

from dataclasses import dataclass

from tcuq_fleet.judge.ebh import discover
from tcuq_fleet.serve import queries
from tcuq_fleet.serve.database import Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES
from tcuq_fleet.serve.queries import GroupRow, JudgementRow

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
    discovery = discover(*queries.evidence(session, judgement.judgement), judgement.tested, level)
    count, cutoff = discovery.count, discovery.cutoff_q8
    if not session.sees_all and cutoff is not None:
        count = queries.count_suspects(session, judgement.judgement, cutoff, ALL_DEVICES)
    return Finding(level, count, cutoff)


def findings(session: Session, judgement: JudgementRow, chosen: Finding) -> list[Finding]:
    """Return the findings at all levels offered, including the chosen one."""
    levels = sorted({*LEVELS, chosen.level}, reverse=True)
    return [finding_at(session, judgement, level) for level in levels]


def count_discoveries(
    session: Session, judgement: JudgementRow, finding: Finding, rows: list[GroupRow]
) -> list[GroupRow]:
    """Return groups with their discoveries at the finding's level."""
    if finding.cutoff_q8 == judgement.cutoff_q8:
        return rows
    number, cutoff = judgement.judgement, finding.cutoff_q8
    if cutoff is None:
        counts = {}
    elif len(rows) == 1:
        group = rows[0].group
        counts = {group: queries.count_suspects(session, number, cutoff, group)}
    else:
        counts = queries.discovered_by_group(session, number, cutoff)
    return [row.model_copy(update={"discovered": counts.get(row.group, 0)}) for row in rows]


def truncated_to(session: Session, judgement: JudgementRow, finding: Finding) -> int:
    """Return how many suspects are listed if more are discovered, else 0."""
    if finding.cutoff_q8 in (None, judgement.cutoff_q8):
        return 0
    listed = queries.count_suspects(
        session, judgement.judgement, finding.cutoff_q8 or 0, ALL_DEVICES
    )
    return listed if listed < finding.discovered else 0


def drifting(session: Session, judgement: JudgementRow, finding: Finding) -> list[GroupRow]:
    """Return groups with discoveries, ranked: named ones first, then drifting, then by evidence."""
    number = judgement.judgement
    rows = [
        *queries.single_groups(session, number),
        *queries.cohorts(session, number, ALL_DEVICES, MAX_COHORTS),
    ]
    groups = [row for row in count_discoveries(session, judgement, finding, rows) if row.discovered]
    named = [row.group.parts.items() for row in groups if row.named]
    explained = [
        row.model_copy(
            update={"explained": any(parts < row.group.parts.items() for parts in named)}
        )
        for row in groups
    ]
    return sorted(explained, key=_rank)


def _rank(row: GroupRow) -> tuple[bool, bool, float, float]:
    """Sort by named, drifted, evidence; without evidence, by the share of discovered devices."""
    return not row.named, not row.drifted, -(row.evidence_bits or 0.0), -row.share
