# SPDX-License-Identifier: Apache-2.0
"""The results page's table of losses: the sets on which the default is below another score."""

from collections.abc import Mapping, Sequence

from tcuq_benchmark.report.comparisons import Measure, compare
from tcuq_benchmark.report.results import TASKS, TITLES, table

DEFAULT = "recommended"
SMALLEST = 0.0005  # a difference that three decimals show


def losses(measures: Mapping[str, tuple[str, str]], rivals: Sequence[str]) -> str:
    """Return the table: one row per measure, one column per rival, with the mean differences."""
    body = [
        [title, *(_cell(Measure(measure, kind), rival) for rival in rivals)]
        for title, (measure, kind) in measures.items()
    ]
    return table(["measure", *rivals], body)


def _cell(measure: Measure, rival: str) -> str:
    """Return the sets on which the default is below a rival, on their common seeds."""
    behind = []
    for task in TASKS:
        compared = compare(task, measure, DEFAULT, rival)
        if compared.differences and (gap := compared.interval().mean) <= -SMALLEST:
            behind.append(f"{TITLES[task]} {gap:+.3f}".replace("-0.", "-."))
    return ", ".join(behind) or "none"
