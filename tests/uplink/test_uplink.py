# SPDX-License-Identifier: Apache-2.0
"""The uplink over lossy, duplicating and reordering networks, power cuts and lost flash."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.uplink.device import (
    CONFIG,
    DEVICE,
    FULL,
    INTERVAL_S,
    NEW_BOOT,
    NOT_DUE,
    OK,
    RECORD,
    UNSAVED,
    Device,
    Uplink,
)
from tests.fixtures.uplink.reference_store import HEAD, ReferenceStore

EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["hour"] * 4
            + ["wait"] * 6
            + ["deliver"] * 5
            + ["acknowledge"] * 4
            + ["repeat", "lose", "reboot", "cut before flash", "torn flash", "clock"]
        ),
        st.integers(0, 10_000),
    ),
    max_size=60,
)


class Network:
    """A device, a store, and the records and acknowledgements between them."""

    def __init__(self, uplink: Uplink) -> None:
        self.device = Device(uplink)
        self.store = ReferenceStore()
        self.records: list[bytes] = []
        self.acks: list[bytes] = []
        self.device.start()

    def apply(self, event: str, value: int) -> None:
        """Apply one event."""
        device = self.device
        if event == "hour":
            assert device.hour(value % 400) in (OK, FULL)
        elif event == "wait":
            device.now_s += value
            self.records += [sent] if (sent := device.run()) else []
        elif event == "clock":
            device.now_s = value * 300_000 % 2**32
        elif event in ("reboot", "cut before flash", "torn flash"):
            if event != "reboot":
                status = device.hour(
                    value % 400, save=False, torn=value if event[0] == "t" else None
                )
                assert status == FULL or not device.run(), "only what flash holds may be sent"
            device.start()
        elif self.records and event in ("deliver", "repeat", "lose"):
            at = value % len(self.records)
            record = self.records[at] if event == "repeat" else self.records.pop(at)
            self.acks += [] if event == "lose" else [self.store.put(record)]
        elif self.acks and event == "acknowledge":
            at = value % len(self.acks)
            ack = self.acks[at] if value % 3 == 0 else self.acks.pop(at)
            assert device.acknowledge(ack) == OK

    def settle(self) -> None:
        """Deliver everything until nothing waits."""
        for _ in range(100):
            self.device.now_s = (self.device.now_s + 10_000) % 2**32
            for record in [*self.records, self.device.run()]:
                if record:
                    self.acks.append(self.store.put(record))
            for ack in self.acks:
                assert self.device.acknowledge(ack) == OK
            self.records, self.acks = [], []
            if self.device.uplink("run", self.device.now_s).waiting == 0:
                return
        pytest.fail("a record is never acknowledged")


@settings(max_examples=300, deadline=None)
@given(events=EVENTS)
def test_the_reference_store_ends_with_the_truth(
    uplink: Uplink, events: list[tuple[str, int]]
) -> None:
    """Under loss, repetition and power cuts in any order, promised records are stored once."""
    network = Network(uplink)
    for event, value in events:
        network.apply(event, value)
    network.settle()
    promised = network.device.promised
    row = network.store.rows.get(DEVICE)
    assert (row.sums[0] if row else 0) == sum(steps for _, steps in promised.values())
    if row:
        last = max(promised)
        assert (row.boot, row.sequence) == (last, promised[last][0])


@settings(max_examples=100, deadline=None)
@given(
    before=st.lists(st.integers(0, 400), min_size=2, max_size=6),
    reboots=st.integers(0, 3),
    silent=st.integers(0, 8),
    after=st.integers(0, 400),
)
def test_a_device_that_lost_its_flash_takes_new_boot_ids(
    uplink: Uplink, before: list[int], reboots: int, silent: int, after: int
) -> None:
    """After its flash is lost a device counts under new boot ids, and no count is lost."""
    network = Network(uplink)
    for steps in before:
        network.apply("hour", steps)
        network.settle()
    for _ in range(reboots):
        network.device.start()
        network.apply("hour", 7)
        network.settle()
    stored = network.store.rows[DEVICE].sums[0]
    network.device = Device(uplink, now_s=network.device.now_s)
    network.device.start()
    for _ in range(silent):
        network.apply("hour", 5)
        network.apply("wait", 9_999)  # sent and lost
    network.records.clear()
    statuses = []
    for _ in range(2):  # the second time, if all earlier records were lost
        network.apply("hour", after)
        network.apply("wait", 9_999)
        statuses += [
            network.device.acknowledge(network.store.put(record)) for record in network.records
        ]
        network.records.clear()
    assert NEW_BOOT in statuses
    assert network.device.hour(1) == OK
    network.settle()
    assert network.store.rows[DEVICE].sums[0] == stored + network.device.steps


def test_only_the_first_and_the_newest_of_a_boot_wait(uplink: Uplink) -> None:
    """Hours without the store use two slots per boot; sequences count sent records, from 0."""
    network = Network(uplink)
    for _ in range(20):
        network.apply("hour", 10)
        network.apply("wait", 9_000)
    assert uplink("run", network.device.now_s).waiting == 2
    assert {HEAD.unpack_from(sent)[6] for sent in network.records} == {0}
    network.device.acknowledge(network.store.put(network.records[0]))
    newest = HEAD.unpack_from(network.device.run())
    assert (newest[6], newest[11]) == (1, 200)
    network = Network(uplink)
    for _ in range(3):
        network.apply("hour", 10)
    first = HEAD.unpack_from(network.device.run())
    assert (first[6], first[11]) == (0, 30)


def test_full_slots_refuse_a_new_boot(uplink: Uplink) -> None:
    """With boots in all slots the next one is refused until one is acknowledged."""
    network = Network(uplink)
    for boot in range(5):
        network.device.start()
        assert network.device.hour(10) == (OK if boot < 4 else FULL)
    network.device.now_s += 9_999
    first = network.device.run()
    assert HEAD.unpack_from(first)[5] == 0
    network.device.acknowledge(network.store.put(first))
    assert network.device.hour(10) == OK
    network.settle()
    assert network.store.rows[DEVICE].sums[0] == 4 * 10 + 20


def test_nothing_is_sent_before_it_is_saved(uplink: Uplink) -> None:
    """A run before the save returns an error and sends nothing."""
    device = Device(uplink)
    device.start()
    device.hour(1, save=False)
    for _ in range(2):
        answer = uplink("run", 5_000)
        assert (answer.status, answer.sent) == (UNSAVED, b"")
    assert uplink("saved").status == OK
    assert uplink("run", 5_000).sent


def test_waits_follow_exponential_backoff_with_jitter(uplink: Uplink) -> None:
    """Waits are 0.5 to 1.5 times 30 s, doubling at each try up to 3,600 s."""
    device = Device(uplink)
    device.start()
    device.hour(1)
    waits = []
    for _ in range(60):
        answer = uplink("run", device.now_s)
        assert answer.sent
        waits.append(answer.send_s)
        assert uplink("run", device.now_s + waits[-1] - 1).status == NOT_DUE
        device.now_s += waits[-1]
    for tries, wait_s in enumerate(waits):
        base_s = min(30 * 2**tries, 3600)
        assert base_s // 2 <= wait_s < base_s * 3 // 2
    assert len(set(waits[7:])) > 40


def test_devices_are_spread_over_the_interval(uplink_program: Path) -> None:
    """Consecutive ids that start together make and send records at unrelated times."""
    firsts, seconds, sends = [], [], []
    for device in range(40):
        uplink = Uplink(uplink_program, device)
        uplink("init")
        begun = uplink("begin", 0)
        firsts.append(begun.turn_s)
        sends.append(begun.send_s)
        now_s = 0
        while uplink("record", now_s).status == NOT_DUE:
            now_s += 1
        assert now_s == firsts[-1]
        seconds.append(uplink("saved").turn_s)
        uplink.stop()
    assert 450 < min(firsts) < 480
    assert 870 < max(firsts) <= 900
    assert min(sends) < 60
    assert 840 < max(sends) < 900
    assert 1800 <= min(seconds) < 2000
    assert 5200 < max(seconds) < 5400
    assert len({place // 360 for place in seconds}) >= 9


def test_a_missing_monitor_or_identity_is_refused(uplink: Uplink) -> None:
    """Null pointers, a monitor that does not count and calls before begin are refused by name."""
    uplink("init")
    assert uplink("record", 0).status == CONFIG
    assert uplink("begin", 0, "null").status == RECORD
    assert uplink("begin", 0, "uncounted").status == RECORD
    assert uplink("begin", 0).status == OK
    for what in ("null", "uncounted", "nobody"):
        assert uplink("record", INTERVAL_S, what).status == RECORD


def test_closed_epochs_wait_through_an_outage(uplink: Uplink) -> None:
    """Each epoch that closes without a network keeps one record; full slots give up the oldest."""
    network = Network(uplink)
    for epoch in range(7):
        uplink("epoch", epoch)
        for _ in range(24):
            network.apply("hour", 10)
            network.apply("wait", 600)
    assert uplink("run", network.device.now_s).waiting == 4
    epochs = []
    network.records.clear()
    for _ in range(4):
        network.device.now_s += 9_999
        record = network.device.run()
        epochs.append((HEAD.unpack_from(record)[6], HEAD.unpack_from(record)[8]))
        assert network.device.acknowledge(network.store.put(record)) == OK
    assert [epoch for _, epoch in epochs] == [0, 4, 5, 6]
    assert epochs[0][0] == 0
    assert network.store.rows[DEVICE].sums[0] == 7 * 24 * 10
    uplink("epoch", 0)


def test_closed_epochs_make_room_for_counters(uplink: Uplink) -> None:
    """Behind an earlier boot epochs are thinned; a restart finds room while epochs fill slots."""
    network = Network(uplink)
    network.apply("hour", 10)
    network.device.start()
    for epoch in range(6):
        uplink("epoch", epoch)
        assert network.device.hour(1) == OK
    network.settle()
    assert network.store.rows[DEVICE].sums[0] == 10 + 6
    network = Network(uplink)
    for epoch in range(4):
        uplink("epoch", epoch)
        network.apply("hour", 10)
        network.apply("wait", 9_999)
    for boot in range(1, 4):
        network.device.start()
        assert network.device.hour(boot) == (OK if boot < 3 else FULL)
    network.settle()
    assert network.store.rows[DEVICE].sums[0] == 40 + 1 + 2
    assert network.device.hour(1) == OK
    network.settle()
    assert network.store.rows[DEVICE].sums[0] == 40 + 1 + 2 + 4


def test_a_signed_record_differs_only_in_version_key_and_tag(
    uplink_program: Path, uplink: Uplink
) -> None:
    """Bytes 1 to 92 equal the plain record's; version, key and tag are those of version 4."""
    sent, signing = [], Uplink(uplink_program, DEVICE, slots=3, signs=True)
    for device in (Device(uplink), Device(signing)):
        device.start()
        device.hour(9)
        sent.append(device.run())
    signing.stop()
    plain, signed = sent
    assert (len(plain), len(signed)) == (97, 106)
    assert signed[0] == 4
    assert signed[1:93] == plain[1:93]
    assert signed[93] == 5
    assert signed[94:] == bytes((signed[i] + signed[93 - i]) % 256 for i in range(12))


@pytest.mark.parametrize(
    "numbers", [{"slots": 0}, {"slots": 1}, {"pages": 0}, {"pages": 1}, {"least_steps": 0}], ids=str
)
def test_too_few_slots_pages_or_steps_are_refused(
    uplink_program: Path, numbers: dict[str, Any]
) -> None:
    """Fewer than two slots or pages, or least_steps of 0, by which a clock could wear out flash."""
    uplink = Uplink(uplink_program, **numbers)
    status = uplink("init").status
    uplink.stop()
    assert status == CONFIG
