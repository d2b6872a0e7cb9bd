# SPDX-License-Identifier: Apache-2.0
"""What is proved of the runtime holds; seeded bugs are tools/proof/seeded.py's."""

import pytest

from tools.proof.constants import defines
from tools.proof.widths import lemmas


def test_no_sum_leaves_its_type() -> None:
    """Every lemma about a sum, a product or a shift holds for the runtime's own limits."""
    assert [lemma.name for lemma in lemmas() if not lemma.holds()] == []


@pytest.mark.parametrize(
    ("limit", "factor", "broken"),
    [
        ("TCUQ_MAX_DIMENSIONS", 2, "squared distance under the whitening"),
        ("TCUQ_MAX_BLOCK", 2, "a block's steps beside the memory of a pass"),
        ("TCUQ_MAX_BLOCK", 4, "a block's sum, restored or not, from its centre"),
        ("TCUQ_MAX_BLOCK", 8, "a block's sum"),
        ("TCUQ_TOP_STAKE_Q16", 2, "the bet on the two highest edges"),
        ("TCUQ_MAX_ALARM_LIMIT", 2, "the evidence that alarms"),
        ("TCUQ_MAX_TERMS", 4, "surprise of all terms"),
        ("TCUQ_HEALTH_MAX_FRAMES", 2, "a channel's samples"),
        ("TCUQ_HEALTH_MAX_CHANNELS", 8, "squared sums of a group in a long window, and the unit"),
    ],
)
def test_a_limit_its_accumulator_cannot_hold_breaks_a_lemma(
    limit: str, factor: int, broken: str
) -> None:
    """Widened limits are seen by the lemma of the sum they overflow."""
    wider = {**defines(), limit: defines()[limit] * factor}
    assert broken in [lemma.name for lemma in lemmas(wider) if not lemma.holds()]


def test_a_limit_with_a_cast_was_no_number() -> None:
    """A #define with a cast, for CPUs whose int has 16 bits, is read as its number."""
    assert defines()["TCUQ_MAX_BIAS"] == 2**29
