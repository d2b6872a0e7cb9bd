# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tcuq.profile.settings import TOKEN, BudgetSettings
from tcuq.stages.budget import Budget, Outcome


def test_burst_then_rate() -> None:
    """A full bucket is spent first, then one token comes every 1/rate steps, at rate 0 none."""
    budget = Budget(BudgetSettings(rate_q16=TOKEN // 4, burst_q16=2 * TOKEN))
    outcomes = budget.run(np.ones(12, np.bool_))
    assert (outcomes == Outcome.ABSTAIN).nonzero()[0].tolist() == [0, 1, 4, 8]
    assert (outcomes == Outcome.DENIED).sum() == 8
    budget = Budget(BudgetSettings(rate_q16=0, burst_q16=TOKEN))
    assert budget.run(np.ones(3, np.bool_)).tolist() == [1, 2, 2]


def test_steps_without_a_request_are_accepted() -> None:
    """Steps without a request are accepted and fill the bucket, up to the burst."""
    budget = Budget(BudgetSettings(rate_q16=TOKEN, burst_q16=TOKEN))
    assert budget.run(np.zeros(5, np.bool_)).tolist() == [Outcome.ACCEPT] * 5
    assert budget.tokens_q16 == TOKEN


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_reset_fills_the_bucket(steps: int) -> None:
    """After a reset the whole burst is there again."""
    budget = Budget(BudgetSettings(rate_q16=1, burst_q16=3 * TOKEN))
    budget.run(np.ones(steps, np.bool_))
    budget.reset()
    assert budget.tokens_q16 == 3 * TOKEN
