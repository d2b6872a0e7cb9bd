# SPDX-License-Identifier: Apache-2.0
"""A budget of measured costs: a JSON file, and its table in docs/cost.md.

A figure that grows by more than 1 % fails the check until the budget is written anew on purpose.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results.result import ROOT, command, write_json

PAGE = ROOT / "docs/cost.md"
GROWTH = 1.01
Costs = dict[str, Any]  # nested: by CPU, perhaps by build, then by figure


@dataclass(frozen=True, slots=True)
class CostBudget:
    """The file of a budget, the name of its table's marks on the page, and how it is drawn."""

    path: Path
    name: str
    table: Callable[[Costs], str]

    def limits(self) -> Costs:
        """Read the budget."""
        limits: Costs = json.loads(self.path.read_text("utf-8"))
        return limits

    def write(self, costs: Costs) -> None:
        """Make these costs the budget, and show them on the page."""
        write_json(self.path, costs)
        before, _, after = self._parts(PAGE.read_text("utf-8"))
        PAGE.write_text(before + self.table(costs) + after, "utf-8")

    def problems(self, costs: Costs, page: str | None = None) -> Iterator[str]:
        """Yield figures that grew or have no budget, and whether the page shows another table."""
        limits = dict(figures(self.limits()))
        for names, cost in figures(costs):
            limit = limits.get(names)
            if limit is None or cost > limit * GROWTH:
                yield f"{', '.join(names)} must be at most 1 % over {limit}, got {cost}"
        text = PAGE.read_text("utf-8") if page is None else page
        if self._parts(text)[1] != self.table(self.limits()):
            yield f"docs/cost.md must show the budget of {self.path.name}"

    def main(self, measure: Callable[[], Costs]) -> None:
        """Measure and compare, or make what is measured the budget."""
        parser = argparse.ArgumentParser()
        parser.add_argument("--write", action="store_true", help="make what is measured the budget")
        args, costs = parser.parse_args(), measure()
        if args.write:
            self.write(costs)
        print(self.table(costs), end="")
        problems = list(self.problems(costs))
        again = f"if it is worth it: {command()} --write"
        sys.exit("\n".join([*problems, again]) if problems else 0)

    def _parts(self, text: str) -> tuple[str, str, str]:
        """Split a page into what is before its table, the table, and what is after."""
        begin, end = f"<!-- {self.name} -->\n", f"<!-- /{self.name} -->\n"
        before, _, rest = text.partition(begin)
        table, _, after = rest.partition(end)
        return before + begin, table, end + after


def figures(costs: Costs, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield every figure with its path of names."""
    for name, value in costs.items():
        if isinstance(value, dict):
            yield from figures(value, (*names, name))
        else:
            yield (*names, name), value


def markdown(head: Sequence[str], titles: int, rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first columns are titles and whose others are figures."""
    rule = "|" + "---|" * titles + "---:|" * (len(head) - titles)
    lines = ["|" + "".join(f" {cell} |" if cell else " |" for cell in row) for row in (head, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"
