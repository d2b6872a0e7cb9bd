# SPDX-License-Identifier: Apache-2.0
"""The uplink's flash: the good copy is never overwritten, and only whole snapshots are restored."""

import zlib
from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import run
from tests.fixtures.uplink.device import (
    BUFFER,
    CONFIG,
    DEVICE,
    FOREIGN,
    HEAD_BYTES,
    INCONSISTENT,
    NOT_DUE,
    OK,
    OLDER,
    SNAPSHOT,
    UNSAVED,
    Device,
    Uplink,
    compile_uplink,
)

RECORD_BYTES = 97


@pytest.fixture
def snapshots(uplink: Uplink) -> tuple[bytes, bytes]:
    """Return an older and a newer snapshot, of two boots, with three records waiting."""
    device = Device(uplink)
    device.start()
    device.hour(3)
    device.run()
    device.hour(4)
    device.start()
    device.hour(5)
    return device.flash[0], device.flash[1]


def changed(snapshot: bytes, at: int, value: bytes) -> bytes:
    """Return a snapshot with some bytes replaced and a true checksum."""
    body = snapshot[:at] + value + snapshot[at + len(value) : -4]
    return body + zlib.crc32(body).to_bytes(4, "little")


@pytest.mark.parametrize("pages", [2, 3])
def test_a_power_cut_at_every_write_loses_nothing(pages: int, tmp_path: Path) -> None:
    """Every write of a life is cut, after every 16th byte, in four ways; no promise is broken."""
    writes, cuts = map(
        int, run([compile_uplink(tmp_path, "cuts"), str(pages), "16", "hand"]).split()
    )
    assert writes >= 20
    assert cuts == 4 * writes * 21


def test_a_failed_write_and_a_power_cut_left_neither_copy(uplink: Uplink) -> None:
    """A failed write keeps its turn: the retry goes to the same page, and the other one stays."""
    device = Device(uplink)
    device.start()
    device.hour(3)
    (good,) = (page for page, data in enumerate(device.flash) if data[0] != 0xFF)
    device.hour(4, save=False)
    pages = {device.flash.index(device.flash[1 - good])}
    for _ in range(4):
        answer = uplink("record", device.now_s)
        device.now_s += 4_000
        if answer.status == OK:
            snapshot = uplink.snapshot()
            pages.add(snapshot.page)
            device.flash[snapshot.page] = snapshot.data[:200] + bytes(len(snapshot.data) - 200)
    assert pages == {1 - good}
    device.start()
    assert uplink("run", device.now_s).waiting == 1


def test_only_a_snapshot_that_was_taken_is_saved(uplink: Uplink) -> None:
    """Without a snapshot, or with a record made after it, nothing counts as saved."""
    device = Device(uplink)
    device.start()
    assert uplink("saved").status == UNSAVED
    assert uplink.snapshot().status == NOT_DUE
    device.hour(1, save=False)
    device.hour(1, save=False)
    assert uplink("record", device.now_s).status == NOT_DUE
    assert uplink("saved").status == OK
    assert uplink("saved").status == UNSAVED
    assert uplink.snapshot().status == NOT_DUE
    while uplink("record", device.now_s).status == NOT_DUE:
        device.now_s += 400
    assert uplink("saved").status == UNSAVED, "the record is newer than the last snapshot"
    assert uplink.snapshot("short").status == BUFFER
    assert uplink.snapshot("null").status == BUFFER
    assert uplink.snapshot().status == OK


def test_no_more_snapshots_are_taken_than_an_interval_allows(uplink: Uplink) -> None:
    """A write that always fails is tried twice after a restart, then once per interval."""
    device = Device(uplink)
    device.start()
    device.hour(1, save=False)
    assert [uplink.snapshot().status for _ in range(4)] == [OK, NOT_DUE, NOT_DUE, NOT_DUE]
    answer = uplink("record", device.now_s)
    assert answer.wait_s == answer.turn_s > 0, "no write is allowed before the next interval"
    device.hour(1, save=False)
    assert uplink.snapshot().status == NOT_DUE


@pytest.mark.parametrize("damage", [0, 4, 8, 20, 29, 33, 100, 377, 385])
def test_a_damaged_snapshot_is_refused(
    uplink: Uplink, snapshots: tuple[bytes, bytes], damage: int
) -> None:
    """A damaged copy is refused for the other one, and alone it changes nothing."""
    older, newer = sorted(snapshots, key=lambda copy: copy[8])
    damaged = bytearray(newer)
    damaged[damage] ^= 0x40
    uplink("init")
    answer = uplink("restore", 0, damaged.hex())
    assert answer.status in (SNAPSHOT, FOREIGN)
    assert (answer.boot, answer.sequence, answer.waiting) == (0, 0, 0)
    assert uplink("restore", 1, older.hex()).status == OK
    assert uplink("restore", 0, newer[:-1].hex()).status == SNAPSHOT
    assert uplink("restore", 0, "-").status == SNAPSHOT


