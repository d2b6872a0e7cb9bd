# SPDX-License-Identifier: Apache-2.0
"""The uplink's time: whatever a clock does, records go on and flash writes stay bounded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.uplink.device import (
    CLOCK_ALONE,
    FIRST_S,
    INTERVAL_S,
    NOT_DUE,
    OK,
    RESEND_S,
    Device,
    Uplink,
)
from tests.fixtures.uplink.field import CLOCKS, Field

MOST_WRITES = 30  # per day
STUCK = ("frozen", "running backward")
HOSTILE = ("random", "an hour per call", "swinging by 2 hours")


@pytest.fixture(scope="module")
def uplink(uplink_program: Path) -> Iterator[Uplink]:
    """Start a device that needs 800 steps for a record."""
    process = Uplink(uplink_program, least_steps=800)
    yield process
    process.stop()


def test_a_clock_that_is_set_costs_no_write_and_delays_no_record(field: Field) -> None:
    """Set forward by 54 years after a minute, or back by three years, the clock changes nothing."""
    day = field("set by SNTP after 60 s")
    assert day.worst_day <= 25
    assert day.records == day.writes >= 23
    assert field("set by SNTP after 60 s", least_steps=CLOCK_ALONE) == day
    days = field("set back 3 years", days=30)
    assert days.records >= 30 * 24 - 2
    assert days.longest_silence_s <= 1.5 * INTERVAL_S
    assert field("set back 3 years", days=30, least_steps=CLOCK_ALONE) == days


def test_restarts_every_half_hour_send_records_within_the_bound(field: Field) -> None:
    """Each boot sends a record on an uptime clock; if the clock goes on, one per interval is."""
    days = field("uptime", days=30, restart_s=1800)
    assert days.restarts == days.records == days.writes == 1440
    assert days.longest_silence_s <= 1800
    days = field("real-time clock", days=30, restart_s=1800)
    assert days.worst_day <= 25
    assert days.records >= 30 * 24 - 2


@pytest.mark.parametrize("clock", ["uptime", "set by SNTP after 60 s", "random"])
def test_a_device_in_a_restart_loop_writes_nothing(field: Field, clock: str) -> None:
    """A device that never runs for seven minutes leaves its flash alone."""
    assert field(clock, restart_s=400).writes == 0
    if clock != "random":
        assert field(clock, restart_s=120, least_steps=CLOCK_ALONE).writes == 0


@pytest.mark.parametrize("fails", [False, True], ids=["flash works", "flash fails"])
@pytest.mark.parametrize("network", ["stores", "away", "forges"])
def test_flash_writes_are_bounded_under_any_clock(
    field: Field, subtests: pytest.Subtests, network: str, *, fails: bool
) -> None:
    """At most 30 writes in any 24 hours, with any clock, failing flash and forged answers."""
    for clock in CLOCKS:
        with subtests.test(clock=clock):
            days = field(clock, days=3, fails=fails, network=network)
            assert days.worst_day <= MOST_WRITES
            assert days.refused == 0
            if network == "stores" and not fails:
                assert days.longest_silence_s <= (5 if clock in STUCK else 1.5) * INTERVAL_S


def test_a_clock_that_only_jumps_needs_no_count_of_steps(
    field: Field, subtests: pytest.Subtests
) -> None:
    """By the clock alone the bound holds for every clock that is set now and then."""
    for clock in CLOCKS:
        if clock not in (*STUCK, *HOSTILE):
            with subtests.test(clock=clock):
                days = field(clock, days=3, least_steps=CLOCK_ALONE)
                assert days.worst_day <= MOST_WRITES
                assert days.longest_silence_s <= 1.5 * INTERVAL_S


def test_wear_is_spread_and_sleep_delays_no_record(field: Field) -> None:
    """16 pages share the writes; a device that wakes once per hour makes a record each time."""
    days = field("uptime", days=30, pages=16)
    assert days.worst_page <= days.writes / 16 + 1
    assert days.writes >= 30 * 24 - 2
    days = field("uptime", days=30, period_s=3600)
    assert days.records >= 30 * 24 - 4


@settings(max_examples=150, deadline=None)
@given(
    jumps=st.lists(
        st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 500)), min_size=1, max_size=80
    )
)
def test_no_clock_makes_more_records_than_steps_allow(
    uplink: Uplink, jumps: list[tuple[int, int]]
) -> None:
    """For any clock readings, records are at most one per 800 steps, plus the boot's first."""
    device = Device(uplink)
    device.start()
    records = taken = steps = 0
    for now_s, counted in jumps:
        uplink("count", counted)
        steps += counted
        records += uplink("record", now_s).status == OK
        taken += uplink.snapshot().status == OK
        assert records <= 1 + steps // 800
        assert taken <= records + 1
        assert records >= min(1, steps // 3200)


def test_steps_alone_bring_a_record_and_its_sending_when_the_clock_stands_still(
    uplink: Uplink,
) -> None:
    """After 3,200 steps a record is made and sent, though no second has passed."""
    device = Device(uplink)
    device.start()
    for _ in range(3):
        uplink("count", 3_199)
        assert uplink("record", 0).status == NOT_DUE
        uplink("count", 1)
        assert uplink("record", 0).status == OK
        assert uplink.snapshot().status == OK
        assert uplink("saved").status == OK
        assert uplink("run", 0).sent
        assert uplink("run", 0).status == NOT_DUE


def test_the_wait_ends_when_there_is_something_to_do(uplink: Uplink) -> None:
    """The stated wait is the time to the next record, save or sending, whichever comes first."""
    device = Device(uplink)
    device.start()
    begun = uplink("record", 0)
    assert begun.wait_s == begun.turn_s
    assert FIRST_S // 2 < begun.turn_s <= FIRST_S
    uplink("count", 99)
    short = begun
    for now_s in (FIRST_S // 2, FIRST_S):
        short = uplink("record", now_s)
    assert (short.status, short.wait_s) == (NOT_DUE, RESEND_S), "99 of 100 steps are counted"
    uplink("count", 1)
    assert uplink("record", FIRST_S).wait_s == 0, "a snapshot is to be written"
    uplink.snapshot()
    saved = uplink("saved", FIRST_S)
    assert saved.wait_s == 0, "the record is to be sent"
    sent = uplink("run", FIRST_S)
    assert 15 <= sent.wait_s == sent.send_s < 45
    acked = uplink("ack", FIRST_S, (sent.sent[2:10] + sent.sent[18:26]).hex())
    assert acked.wait_s == acked.turn_s
    assert uplink("saved", FIRST_S + 10).wait_s == acked.turn_s - 10
    assert uplink("saved", FIRST_S - 10).wait_s == acked.turn_s, "a clock set back"
    assert uplink("saved", FIRST_S + acked.turn_s).wait_s == 0, "a record may be due"


def test_a_reset_of_the_monitor_does_not_restart_the_interval(uplink: Uplink) -> None:
    """Beginning again in one run keeps time and steps that have passed, and brings no write."""
    device = Device(uplink)
    device.start()
    device.hour(800)
    records = 0
    for minute in range(1, 2 * 90):
        now_s = device.now_s + 60 * minute
        assert uplink("begin", now_s).status == OK
        uplink("count", 60 * 800 // INTERVAL_S)
        records += uplink("record", now_s).status == OK
    assert 2 <= records <= 3
