# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from typing import Any

import numpy as np

from tcuq.profile.settings import ThresholdSettings
from tcuq.stages.threshold import DOUBT, REASONS, Threshold

PLAIN = ThresholdSettings("adaptive", 1 << 15, step=100, start=500, anchor=500, warmup=0)


def settings(**changes: Any) -> ThresholdSettings:
    """Return settings with alpha 1/2, 100 levels per step, start and anchor at 500."""
    return replace(PLAIN, **changes)


def test_equal_is_exceeded() -> None:
    """The comparison is risk >= threshold, for the ledger and for the request."""
    reason, exceeded, _ = Threshold(settings()).run(np.array([500]), np.zeros(1))
    assert (reason.tolist(), exceeded.tolist()) == ([DOUBT], [True])


def test_an_unusual_step_requests_whatever_its_risk() -> None:
    """Novelty at its limit is a reason of its own; the ledger counts the risk alone."""
    risks, novelty = np.array([0, 0, 600, 600]), np.array([2.9, 3.0, 3.0, 0.0])
    reason, exceeded, _ = Threshold(settings(step=0, novelty_limit=3.0)).run(risks, novelty)
    assert [REASONS[bits] for bits in reason] == ["", "unusual", "both", "doubt"]
    assert exceeded.tolist() == [False, False, True, True]
    assert Threshold(settings(step=0)).run(risks, novelty)[0].tolist() == [0, 0, DOUBT, DOUBT]


def test_ledger_is_never_clamped() -> None:
    """The ledger counts every exceedance: in a run of them it rises above every risk."""
    threshold = Threshold(settings(start=16384))
    threshold.run(np.full(5, 16384), np.zeros(5))
    assert threshold.ledger_q16 > 16384 << 16


def test_guarded_requests_at_the_anchor_or_below() -> None:
    """Under a lasting shift guarded keeps requesting; where risk is low it follows the ledger."""
    shifted = np.full(1000, 800)
    adaptive, _, _ = Threshold(settings()).run(shifted, np.zeros(1000))
    guarded, exceeded, _ = Threshold(settings(mode="guarded")).run(shifted, np.zeros(1000))
    assert (adaptive > 0).mean() < 0.6
    assert guarded.all()
    assert exceeded.mean() < 0.6
    _, _, levels_q16 = Threshold(settings(mode="guarded")).run(np.zeros(3, np.int64), np.zeros(3))
    assert (levels_q16 / 65536).tolist() == [500, 450, 400]


def test_warmup_is_guarded_then_adaptive() -> None:
    """For its first warmup steps adaptive never requests above the anchor, also across chunks."""
    threshold = Threshold(settings(warmup=3))
    first, _, _ = threshold.run(np.array([800, 520]), np.zeros(2))
    second, _, _ = threshold.run(np.array([520, 520]), np.zeros(2))
    assert first.tolist() == [DOUBT, DOUBT]
    assert second.tolist() == [DOUBT, 0]


def test_reset_returns_to_the_calibrated_quantile() -> None:
    """After a reset the ledger and the warm-up are as new."""
    threshold = Threshold(settings(warmup=3))
    threshold.run(np.array([800, 800]), np.zeros(2))
    threshold.reset()
    assert threshold.ledger_q16 == 500 << 16
    assert threshold.warmup_left == 3