def test_the_newest_snapshot_is_restored_in_any_order(
    uplink: Uplink, snapshots: tuple[bytes, bytes]
) -> None:
    """The newer of two is taken whichever is read first; snapshot 0 is newer than 2^32 - 1."""
    copies = dict(enumerate(snapshots))
    newest = max(copies, key=lambda page: copies[page][8])
    for order in ((0, 1), (1, 0)):
        uplink("init")
        statuses = {page: uplink("restore", page, copies[page].hex()).status for page in order}
        assert statuses == {newest: OK, 1 - newest: OK if order[1] == newest else OLDER}
        assert uplink("restore", newest, copies[newest].hex()).status == OLDER
        uplink("begin")
        assert uplink.snapshot().page == 1 - newest
        assert uplink("restore", 0, copies[0].hex()).status == CONFIG, "it runs already"
    uplink("init")
    assert uplink("restore", 2, copies[0].hex()).status == CONFIG, "there are two pages"
    before = changed(snapshots[0], 8, b"\xff\xff\xff\xff")
    after = changed(snapshots[1], 8, b"\0\0\0\0")
    uplink("init")
    assert uplink("restore", 0, before.hex()).status == OK
    assert uplink("restore", 1, after.hex()).status == OK
    uplink("init")
    assert uplink("restore", 1, after.hex()).status == OK
    assert uplink("restore", 0, before.hex()).status == OLDER


FIRST = HEAD_BYTES
SECOND, THIRD = FIRST + RECORD_BYTES, FIRST + 2 * RECORD_BYTES
# What the newer snapshot holds: boot 1, sequence 1; records (0, 0), (0, 1) and (1, 0).
INCONSISTENCIES = {
    "more records than slots": (33, b"\x05"),
    "255 records": (33, b"\xff"),
    "fewer records than it holds": (33, b"\x02"),
    "a record that is not there": (33, b"\x04"),
    "a record of version 4": (FIRST, b"\x04"),
    "a record of another device": (FIRST + 2, b"\x89"),
    "a record of a device that differs in the high half": (THIRD + 9, b"\x12"),
    "a record twice": (SECOND + 22, b"\0"),
    "records out of order": (FIRST + 22, b"\x02"),
    "a boot before the one before it": (FIRST + 18, b"\x01"),
    "a record of a later boot": (THIRD + 18, b"\x02"),
    "a sequence not used yet": (THIRD + 22, b"\x01"),
    "a boot below that of its records": (20, b"\0"),
    "no sequence used": (24, b"\0"),
    "bytes behind the records": (FIRST + 3 * RECORD_BYTES, b"\x01"),
    "bytes at the end": (FIRST + 4 * RECORD_BYTES - 1, b"\x01"),
}


@pytest.mark.parametrize("what", INCONSISTENCIES)
def test_an_inconsistent_snapshot_with_a_true_checksum_is_refused(
    uplink: Uplink, snapshots: tuple[bytes, bytes], what: str
) -> None:
    """What no uplink writes is refused by its own name and changes nothing."""
    newer = max(snapshots, key=lambda copy: copy[8])
    assert (newer[20], newer[24], newer[33]) == (1, 1, 3)
    uplink("init")
    answer = uplink("restore", 0, changed(newer, *INCONSISTENCIES[what]).hex())
    assert (answer.status, answer.boot, answer.waiting) == (INCONSISTENT, 0, 0)
    assert uplink("restore", 0, changed(newer, 0, b"").hex()).status == OK


def test_a_foreign_snapshot_is_refused(
    uplink_program: Path, uplink: Uplink, snapshots: tuple[bytes, bytes]
) -> None:
    """A snapshot of another device, number or size of slots is refused."""
    for at, value in ((12, b"\x89"), (19, b"\x12"), (32, b"\x60")):
        uplink("init")
        assert uplink("restore", 0, changed(snapshots[0], at, value).hex()).status == FOREIGN
    others = (
        Uplink(uplink_program, DEVICE, slots=5), Uplink(uplink_program, DEVICE, slots=3),
        Uplink(uplink_program, DEVICE, signs=True),
    )  # fmt: skip
    for other in others:
        device = Device(other)
        device.start()
        device.hour(1)
        other.stop()
        uplink("init")
        assert uplink("restore", 0, device.flash[1].hex()).status in (FOREIGN, SNAPSHOT)


def test_signed_records_come_back_from_flash(uplink_program: Path) -> None:
    """A restart keeps waiting records of version 4, and refuses one of version 3 among them."""
    uplink = Uplink(uplink_program, DEVICE, signs=True)
    device = Device(uplink)
    device.start()
    device.hour(1)
    (snapshot,) = (data for data in device.flash if data[0] != 0xFF)
    device.start()
    assert uplink("run", device.now_s).waiting == 1
    uplink("init")
    assert uplink("restore", 0, changed(snapshot, FIRST, b"\x03").hex()).status == INCONSISTENT
    uplink.stop()
