# SPDX-License-Identifier: Apache-2.0
"""What the runtime and the sample fold cost stays within budgets, and the documents show them."""

import json

import pytest

from tests.fixtures.effort import SHORT, every
from tests.fixtures.firmware.toolchain import M4
from tools.measurements import budget, sample_fold
from tools.measurements.cost_budget import CostBudget

BUDGETS = {"runtime": budget, "sample fold": sample_fold}
SHORTENED = {"runtime": ((M4,), every(3, tuple(budget.BUILDS))), "sample fold": ((M4,),)}


@pytest.mark.parametrize("name", BUDGETS)
def test_costs_are_within_the_budget(name: str) -> None:
    """No figure on any CPU has grown by more than 1 %; the documents show them."""
    module = BUDGETS[name]
    costs = module.measure(*SHORTENED[name]) if SHORT else module.measure()
    assert list(module.BUDGET.problems(costs)) == []


@pytest.mark.parametrize(
    ("limits", "names"),
    [(budget.BUDGET, ("m4", "tcuq -Os", "flash")), (sample_fold.BUDGET, ("cortex-m4", "flash"))],
)
def test_growth_is_named(limits: CostBudget, names: tuple[str, ...]) -> None:
    """A figure 2 % over its budget is named, and so are one without a budget and a stale page."""
    costs = json.loads(limits.path.read_text("utf-8"))
    figures = costs
    for name in names[:-1]:
        figures = figures[name]
    figures[names[-1]] *= 1.02
    figures["heat"] = 1
    grown, without, page = limits.problems(costs, "")
    assert grown.startswith(f"{', '.join(names)} must be at most 1 % over")
    assert "heat must be at most 1 % over None" in without
    assert page == f"docs/cost.md must show the budget of {limits.path.name}"
