# SPDX-License-Identifier: Apache-2.0
"""The uplink on networks that lose, repeat and reorder, through power cuts and lost flash."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from exact_store import ACK, HEAD, ExactStore
from hypothesis import given, settings
from hypothesis import strategies as st
from uplink_device import (
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
    compiled,
)

DEVICE = 0x1122334455667788
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["hour"] * 4
            + ["wait"] * 6
            + ["deliver"] * 5
            + ["hear"] * 4
            + ["repeat", "lose", "reboot", "cut before flash", "torn flash", "clock"]
        ),
        st.integers(0, 10_000),
    ),
    max_size=60,
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The uplink, compiled with sanitizers."""
    return compiled(tmp_path_factory.mktemp("uplink"))


@pytest.fixture(scope="module")
def uplink(program: Path) -> Iterator[Uplink]:
    """A process for all tests that start with init."""
    made = Uplink(program, DEVICE)
    yield made
    made.stop()


class World:
    """A device, a store, and what is on the way between them."""

    def __init__(self, uplink: Uplink) -> None:
        self.device = Device(uplink)
        self.store = ExactStore()
        self.air: list[bytes] = []
        self.back: list[bytes] = []
        self.device.start()

    def happens(self, event: str, value: int) -> None:
        """One thing, at most."""
        device = self.device
        if event == "hour":
            assert device.hour(value % 400) in (OK, FULL)
        elif event == "wait":
            device.now_s += value
            self.air += [sent] if (sent := device.run()) else []
        elif event == "clock":
            device.now_s = value * 300_000 % 2**32
        elif event in ("reboot", "cut before flash", "torn flash"):
            if event != "reboot":
                device.hour(value % 400, save=False, torn=value if event[0] == "t" else None)
                assert not device.run(), "nothing is sent that flash does not hold"
            device.start()
        elif self.air and event in ("deliver", "repeat", "lose"):
            at = value % len(self.air)
            record = self.air[at] if event == "repeat" else self.air.pop(at)
            self.back += [] if event == "lose" else [self.store.put(record)]
        elif self.back and event == "hear":
            at = value % len(self.back)
            ack = self.back[at] if value % 3 == 0 else self.back.pop(at)
            assert device.hear(ack) == OK

    def calms_down(self) -> None:
        """The network works again, until nothing waits."""
        for _ in range(100):
            self.device.now_s = (self.device.now_s + 10_000) % 2**32
            for record in [*self.air, self.device.run()]:
                if record:
                    self.back.append(self.store.put(record))
            for ack in self.back:
                assert self.device.hear(ack) == OK
            self.air, self.back = [], []
            if self.device.uplink("run", self.device.now_s).wait_s == IDLE:
                return
        pytest.fail("a record waits for ever")


@settings(max_examples=300, deadline=None)
@given(events=EVENTS)
def test_a_store_by_the_rules_ends_with_the_truth(
    uplink: Uplink, events: list[tuple[str, int]]
) -> None:
    """Losses, repetitions, power cuts in any order: what was promised is stored, once."""
    world = World(uplink)
    for event, value in events:
        world.happens(event, value)
    world.calms_down()
    promised = world.device.promised
    row = world.store.rows.get(DEVICE)
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
def test_a_device_that_lost_its_flash_is_not_mixed_with_itself(
    uplink: Uplink, before: list[int], reboots: int, silent: int, after: int
) -> None:
    """Its new life counts under boots of its own, though it was offline and sent in vain before."""
    world = World(uplink)
    for steps in before:
        world.happens("hour", steps)
        world.calms_down()
    for _ in range(reboots):
        world.device.start()
        world.happens("hour", 7)
        world.calms_down()
    kept = world.store.rows[DEVICE].sums[0]
    world.device = Device(uplink, now_s=world.device.now_s)
    world.device.start()
    for _ in range(silent):
        world.happens("hour", 5)
        world.happens("wait", 9_999)  # sent, and lost
    world.air.clear()
    said = []
    for _ in range(2):  # the second time, if all before was sent in vain
        world.happens("hour", after)
        world.happens("wait", 9_999)
        said += [world.device.hear(world.store.put(record)) for record in world.air]
        world.air.clear()
    assert NEW_BOOT in said
    assert world.device.hour(1) == OK
    world.calms_down()
    assert world.store.rows[DEVICE].sums[0] == kept + world.device.steps


def test_only_the_first_and_the_newest_of_a_boot_wait(uplink: Uplink) -> None:
    """An hour without the store costs no slot, and not one sending more."""
    world = World(uplink)
    for _ in range(20):
        world.happens("hour", 10)
        world.happens("wait", 9_000)
    assert uplink("run", world.device.now_s).waiting == 2
    assert {HEAD.unpack_from(sent)[6] for sent in world.air} == {0}
    world.device.hear(world.store.put(world.air[0]))
    newest = HEAD.unpack_from(world.device.run())
    assert (newest[6], newest[10]) == (1, 200)


