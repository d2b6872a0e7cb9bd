# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from typing import Any

import numpy as np

from tcuq.profile.settings import ThresholdSettings
from tcuq.stages.threshold import Threshold

PLAIN = ThresholdSettings("adaptive", 1 << 15, step=100, start=500, anchor=500, warmup=0)


def settings(**changes: Any) -> ThresholdSettings:
    """Return settings with alpha 1/2, 100 levels per step, start and anchor at 500."""
    return replace(PLAIN, **changes)


def test_equal_is_exceeded() -> None:
    """The comparison is risk >= threshold, for the ledger and for the request."""
    requested, exceeded, _ = Threshold(settings()).run(np.array([500]))
    assert requested.tolist() == exceeded.tolist() == [True]


def test_ledger_is_never_clamped() -> None:
    """The ledger counts every exceedance: in a run of them it rises above every risk."""
    threshold = Threshold(settings(start=16384))
    threshold.run(np.full(5, 16384))
    assert threshold.ledger_q16 > 16384 << 16


def test_guarded_requests_at_the_anchor_or_below() -> None:
    """Under a lasting shift guarded keeps requesting; where risk is low it follows the ledger."""
    shifted = np.full(1000, 800)
    adaptive, _, _ = Threshold(settings()).run(shifted)
    guarded, exceeded, _ = Threshold(settings(mode="guarded")).run(shifted)
    assert adaptive.mean() < 0.6
    assert guarded.all()
    assert exceeded.mean() < 0.6
    _, _, levels_q16 = Threshold(settings(mode="guarded")).run(np.zeros(3, np.int64))
    assert (levels_q16 / 65536).tolist() == [500, 450, 400]


def test_warmup_is_guarded_then_adaptive() -> None:
    """For its first warmup steps adaptive never requests above the anchor, also across chunks."""
    threshold = Threshold(settings(warmup=3))
    first, _, _ = threshold.run(np.array([800, 520]))
    second, _, _ = threshold.run(np.array([520, 520]))
    assert first.tolist() == [True, True]
    assert second.tolist() == [True, False]


def test_reset_returns_to_the_calibrated_quantile() -> None:
    """After a reset the ledger and the warm-up are as new."""
    threshold = Threshold(settings(warmup=3))
    threshold.run(np.array([800, 800]))
    threshold.reset()
    assert threshold.ledger_q16 == 500 << 16
    assert threshold.warmup_left == 3
