# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tcuq.profile.settings import (
    AnchoredScoreSettings,
    CombinerWeights,
    NoveltyTerm,
    Signal,
    TcuqScoreSettings,
    Term,
)
from tcuq.stages.columns import SignalColumns
from tcuq.stages.score import (
    MEAN_BITS,
    AnchoredScore,
    Novelty,
    TcuqScore,
    ewma,
    make_score,
    sigmoid,
    surprise,
)

TERM = Term(
    "novelty", "surprise", None, start=0.0, dead=0.0, cap=16.0, weight=1.0, error_weight=0.5,
    points=(0.0, 8.0), bits=(0.0, 4.0), slope=1.0,
)  # fmt: skip


def columns(**signals: list[float]) -> SignalColumns:
    """Return signals, 0 where not given."""
    steps = len(next(iter(signals.values())))
    zero = dict.fromkeys(SignalColumns.__slots__, np.zeros(steps))
    given: dict[str, Any] = {name: np.array(column) for name, column in signals.items()}
    marks = {"label": np.zeros(steps, np.int32), "whole_past": np.ones(steps, np.bool_)}
    return SignalColumns(**{**zero, **marks, **given})


def term(**changes: Any) -> Term:
    """Return a term with 0 bits at 0, 4 bits at 8, then 1 bit per unit."""
    return replace(TERM, **changes)


def test_sigmoid_does_not_overflow() -> None:
    """Huge logits give 0 and 1 without a warning."""
    assert sigmoid(np.array([-1e9, 0.0, 1e9])).tolist() == [0, 0.5, 1]


def test_tcuq_combines_the_signals_it_has() -> None:
    """Absent signals are left out; a mix of 0 is 1 - confidence alone."""
    weights = CombinerWeights(1.0, None, 2.0, 3.0)
    score = TcuqScore(TcuqScoreSettings("free", weights, 0.5, 1.0))
    result = score.logit(columns(divergence=[1.0], inconsistency=[1.0], doubt=[1.0]))
    assert result.tolist() == [6.5]
    weights = CombinerWeights(1.0, 1.0, 1.0, 1.0)
    score = TcuqScore(TcuqScoreSettings("free", weights, 0.0, 0.0))
    risk, error = score.run(columns(confidence=[0.75]))
    assert risk.tolist() == error.tolist() == [0.25]


def test_surprise_interpolates_and_extrapolates() -> None:
    """Linear between points, flat below the first, sloped beyond the last."""
    assert surprise(np.array([-1.0, 0, 4, 8, 10]), term()).tolist() == [0, 0, 2, 4, 6]


def test_a_term_is_clipped_and_weighted() -> None:
    """A term is weight · clip(bits - dead, 0, cap), of at most 16 bits, and risk is at most 1."""
    settings = AnchoredScoreSettings((term(dead=1.0, cap=2.0, weight=4.0),), -4.0, -1.0)
    risk, error = AnchoredScore(settings).run(columns(novelty=[0.0, 4.0, 8.0]))
    assert risk.tolist() == sigmoid(np.array([-4.0, 0.0, 4.0])).tolist()
    assert error.tolist() == sigmoid(np.array([-1.0, -0.5, 0.0])).tolist()
    settings = AnchoredScoreSettings((term(weight=64.0, error_weight=1.0),), -8.0, -16.0)
    risk, error = AnchoredScore(settings).run(columns(novelty=[1e6]))
    assert (risk.tolist(), error.tolist()) == ([1], [0.5])


def test_smoothing_starts_at_the_calibration_mean() -> None:
    """Each step is m += (bits - m) / 2^shift from the start; a reset starts again."""
    score = AnchoredScore(AnchoredScoreSettings((term(ewma=1, start=4.0),), -2.0, 0.0))
    assert score.run(columns(novelty=[0.0]))[0].tolist() == [0.5]
    score.reset_history()
    assert score.run(columns(novelty=[0.0]))[0].tolist() == [0.5]
    assert ewma(np.array([4.0, 4.0]), 0.0, 1).tolist() == [2, 3]


def test_make_score_follows_the_profile() -> None:
    """The settings' type chooses the score."""
    weights = CombinerWeights(0.0, 0.0, 0.0, 0.0)
    assert isinstance(make_score(TcuqScoreSettings("free", weights, 0, 0.7)), TcuqScore)
    assert isinstance(make_score(AnchoredScoreSettings((term(),), 0.0, 0.0)), AnchoredScore)


def novelty_term(signal: Signal, share: float) -> NoveltyTerm:
    """Return a term of novelty whose surprise is its signal."""
    return NoveltyTerm(signal, share, points=(0.0, 8.0), bits=(0.0, 8.0), slope=1.0)


def test_novelty_is_half_now_and_half_lately() -> None:
    """Shares weigh the surprises; their mean starts at that of calibration, smoothed by 2^-5."""
    novelty = Novelty((novelty_term("novelty", 0.75), novelty_term("low_confidence", 0.25)))
    signals = columns(novelty=[8.0, 0.0], low_confidence=[4.0, 0.0])
    first = MEAN_BITS + (7 - MEAN_BITS) / 32
    expected = [(7 + first) / 2, first * 31 / 32 / 2]
    assert novelty.run(signals) == pytest.approx(expected)
    novelty.reset_history()
    assert novelty.run(signals) == pytest.approx(expected)


def test_novelty_is_bounded() -> None:
    """Without terms it is 0; one outlier raises the mean by half a bit at most."""
    assert Novelty(()).run(columns(novelty=[9.0])).tolist() == [0]
    novelty = Novelty((novelty_term("novelty", 1.0),))
    after = novelty.run(columns(novelty=[1e6, 0.0]))[1]
    assert after <= (MEAN_BITS + 0.5) / 2
