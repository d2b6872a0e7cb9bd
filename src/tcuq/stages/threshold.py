# SPDX-License-Identifier: Apache-2.0
"""Threshold: an integer ledger that makes the rate of exceedances alpha on any sequence.

x = [risk · 2^16 >= q]; q += step · (2^16 · x - alpha · 2^16). q is never clamped, so that every
exceedance is counted: in every window of n steps their rate is within (R + step) / (step · n)
of alpha, R = 16384 risk levels. `guarded` requests to abstain at min(q, anchor), `adaptive` at q.
A step whose novelty is at or above its limit requests it too, and the reason says which.
"""

import numpy as np
from numpy.typing import NDArray

from tcuq.profile.settings import ALPHA_BITS, ThresholdSettings

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Reasons = NDArray[np.uint8]


DOUBT, UNUSUAL = 1, 2  # bits of a reason
REASONS = ("", "doubt", "unusual", "both")  # by these bits


class Threshold:
    """The ledger, the frozen anchor beside it, and the paper's warm-up.

    Examples
    --------
    >>> threshold = Threshold(ThresholdSettings("adaptive", 1 << 15, 100, 500, 500, 0))
    >>> reason, exceeded, level_q16 = threshold.run(np.array([600, 520, 520]), np.zeros(3))
    >>> exceeded.tolist(), (level_q16 / 65536).tolist()
    ([True, False, True], [500.0, 550.0, 500.0])
    """

    def __init__(self, settings: ThresholdSettings) -> None:
        self.settings = settings
        self.reset()

    def reset(self) -> None:
        """Return to the calibrated quantile."""
        self.ledger_q16: int = self.settings.start << ALPHA_BITS
        self.warmup_left: int = self.settings.warmup

    def run(self, risk_levels: Ints, novelty: Floats) -> tuple[Reasons, Bools, Ints]:
        """Return why to abstain, exceedances and levels (in 1/65536 risk level) by step."""
        settings = self.settings
        up = settings.step * ((1 << ALPHA_BITS) - settings.alpha_q16)
        down = settings.step * settings.alpha_q16
        risks_q16 = risk_levels.astype(np.int64) << ALPHA_BITS
        ledger, ledgers = self.ledger_q16, []
        for risk in risks_q16.tolist():
            ledgers.append(ledger)
            ledger += up if risk >= ledger else -down
        self.ledger_q16 = ledger
        levels_q16 = np.array(ledgers, np.int64)
        exceeded = risks_q16 >= levels_q16
        guarded = self._guarded_steps(len(levels_q16))
        anchor_q16 = settings.anchor << ALPHA_BITS
        levels_q16[:guarded] = np.minimum(levels_q16[:guarded], anchor_q16)
        reason = np.where(risks_q16 >= levels_q16, DOUBT, 0).astype(np.uint8)
        if settings.novelty_limit is not None:
            reason[novelty >= settings.novelty_limit] |= UNUSUAL
        return reason, exceeded, levels_q16

    def _guarded_steps(self, steps: int) -> int:
        """Return how many of the next steps are bounded by the anchor."""
        if self.settings.mode == "guarded":
            return steps
        guarded = min(steps, self.warmup_left)
        self.warmup_left -= guarded
        return guarded
