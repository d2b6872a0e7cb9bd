# SPDX-License-Identifier: Apache-2.0
"""Budget: a token bucket; abstentions in EVERY window of n are at most burst + budget · n.

A step that asks in vain is denied; whether its prediction is used or withheld is chosen at the fit.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import TOKEN, BudgetSettings


class Outcome(IntEnum):
    """What the budget made of a step: nothing asked, a token taken, or none left."""

    ACCEPT = 0
    ABSTAIN = 1
    DENIED = 2


class Budget:
    """The bucket: a step adds `rate`, an abstention takes one token, `burst` is the most it holds.

    Examples
    --------
    >>> budget = Budget(BudgetSettings(rate_q16=TOKEN // 2, burst_q16=TOKEN))
    >>> budget.run(np.array([True, True, True])).tolist()
    [1, 2, 1]
    """

    def __init__(self, settings: BudgetSettings) -> None:
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """Fill the bucket."""
        self.tokens_q16: int = self.settings.burst_q16

    def run(self, requested: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the outcome of each step."""
        rate, burst = self.settings.rate_q16, self.settings.burst_q16
        outcomes = np.zeros(len(requested), np.uint8)
        tokens, last = self.tokens_q16, -1
        for step in np.flatnonzero(requested).tolist():  # between requests the bucket only fills
            tokens = min(burst, tokens + rate * (step - last))
            last = step
            if tokens >= TOKEN:
                tokens -= TOKEN
                outcomes[step] = Outcome.ABSTAIN
            else:
                outcomes[step] = Outcome.DENIED
        self.tokens_q16 = min(burst, tokens + rate * (len(requested) - 1 - last))
        return outcomes

    def withheld(self, outcomes: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return which steps' predictions are not to be used."""
        withheld = [Outcome.ABSTAIN]
        if self.settings.denied == "withhold":
            withheld.append(Outcome.DENIED)
        return np.isin(outcomes, withheld)