def test_a_record_that_was_never_sent_gives_its_number_away(uplink: Uplink) -> None:
    """Sequences count what was sent, so the first one sent is 0."""
    world = World(uplink)
    for _ in range(3):
        world.happens("hour", 10)
    first = HEAD.unpack_from(world.device.run())
    assert (first[6], first[10]) == (0, 30)


def test_a_full_row_refuses_and_keeps_its_order(uplink: Uplink) -> None:
    """Four boots wait in four slots: a fifth is told so, and is taken when one is acknowledged."""
    world = World(uplink)
    for boot in range(5):
        world.device.start()
        assert world.device.hour(10) == (OK if boot < 4 else FULL)
    world.device.now_s += 9_999
    first = world.device.run()
    assert HEAD.unpack_from(first)[5] == 0
    world.device.hear(world.store.put(first))
    assert world.device.hour(10) == OK
    world.calms_down()
    assert world.store.rows[DEVICE].sums[0] == 4 * 10 + 20


def test_nothing_is_sent_before_it_is_saved(uplink: Uplink) -> None:
    """The caller that forgets is told, and told again."""
    device = Device(uplink)
    device.start()
    device.hour(1, save=False)
    for _ in range(2):
        said = uplink("run", 5_000)
        assert (said.status, said.sent) == (UNSAVED, b"")
    uplink("saved")
    assert uplink("run", 5_000).sent


def test_waits_double_are_jittered_and_end_at_the_longest(uplink: Uplink) -> None:
    """Waits lie between 0.5 and 1.5 times 30 s, which doubles at each try, up to 3,600 s."""
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
    """Neighbours in the numbering have moments far apart, and restarts do not move them."""
    moments = []
    for device in range(40):
        uplink = Uplink(program, device)
        uplink("init")
        moments.append(uplink("begin", 3600 * device).moment_s)
        assert uplink("begin", 3600 * device + 1).moment_s == (moments[-1] - 1) % 3600
        uplink.stop()
    assert min(moments) < 300
    assert max(moments) > 3300
    assert len({moment // 360 for moment in moments}) >= 9


def test_a_clock_that_jumps_delays_nothing_for_ever(uplink: Uplink) -> None:
    """Set back by a day or a century, the next run sends."""
    device = Device(uplink, now_s=10**9)
    device.start()
    device.hour(1)
    assert device.run()
    for jumped in (10**9 - 86_400, 5):
        assert uplink("run", jumped).sent


@pytest.mark.parametrize("damage", [0, 4, 8, 20, 29, 100, 377, 381])
def test_a_damaged_snapshot_is_refused(uplink: Uplink, damage: int) -> None:
    """Any flipped byte: the other copy is taken; both damaged, nothing is changed."""
    device = Device(uplink)
    device.start()
    device.hour(3)
    device.hour(4)
    older, newer = sorted(device.flash, key=lambda copy: copy[8])
    spoilt = bytearray(newer)
    spoilt[damage] ^= 0x40
    uplink("init")
    said = uplink("restore", 0, spoilt.hex(), spoilt.hex())
    assert said.status in (SNAPSHOT, FOREIGN)
    assert (said.boot, said.sequence, said.waiting) == (0, 0, 0)
    assert uplink("restore", 0, spoilt.hex(), older.hex()).status == OK
    assert uplink("restore", 0, older.hex(), spoilt.hex()).status == OK
    for copies in ((older, newer), (newer, older)):
        uplink("init")
        assert uplink("restore", 0, *(copy.hex() for copy in copies)).status == OK
        assert uplink.snapshot()[0] == newer[8] + 1


def test_a_foreign_snapshot_is_refused(program: Path, uplink: Uplink) -> None:
    """Of another device, of another number of slots."""
    for other in (Uplink(program, DEVICE + 1), Uplink(program, DEVICE, slots=5)):
        other("init")
        other("begin")
        other("record")
        _, theirs = other.snapshot()
        other.stop()
        uplink("init")
        assert uplink("restore", 0, theirs.hex(), "-").status in (FOREIGN, SNAPSHOT)


def test_acknowledgements_of_others_and_of_wrong_size_are_refused(uplink: Uplink) -> None:
    """They change nothing; neither does one that leaves no boot id."""
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


def test_a_signed_record_is_the_plain_one_with_another_end(program: Path, uplink: Uplink) -> None:
    """Bytes 1 to 82 are the same; version, key and tag are those of version 2."""
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
    """The first record and the newest one of a boot need two."""
    uplink = Uplink(program, slots=slots)
    assert uplink("init").status == -1
    uplink.stop()
