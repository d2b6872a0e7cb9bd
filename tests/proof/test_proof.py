# SPDX-License-Identifier: Apache-2.0
"""What is proved of the runtime holds, and what would not hold is not proved."""

import shutil
from pathlib import Path

import pytest

from tools.firmware.toolchain import RUNTIME
from tools.proof.constants import defines
from tools.proof.widths import lemmas
from tools.proof.wp import configure, prove

SOUND = (
    "for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {\n        telemetry->histogram[i] = 0u;"
)
BROKEN = SOUND.replace("i < TCUQ", "i <= TCUQ")
WRAPS = "(ago < 0) ? ago + size : ago"
WRAPS_LATE = "(ago <= 0) ? ago + size : ago"  # a lag back to slot 0 lands behind the last slot


def test_no_sum_leaves_its_type() -> None:
    """Every lemma about a sum, a product or a shift holds for the runtime's own limits."""
    assert [stated.name for stated in lemmas() if not stated.holds()] == []


@pytest.mark.parametrize(
    ("limit", "factor", "broken"),
    [
        ("TCUQ_MAX_DIMENSIONS", 2, "squared distance under the whitening"),
        ("TCUQ_MAX_BLOCK", 2, "a block's steps beside the memory of a pass"),
        ("TCUQ_MAX_BLOCK", 4, "a block's sum, restored or not, from its centre"),
        ("TCUQ_MAX_BLOCK", 8, "a block's sum"),
        ("TCUQ_STAKE_Q16", 3, "a bet on all edges"),
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
    assert broken in [stated.name for stated in lemmas(wider) if not stated.holds()]


def test_an_index_past_the_end_is_not_proved(tmp_path: Path) -> None:
    """An off-by-one in a bound leaves goals unproved that are proved without it."""
    runtime = tmp_path / "runtime"
    shutil.copytree(RUNTIME, runtime)
    environment = configure(tmp_path)
    only = ("tcuq_telemetry_reset",)
    assert not prove("tcuq_telemetry.c", environment, runtime=runtime, only=only).unproved
    source = runtime / "tcuq_telemetry.c"
    text = source.read_text("utf-8")
    assert SOUND in text
    source.write_text(text.replace(SOUND, BROKEN), "utf-8")
    assert prove("tcuq_telemetry.c", environment, runtime=runtime, only=only).unproved


def test_a_slot_past_the_ring_is_not_proved(tmp_path: Path) -> None:
    """An off-by-one in the ring of past steps leaves goals unproved that are proved without it."""
    runtime = tmp_path / "runtime"
    shutil.copytree(RUNTIME, runtime)
    environment = configure(tmp_path)
    only = ("tcuq_find_past",)
    sound = prove("tcuq_signals.c", environment, runtime=runtime, only=only, seconds=60)
    assert not sound.unproved
    source = runtime / "tcuq_signals.c"
    text = source.read_text("utf-8")
    assert text.count(WRAPS) == 1
    source.write_text(text.replace(WRAPS, WRAPS_LATE), "utf-8")
    assert prove("tcuq_signals.c", environment, runtime=runtime, only=only).unproved
