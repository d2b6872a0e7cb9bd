# SPDX-License-Identifier: Apache-2.0
"""What is discovered at a false-discovery level, the judge's own or another."""

from dataclasses import dataclass, replace

from tcuq.fleet.judge.ebh import discover
from tcuq.fleet.serve.database import Session
from tcuq.fleet.serve.identity import EVERYBODY
from tcuq.fleet.serve.queries import Judgement, Tally, choices, discovered, evidence, inside

LOOSEST, STRICTEST = 0.5, 0.001
COHORTS = 100  # of all, those with the most evidence
LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


@dataclass(frozen=True, slots=True)
class Finding:
    """Devices discovered at a level: those with at least the cutoff's evidence."""

    level: float
    discovered: int
    cutoff_q8: int | None


def finding(session: Session, judgement: Judgement, level: float | None) -> Finding:
    """At this level, by default the judge's."""
    if level is None or level == judgement.level:
        return Finding(judgement.level, judgement.discovered, judgement.cutoff_q8)
    found = discover(*evidence(session, judgement.judgement), judgement.judgeable, level)
    return Finding(level, found.count, found.cutoff_q8)


def steps(session: Session, judgement: Judgement, chosen: Finding) -> list[Finding]:
    """At every level one can choose, the chosen one among them."""
    levels = sorted({*LEVELS, chosen.level}, reverse=True)
    return [finding(session, judgement, level) for level in levels]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A group and how many of it are discovered at the chosen level."""

    tally: Tally
    discovered: int
    explained: bool = False  # within a group that is named

    @property
    def share(self) -> float:
        """Of those that could be judged."""
        return self.discovered / self.tally.judgeable if self.tally.judgeable else 0.0


def counted(
    session: Session, judgement: Judgement, found: Finding, tallies: list[Tally]
) -> list[Ranked]:
    """Groups with their discoveries at the level found."""
    if found.cutoff_q8 == judgement.cutoff_q8:
        return [Ranked(tally, tally.discovered) for tally in tallies]
    if found.cutoff_q8 is None:
        return [Ranked(tally, 0) for tally in tallies]
    counts = discovered(session, judgement.judgement, found.cutoff_q8)
    return [
        Ranked(
            tally,
            counts.get(tally.group, 0)
            if len(tally.group.parts) != 2
            else sum(n for group, n in counts.items() if _within(group.parts, tally.group.parts)),
        )
        for tally in tallies
    ]


def cut(session: Session, judgement: Judgement, found: Finding) -> int:
    """How many are listed, if more are discovered than the judge lists; else 0."""
    if found.cutoff_q8 in (None, judgement.cutoff_q8):
        return 0
    counts = discovered(session, judgement.judgement, found.cutoff_q8 or 0)
    listed = sum(count for group, count in counts.items() if group.parts.keys() == {"profile"})
    return listed if listed < found.discovered else 0


def _within(cohort: dict[str, str], group: dict[str, str]) -> bool:
    return len(cohort) == 3 and group.items() <= cohort.items()


def drifting(session: Session, judgement: Judgement, found: Finding) -> list[Ranked]:
    """Groups that hold discoveries: those named first, then those that drift, then by evidence."""
    number = judgement.judgement
    groups = [*choices(session, number), *inside(session, number, EVERYBODY, COHORTS)]
    rows = [row for row in counted(session, judgement, found, groups) if row.discovered]
    named = [row.tally.group.parts.items() for row in rows if row.tally.named]
    known = [
        replace(row, explained=any(parts < row.tally.group.parts.items() for parts in named))
        for row in rows
    ]
    return sorted(known, key=_rank)


def _rank(row: Ranked) -> tuple[bool, bool, float, float]:
    """Named, drifting, by evidence; where there is none, by the share of discovered devices."""
    return not row.tally.named, not row.tally.drifted, -(row.tally.evidence or 0.0), -row.share
