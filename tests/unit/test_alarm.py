# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tcuq.profile.settings import MAX_COUNT, AlarmFlag, AlarmSettings, Channel, ChannelSignal
from tcuq.stages.alarm import Alarm, Bets, edges_passed
from tcuq.stages.columns import SignalColumns

PLAIN = Channel(
    signal="novelty",
    centre=None,
    block=16,
    edges=(1.0, 2.0, 3.0),
    gains_q8=(-256, 256, 512, 1024),
    passes=((160, 32, 16), (32, 16, 16)),
    chances=1600,
)


def channel(signal: ChannelSignal = "novelty", **changes: Any) -> Channel:
    """Return a channel with blocks of 16, edges 1, 2, 3 and gains -1, 1, 2, 4 bits."""
    return replace(PLAIN, signal=signal, **changes)


def settings(*channels: Channel, steps: int = 2**20, epoch: int = 65_536) -> AlarmSettings:
    """Return an alarm's settings."""
    return AlarmSettings(steps, epoch, channels or (channel(),))


def columns(values: list[float], *, past: bool = True, health: bool = True) -> SignalColumns:
    """Return the signals of all channels with these values."""
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
        contradiction=column,
        whole_past=np.full(steps, past),
        health=column if health else None,
    )


def run(alarm: Alarm, values: list[float], *, past: bool = True, health: bool = True) -> list[int]:
    """Return the flags of each step whose signals all have these values."""
    flags = alarm.run(columns(values, past=past, health=health), np.array(values))
    return [int(flag) for flag in flags]


@pytest.mark.parametrize(("mean", "passed"), [(0.9, 0), (1.0, 0), (1.1, 1), (3.0, 2), (3.1, 3)])
def test_edges_are_passed_strictly(mean: float, passed: int) -> None:
    """A block on an edge has not passed it."""
    assert edges_passed(np.array([mean]), (1.0, 2.0, 3.0), None).tolist() == [passed]


def test_two_sided_channels_alarm_in_both_directions() -> None:
    """With a centre, the edges apply to the distance from it."""
    assert edges_passed(np.array([-3.0, 7.0]), (1.0, 2.0, 4.0), 2.0).tolist() == [3, 3]


def test_a_bet_pays_by_how_seldom_blocks_passed() -> None:
    """100 chances and 10, 2, 1 passes pay 0.5 + 1.7 + 8.5 + 16; evidence multiplies by it."""
    bets = Bets(channel())
    bets.take(3)
    assert bets.evidence == pytest.approx(16 * (0.5 + 1.7 + 8.5 + 16), abs=1 / 8)
    bets.take(0)
    assert bets.evidence == pytest.approx(16 * (26.7 + 1) * 0.5, abs=1 / 8)


# 160 + 16 passes after none and 32 after some: 2 · 176 - 64 + 32 sixteenths of chances.
@pytest.mark.parametrize(
    ("between", "payoff"), [([], 320 / 32), ([0], 320 / 32), ([0, 0], (1600 + 16) / 176)]
)
def test_within_two_blocks_of_a_pass_another_pays_less(between: list[int], payoff: float) -> None:
    """Passes in the two blocks after one are no news; the third is judged as any other."""
    bets = Bets(channel())
    for passed in (1, *between):
        bets.take(passed)
    bets.evidence = 0.0
    bets.take(1)
    assert bets.evidence == pytest.approx(16 * (0.5 + 0.17 * payoff), abs=1 / 8)


def test_bets_learn_what_this_device_shows() -> None:
    """A block that keeps passing all edges pays less and less, towards 1."""
    bets, payoffs = Bets(channel()), []
    for _ in range(300):
        bets.evidence = 0.0
        bets.take(3)
        payoffs.append(bets.evidence)
    assert payoffs[1:] == sorted(payoffs[1:], reverse=True)
    assert payoffs[-1] < 16 * 1.1


def test_counts_are_halved_before_they_overflow() -> None:
    """However long a device runs, its counts fit 16 bits and keep their ratio."""
    bets = Bets(channel(chances=MAX_COUNT))
    before = bets._payoff(3)  # noqa: SLF001 - the ratio of counts
    bets.take(0)
    assert bets._chances < MAX_COUNT  # noqa: SLF001
    assert bets._payoff(3) == pytest.approx(before, rel=1e-3)  # noqa: SLF001


