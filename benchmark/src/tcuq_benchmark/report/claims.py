# SPDX-License-Identifier: Apache-2.0
"""A claim of the paper: what was measured, the comparisons that test it, and the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tcuq_benchmark.report.verdict import Comparison, Groups, Verdict, fewest_seeds, verdict_of

Untested = Literal["no effect possible", "nothing to measure", "not testable here"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of the page. Its basis is either comparisons, which give the verdict, or a reason."""

    where: str
    claim: str
    basis: Groups | Untested
    text: str = ""
    section: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict of the comparisons, or the reason that there are none."""
        return self.basis if isinstance(self.basis, str) else verdict_of(self.basis)

    @property
    def measured(self) -> str:
        """What was measured, group by group."""
        if isinstance(self.basis, str):
            return self.text
        groups = "; ".join(describe(name, group) for name, group in self.basis.items())
        return f"{groups}. {self.text}" if self.text else groups

    def cells(self) -> list[str]:
        """Return the cells of the table."""
        measured = f"[{self.measured}](index.md#{self.section})" if self.section else self.measured
        verdict = f"**{self.verdict}**"
        if self.verdict == "undecided" and not isinstance(self.basis, str):
            seeds = fewest_seeds(self.basis)
            verdict += f" with {seeds} seed{'s' if seeds > 1 else ''}"
        return [self.where, self.claim, measured, verdict]


def describe(name: str, group: Sequence[Comparison]) -> str:
    """Return the comparison of a group that is worst for the claim, and what was not run."""
    run = [one for one in group if one.differences]
    absent = ", ".join(one.name for one in group if not one.differences)
    if not run:
        return f"{name}: not run"
    worst = min(run, key=lambda one: (one.p_contradicted, one.interval().mean - one.least))
    levels = "" if worst.levels is None else "{:.3g} against {:.3g}, ".format(*worst.levels)
    rival = f" ({worst.name})" if worst.name else ""
    return f"{name}{rival}: {levels}{worst.interval()}" + (f", {absent} not run" if absent else "")
