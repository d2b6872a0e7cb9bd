# SPDX-License-Identifier: Apache-2.0
"""The costs of input health's sample fold stay within their budget."""

import json

from tools.measurements.sample_fold import COSTS, TABLE, measure, problems


def test_costs_are_within_their_budget() -> None:
    """No figure has grown by more than 1 %, and the documents show them."""
    assert problems(measure(), TABLE.read_text("utf-8")) == []


def test_growth_is_seen() -> None:
    """A figure 2 % over its budget is named, and so is a document with other figures."""
    costs = json.loads(COSTS.read_text("utf-8"))
    costs["cortex-m4"]["flash"] *= 1.02
    (message, page) = problems(costs, "")
    assert message.startswith("flash of the sample fold on cortex-m4 must be at most 1 % over")
    assert page == "docs/cost.md shows other figures"
