# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest

from tcuq.profile.settings import AlarmFlag, AlarmSettings, Channel, Signal
from tcuq.stages.alarm import Alarm, bins
from tcuq.stages.columns import SignalColumns


def channel(signal: Signal = "novelty", **changes: object) -> Channel:
    """Return a channel with blocks of 16, edges 1, 2, 3 and gains -1, 1, 2, 4 bits."""
    plain: dict[str, object] = {
        "signal": signal,
        "centre": None,
        "block": 16,
        "edges": (1.0, 2.0, 3.0),
        "gains_q8": (-256, 256, 512, 1024),
    }
    return Channel(**{**plain, **changes})  # type: ignore[arg-type]


def columns(values: list[float] | np.ndarray, *, past: bool = True) -> SignalColumns:
    """Return the signals of all four channels with these values."""
    column = np.array(values, np.float64)
    steps = len(column)
    return SignalColumns(
        label=np.zeros(steps, np.int32),
        confidence=column,
        divergence=column,
        instability=column,
        inconsistency=column,
        doubt=column,
        low_confidence=column,
        novelty=column,
        whole_past=np.full(steps, past),
    )


def test_limit_depends_on_block_length_and_channels() -> None:
    """The limit is log2 of steps per false alarm · channels / block, in 1/256 bit, rounded up."""
    settings = AlarmSettings(2**20, (channel(), channel("divergence"), channel("instability")))
    assert settings.limit_q8(channel()) == math.ceil(256 * (20 - 4 + math.log2(3)))


@pytest.mark.parametrize(("mean", "passed"), [(0.9, 0), (1.0, 0), (1.1, 1), (3.0, 2), (3.1, 3)])
def test_edges_are_passed_strictly(mean: float, passed: int) -> None:
    """A block on an edge has not passed it."""
    assert bins(np.array([mean]), channel()).tolist() == [passed]


def test_two_sided_channels_alarm_in_both_directions() -> None:
    """With a centre, the edges apply to the distance from it."""
    assert bins(np.array([-3.0, 7.0]), channel(centre=2.0, edges=(1.0, 2.0, 4.0))).tolist() == [
        3,
        3,
    ]


def test_alarm_at_the_block_that_reaches_the_limit() -> None:
    """For one false alarm in 256 steps and blocks of 16, one extreme block gives the 4 bits."""
    alarm = Alarm(AlarmSettings(256, (channel(),)))
    flags = alarm.run(columns([9.0] * 40))
    assert flags.nonzero()[0].tolist() == [15, 31]
    assert set(flags[flags > 0].tolist()) == {AlarmFlag.NOVELTY}


def test_cusum_does_not_go_below_zero_but_the_epoch_does() -> None:
    """Ten ordinary blocks leave the CUSUM at 0 and the epoch at -10 bits."""
    alarm = Alarm(AlarmSettings(256, (channel(),)))
    alarm.run(columns([0.0] * 160))
    assert alarm.cusum_q8.tolist() == [0]
    assert alarm.epoch_evidence_q8 == -10 * 256


def test_epoch_evidence_is_corrected_for_choosing_the_best_channel() -> None:
    """With two channels the best one's evidence costs a bit, and ending the epoch clears it."""
    alarm = Alarm(AlarmSettings(2**20, (channel(), channel("low_confidence"))))
    alarm.run(columns([2.5] * 16))
    assert alarm.end_epoch() == 512 - 256
    assert alarm.epoch_evidence_q8 == -256


def test_lagged_channels_need_a_full_past() -> None:
    """Steps without a full past do not count for divergence, but do for novelty."""
    alarm = Alarm(AlarmSettings(256, (channel(), channel("divergence"))))
    alarm.run(columns([9.0] * 10, past=False))
    assert alarm.block_steps.tolist() == [10, 0]


def test_reset_history_drops_the_unfinished_block_and_keeps_the_evidence() -> None:
    """A block never spans a gap; the evidence from before it stays."""
    alarm = Alarm(AlarmSettings(2**20, (channel(),)))
    alarm.run(columns([9.0] * 20))
    alarm.reset_history()
    assert alarm.block_steps.tolist() == [0]
    assert alarm.cusum_q8.tolist() == [1024]
    alarm.reset()
    assert alarm.cusum_q8.tolist() == [0]