def test_alarm_when_the_channels_evidence_adds_up() -> None:
    """Two channels of equal evidence alarm together where one alone would not yet."""
    both = Alarm(settings(channel(), channel("divergence"), steps=100))
    assert run(both, [9.0] * 16)[-1] == AlarmFlag.NOVELTY
    calm = Alarm(settings(channel(), channel("divergence"), steps=100))
    assert run(calm, [9.0] * 16, past=False) == [0] * 16


def test_an_alarm_resets_the_evidence_and_keeps_what_was_learned() -> None:
    """A lasting shift alarms a few times, more and more seldom, and is then learned."""
    alarm = Alarm(settings(steps=2**14))
    run(alarm, [0.0] * 1024)
    steps = np.flatnonzero(run(alarm, [9.0] * 16_000))
    assert 2 <= len(steps) < 12
    assert (np.diff(steps)[1:] >= np.diff(steps)[:-1]).all()


def test_a_shift_since_boot_alarms_by_calibrations_own_bets() -> None:
    """Where learning bets are too poor, calibration's alarm, by a limit of steps and channels."""
    poor = channel(passes=((1600, 1600, 1600), (1600, 1600, 1600)))
    early = Alarm(settings(poor, steps=2**10))
    flags = run(early, [9.0] * 64)
    assert AlarmFlag(max(flags)) == AlarmFlag.NOVELTY | AlarmFlag.SINCE_BOOT
    late = Alarm(settings(poor, steps=2**10))
    run(late, [0.0] * 1024)
    assert max(run(late, [9.0] * 64)) == 0
    three = settings(channel(), channel("divergence"), channel("instability"))
    assert three.boot_limit_q8(channel()) == math.ceil(256 * (21 - 4 + math.log2(3)))


def test_channels_count_only_the_steps_they_can_read() -> None:
    """Risk and divergence need a full past, the health channel needs statistics."""
    alarm = Alarm(settings(channel(), channel("divergence"), channel("risk")))
    run(alarm, [9.0] * 10, past=False)
    assert alarm.block_steps.tolist() == [10, 0, 0]
    alarm = Alarm(settings(channel("health")))
    run(alarm, [9.0] * 10, health=False)
    assert alarm.block_steps.tolist() == [0]
    run(alarm, [9.0] * 10)
    assert alarm.block_steps.tolist() == [10]


def test_the_runtime_closes_epochs_by_counting_steps() -> None:
    """After 256 steps an epoch closes with its evidence, and the next has none."""
    alarm = Alarm(settings(epoch=256))
    run(alarm, [0.0] * 1024)
    run(alarm, [2.5] * 255)
    before = alarm.epoch.evidence_bits
    assert (alarm.epoch.number, before > 15) == (4, True)
    run(alarm, [2.5] * 2)
    assert alarm.epoch.number == 5
    assert alarm.epoch.closed_bits > before
    assert alarm.epoch.evidence_bits == -128
    alarm.reset()
    assert (alarm.epoch.number, alarm.epoch.closed_bits) == (0, -128)


@pytest.mark.parametrize("drift", [slice(0, 8), slice(16, 24), slice(32, 40)])
def test_drift_at_any_time_of_an_epoch_is_evidence(drift: slice) -> None:
    """Eight strong blocks give more than 15 bits, early, in the middle and at the end."""
    alarm = Alarm(settings())
    values = np.zeros(40 * 16)
    values[drift.start * 16 : drift.stop * 16] = 9.0
    run(alarm, [0.0] * 1024 + values.tolist())
    assert alarm.epoch.evidence_bits > 15


def test_an_epochs_evidence_is_the_mean_of_its_channels() -> None:
    """One block of +2 bits in one channel, -1 in the other: (4 + 0.5) / 2, over 2 and 6 places."""
    alarm = Alarm(settings(channel(), channel("risk")))
    alarm.run(columns([2.5] * 16), np.zeros(16))
    places = 0.5 / 2 + 1 / 6  # m = 2: a half over 2 onsets, a half over 3 spans
    assert alarm.epoch.evidence_bits == pytest.approx(math.log2((4 + 0.5) / 2 * places))
