# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from tests.fixtures.engine import FEATURES, POSTERIOR, make, packed, spec, term


def test_novelty_by_hand() -> None:
    """Novelty is half of this step's surprise and half of a mean that starts at log2(e) bits."""
    engine = make(spec(terms=[term()]))
    low_confidence = np.log2(1 - 200 / 256 + 1e-5)
    surprise, recent = 2 * (low_confidence + 4), np.log2(np.e)  # 8 bits in 4 of log2
    for _ in range(3):
        decision = engine.step(POSTERIOR, FEATURES, None)
        assert decision is not None
        recent += (surprise - recent) / 32
        assert decision.novelty == pytest.approx((surprise + recent) / 2, abs=5e-3)
    plain = make(spec()).step(POSTERIOR, FEATURES, None)
    assert decision is not None
    assert plain is not None
    assert decision.risk == plain.risk


def test_novelty_counts_at_most_16_bits() -> None:
    """A surprise beyond the table counts 16 bits."""
    engine = make(spec(terms=[term(bits_q10=packed([65_535] * 2, "<u2"))]))
    decisions = [engine.step(POSTERIOR, FEATURES, None) for _ in range(2000)]
    novelties = [decision.novelty for decision in decisions if decision is not None]
    assert novelties == sorted(novelties)
    assert novelties[-1] == pytest.approx(16, abs=1e-3)
