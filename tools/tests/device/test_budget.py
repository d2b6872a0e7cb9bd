# SPDX-License-Identifier: Apache-2.0
"""What the runtime costs stays within its budget, and the documents show it."""

import json

from tools.measurements.budget import BUDGET, TABLE, complaints, documented, measure, table


def test_costs_are_within_the_budget() -> None:
    """No figure of any build on any CPU has grown by more than 1 %; the documents show them."""
    budget = json.loads(BUDGET.read_text("utf-8"))
    assert list(complaints(measure(), budget)) == []
    assert documented(TABLE.read_text("utf-8")) == table(budget)


def test_growth_is_seen() -> None:
    """A figure 2 % over its budget is named, with what to do; so is one without a budget."""
    budget = json.loads(BUDGET.read_text("utf-8"))
    grown = json.loads(BUDGET.read_text("utf-8"))
    grown["m4"]["tcuq -Os"]["flash"] = round(budget["m4"]["tcuq -Os"]["flash"] * 1.02)
    (message,) = complaints(grown, budget)
    assert message.startswith("flash of tcuq -Os on m4 must be at most 1 % over")
    assert "python -m tools.measurements.budget --write" in message
    assert len(list(complaints({"m4": {"tcuq": {"heat": 1}}}, budget))) == 1
