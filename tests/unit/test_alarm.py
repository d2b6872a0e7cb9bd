# SPDX-License-Identifier: Apache-2.0
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tcuq.profile.settings import MAX_COUNT, AlarmFlag, AlarmSettings, Channel, ChannelSignal
from tcuq.stages.alarm import RESERVES, REST, Alarm, Bets, edges_passed
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
    flags, _ = alarm.run(columns(values, past=past, health=health), np.array(values))
    return [int(flag) for flag in flags]


@pytest.mark.parametrize(("mean", "passed"), [(0.9, 0), (1.0, 0), (1.1, 1), (3.0, 2), (3.1, 3)])
def test_edges_are_passed_strictly(mean: float, passed: int) -> None:
    """A block on an edge has not passed it."""
    assert edges_passed(np.array([mean]), (1.0, 2.0, 3.0), None).tolist() == [passed]


def test_two_sided_channels_alarm_in_both_directions() -> None:
    """With a centre, the edges apply to the distance from it."""
    assert edges_passed(np.array([-3.0, 7.0]), (1.0, 2.0, 4.0), 2.0).tolist() == [3, 3]


def test_the_edge_beyond_calibration_is_as_far_as_its_largest_block() -> None:
    """The fourth edge lies as far beyond the third as the third beyond the first."""
    means = np.array([3.1, 5.0, 5.1])
    assert edges_passed(means, (1.0, 2.0, 3.0), None).tolist() == [3, 3, 4]


def test_a_bet_pays_by_how_seldom_blocks_passed() -> None:
    """100 chances and 10, 2, 1, 1/4 passes; each bet keeps what it does not stake."""
    payoffs = Bets(channel()).payoffs(4)
    expected = [(26 + 38 * 10) / 64, (13 + 51 * 50) / 64, (10 + 29 * 100 + 25 * 400) / 64]
    assert payoffs == pytest.approx(expected, abs=1e-4)
    assert Bets(channel()).payoffs(0) == list(RESERVES)
    assert Bets(channel()).payoffs(1)[1:] == list(RESERVES[1:])


def test_sums_are_kept_in_eighths_of_a_bit_rounded_down() -> None:
    """Evidence is block times the payoffs and more where a change may have begun later."""
    bets = Bets(channel())
    payoffs = bets.payoffs(4)
    bets.take(4)
    starts = [2 ** (rest / 8) for rest in REST]
    exact = sum(16 * start * payoff for start, payoff in zip(starts, payoffs, strict=True))
    assert exact / 2 ** (1 / 8) - 48 <= bets.evidence <= exact


def test_a_block_that_passes_no_edge_leaves_sums_at_rest() -> None:
    """Sums fall back to their rest, where they are no evidence; they do not fall below it."""
    bets = Bets(channel())
    bets.take(4)
    for _ in range(20):
        bets.take(0)
    assert (bets.levels, bets.evidence) == (list(REST), 0)


# 160 + 16 passes after none and 32 after some: 2 · 176 - 64 + 32 sixteenths of chances.
@pytest.mark.parametrize(
    ("between", "payoff"), [([], 320 / 32), ([0], 320 / 32), ([0, 0], (1600 + 16) / 176)]
)
def test_within_two_blocks_of_a_pass_another_pays_less(between: list[int], payoff: float) -> None:
    """Passes in the two blocks after one are no news; the third is judged as any other."""
    bets = Bets(channel())
    for passed in (1, *between):
        bets.take(passed)
    assert bets.payoffs(1)[0] == pytest.approx((26 + 38 * payoff) / 64, abs=1e-4)


def test_bets_learn_what_this_device_shows() -> None:
    """A block that keeps passing all edges pays less and less, towards 1."""
    bets, payoffs = Bets(channel()), []
    for _ in range(300):
        payoffs.append(max(bets.payoffs(4)))
        bets.take(4)
    assert payoffs[1:] == sorted(payoffs[1:], reverse=True)
    assert payoffs[-1] < 1.1


def test_counts_are_halved_before_they_overflow() -> None:
    """However long a device runs, its counts fit 16 bits and keep their ratio."""
    bets = Bets(channel(chances=MAX_COUNT))
    before = bets.payoffs(3)
    bets.take(0)
    assert bets._chances < MAX_COUNT  # noqa: SLF001
    assert bets.payoffs(3) == pytest.approx(before, rel=1e-3)


@pytest.mark.parametrize("passed", range(5))
def test_a_bet_does_not_gain_on_average(passed: int) -> None:
    """If blocks pass edges as often as the counts say, no bet's mean payoff exceeds 1."""
    bets = Bets(channel())
    chance = np.array([160, 32, 16, 4]) / 1600
    exactly = -np.diff([1.0, *chance, 0.0])
    means = exactly @ np.array([bets.payoffs(edges) for edges in range(5)])
    assert means.max() <= 1 + 1e-9
    assert bets.payoffs(passed) <= bets.payoffs(4)


def test_one_block_ends_at_a_step() -> None:
    """A channel skips a step at which its block would end with that of a channel before it."""
    alarm = Alarm(settings(channel("risk"), channel("novelty"), channel("divergence")))
    run(alarm, [0.0] * 16)
    assert alarm.block_steps.tolist() == [0, 15, 15]
    run(alarm, [0.0])
    assert alarm.block_steps.tolist() == [1, 0, 15]
    run(alarm, [0.0])
    assert alarm.block_steps.tolist() == [2, 1, 0]


def test_amber_comes_with_a_64th_of_the_evidence_that_alarms() -> None:
    """What alarms at 2^14 steps per false alarm is amber at 2^20, and an alarm is amber too."""
    values = [9.0] * 16 * 3
    reds, _ = Alarm(settings(steps=2**14)).run(columns([0.0] * 2048 + values), np.zeros(2048 + 48))
    red, amber = Alarm(settings(steps=2**20)).run(
        columns([0.0] * 2048 + values), np.zeros(2048 + 48)
    )
    assert np.flatnonzero(amber)[0] == np.flatnonzero(reds)[0]
    assert amber[red > 0].all()


def test_alarm_when_the_channels_evidence_adds_up() -> None:
    """Two channels of equal evidence alarm together where one alone would not yet."""
    both = Alarm(settings(channel(), channel("divergence"), steps=256))
    assert run(both, [9.0] * 17) == [0] * 16 + [AlarmFlag.NOVELTY]
    calm = Alarm(settings(channel(), channel("divergence"), steps=256))
    assert run(calm, [9.0] * 17, past=False) == [0] * 17


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
    flags = run(early, [4.0] * 64)
    assert AlarmFlag(max(flags)) == AlarmFlag.NOVELTY | AlarmFlag.SINCE_BOOT
    late = Alarm(settings(poor, steps=2**10))
    run(late, [0.0] * 1024)
    assert max(run(late, [4.0] * 64)) == 0
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
    alarm.run(columns([2.5] * 17), np.zeros(17))
    places = 0.5 / 2 + 1 / 6  # m = 2: a half over 2 onsets, a half over 3 spans
    assert alarm.epoch.evidence_bits == pytest.approx(math.log2((4 + 0.5) / 2 * places))
