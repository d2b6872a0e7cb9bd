# SPDX-License-Identifier: Apache-2.0
"""The uplink over lossy, duplicating and reordering networks, power cuts and lost flash."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.fleet.reference_store import ACK, HEAD, ReferenceStore
from tests.fixtures.fleet.uplink_device import (
    BUFFER,
    FOREIGN,
    FULL,
    IDLE,
    NEW_BOOT,
    OK,
    SNAPSHOT,
    UNSAVED,
    Device,
    Uplink,
    compile_device,
)

DEVICE = 0x1122334455667788
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


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the uplink with sanitizers."""
    return compile_device(tmp_path_factory.mktemp("uplink"))


@pytest.fixture(scope="module")
def uplink(program: Path) -> Iterator[Uplink]:
    """Start a process for all tests that begin with init."""
    process = Uplink(program, DEVICE)
    yield process
    process.stop()


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
                device.hour(value % 400, save=False, torn=value if event[0] == "t" else None)
                assert not device.run(), "only what flash holds may be sent"
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
            if self.device.uplink("run", self.device.now_s).wait_s == IDLE:
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
    """Hours without the store use two slots per boot and cause no extra sendings."""
    network = Network(uplink)
    for _ in range(20):
        network.apply("hour", 10)
        network.apply("wait", 9_000)
    assert uplink("run", network.device.now_s).waiting == 2
    assert {HEAD.unpack_from(sent)[6] for sent in network.records} == {0}
    network.device.acknowledge(network.store.put(network.records[0]))
    newest = HEAD.unpack_from(network.device.run())
    assert (newest[6], newest[11]) == (1, 200)


def test_a_record_that_was_never_sent_passes_on_its_sequence(uplink: Uplink) -> None:
    """Sequences count sent records, so the first one sent is 0."""
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
    uplink("saved")
    assert uplink("run", 5_000).sent


def test_waits_follow_exponential_backoff_with_jitter(uplink: Uplink) -> None:
    """Waits are 0.5 to 1.5 times 30 s, doubling at each try up to 3,600 s."""
    device = Device(uplink)
    device.start()
    device.hour(1)
    waits = []
    for _ in range(60):
        waits.append(uplink("run", device.now_s).wait_s)
        device.now_s += waits[-1]
    for tries, wait_s in enumerate(waits):
        base_s = min(30 * 2**tries, 3600)
        assert base_s // 2 <= wait_s < base_s * 3 // 2
    assert len(set(waits[7:])) > 40


def test_devices_are_spread_over_the_interval(program: Path) -> None:
    """Consecutive ids send at unrelated times, which a restart does not change."""
    send_times = []
    for device in range(40):
        uplink = Uplink(program, device)
        uplink("init")
        send_times.append(uplink("begin", 3600 * device).send_time_s)
        assert uplink("begin", 3600 * device + 1).send_time_s == (send_times[-1] - 1) % 3600
        uplink.stop()
    assert min(send_times) < 300
    assert max(send_times) > 3300
    assert len({send_time // 360 for send_time in send_times}) >= 9


def test_a_clock_that_jumps_back_does_not_block_sending(uplink: Uplink) -> None:
    """After the clock is set back the next run sends."""
    device = Device(uplink, now_s=10**9)
    device.start()
    device.hour(1)
    assert device.run()
    for jumped in (10**9 - 86_400, 5):
        assert uplink("run", jumped).sent


@pytest.mark.parametrize("damage", [0, 4, 8, 20, 29, 100, 377, 381])
def test_a_damaged_snapshot_is_refused(uplink: Uplink, damage: int) -> None:
    """A damaged copy is refused for the other one; two damaged copies change nothing."""
    device = Device(uplink)
    device.start()
    device.hour(3)
    device.hour(4)
    older, newer = sorted(device.flash, key=lambda copy: copy[8])
    damaged = bytearray(newer)
    damaged[damage] ^= 0x40
    uplink("init")
    answer = uplink("restore", 0, damaged.hex(), damaged.hex())
    assert answer.status in (SNAPSHOT, FOREIGN)
    assert (answer.boot, answer.sequence, answer.waiting) == (0, 0, 0)
    assert uplink("restore", 0, damaged.hex(), older.hex()).status == OK
    assert uplink("restore", 0, older.hex(), damaged.hex()).status == OK
    for copies in ((older, newer), (newer, older)):
        uplink("init")
        assert uplink("restore", 0, *(copy.hex() for copy in copies)).status == OK
        assert uplink.snapshot()[0] == newer[8] + 1


def test_a_foreign_snapshot_is_refused(program: Path, uplink: Uplink) -> None:
    """A snapshot of another device or of another number of slots is refused."""
    for other in (Uplink(program, DEVICE + 1), Uplink(program, DEVICE, slots=5)):
        other("init")
        other("begin")
        other("record")
        _, foreign = other.snapshot()
        other.stop()
        uplink("init")
        assert uplink("restore", 0, foreign.hex(), "-").status in (FOREIGN, SNAPSHOT)


def test_foreign_and_malformed_acknowledgements_are_refused(uplink: Uplink) -> None:
    """They change nothing, and neither does one that leaves no next boot id."""
    device = Device(uplink)
    device.start()
    device.hour(1)
    device.run()
    good = ACK.pack(DEVICE, 0, 0)
    assert uplink("ack", 0, good[:15].hex()).status == BUFFER
    assert uplink("ack", 0, (good + b"\0").hex()).status == BUFFER
    assert uplink("ack", 0, ACK.pack(DEVICE ^ 1, 0, 0).hex()).status == FOREIGN
    assert uplink("ack", 0, ACK.pack(DEVICE ^ 1 << 63, 0, 0).hex()).status == FOREIGN
    assert uplink("ack", 0, ACK.pack(DEVICE, 2**32 - 1, 0).hex()).status == -8
    assert uplink("run", 0).waiting == 1
    assert uplink("ack", 0, good.hex()).waiting == 0


def test_a_signed_record_differs_only_in_version_key_and_tag(program: Path, uplink: Uplink) -> None:
    """Bytes 1 to 82 equal the plain record's; version, key and tag are those of version 2."""
    sent, signing = [], Uplink(program, DEVICE, slots=3, signs=True)
    for device in (Device(uplink), Device(signing)):
        device.start()
        device.hour(9)
        sent.append(device.run())
    signing.stop()
    plain, signed = sent
    assert (len(plain), len(signed)) == (87, 96)
    assert signed[0] == 2
    assert signed[1:83] == plain[1:83]
    assert signed[83] == 5
    assert signed[84:] == bytes((signed[i] + signed[83 - i]) % 256 for i in range(12))


@pytest.mark.parametrize("slots", [0, 1])
def test_too_few_slots_are_refused(program: Path, slots: int) -> None:
    """Fewer than two slots are refused."""
    uplink = Uplink(program, slots=slots)
    assert uplink("init").status == -1
    uplink.stop()
