# SPDX-License-Identifier: Apache-2.0
"""Acknowledgements from an untrusted network: forged ones cost a signing device nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.uplink.device import (
    BUFFER,
    DEVICE,
    EXHAUSTED,
    FOREIGN,
    FORGED,
    INTERVAL_S,
    KEY_ID,
    NEW_BOOT,
    NOT_DUE,
    OK,
    Device,
    Uplink,
    signed_ack,
)
from tests.fixtures.uplink.reference_store import ACK, HEAD, ReferenceStore

FAR = 0xFFFFFFFE
MAX_STEP = 4096


@pytest.fixture(scope="module")
def signing(uplink_program: Path) -> Iterator[Uplink]:
    """Start a device that signs its records."""
    process = Uplink(uplink_program, DEVICE, signs=True)
    yield process
    process.stop()


def sent_once(uplink: Uplink) -> Device:
    """Return a device that has sent its first record."""
    device = Device(uplink)
    device.start()
    device.hour(1)
    assert device.run()
    return device


def test_one_forged_acknowledgement_exhausted_all_boot_ids(uplink: Uplink) -> None:
    """Without keys a forged boot moves the device on by 4,096 at most, and every begin works."""
    device = sent_once(uplink)
    forged = ACK.pack(DEVICE, FAR, 0).hex()
    answer = uplink("ack", device.now_s, forged)
    assert (answer.status, answer.boot) == (NEW_BOOT, MAX_STEP)
    for _ in range(100):
        answer = uplink("ack", device.now_s, forged)
        assert (answer.status, answer.boot) == (NOT_DUE, MAX_STEP)
    assert device.hour(1) == OK
    assert uplink("begin", device.now_s).status == OK
    device.start()
    assert uplink("begin", device.now_s).boot == MAX_STEP + 1


def test_forgery_moves_a_device_on_once_per_interval(uplink: Uplink) -> None:
    """A forged acknowledgement every second for a day uses up 25 steps of 4,096 boots."""
    device = sent_once(uplink)
    forged = ACK.pack(DEVICE, FAR, 0).hex()
    steps = 0
    for minute in range(24 * 60):
        now_s = device.now_s + 60 * minute
        uplink("record", now_s)
        steps += uplink("ack", now_s, forged).status == NEW_BOOT
    assert steps <= 25
    assert uplink("run", device.now_s).boot <= 25 * (MAX_STEP + 1)


@pytest.mark.parametrize(
    "forged",
    [
        signed_ack(DEVICE, FAR, 0)[:28] + b"\0",
        signed_ack(DEVICE, FAR, 0)[:17] + bytes(12),
        signed_ack(DEVICE, FAR, 0, key=KEY_ID + 1),
        signed_ack(DEVICE, 1, 0)[:17] + signed_ack(DEVICE, 0, 0)[17:],
        signed_ack(DEVICE, 0, 0)[:12] + b"\x01" + signed_ack(DEVICE, 0, 0)[13:],
    ],
    ids=["last byte", "no tag", "another key", "another boot's tag", "another sequence"],
)
def test_a_device_that_signs_ignores_an_acknowledgement_without_its_tag(
    signing: Uplink, forged: bytes
) -> None:
    """Nothing changes, and the authentic acknowledgement is accepted afterwards."""
    device = sent_once(signing)
    answer = signing("ack", device.now_s, forged.hex())
    assert (answer.status, answer.boot, answer.waiting) == (FORGED, 0, 1)
    assert signing("ack", device.now_s, signed_ack(DEVICE, 0, 0).hex()).waiting == 0


def test_a_device_that_signs_ignores_plain_acknowledgements(signing: Uplink) -> None:
    """16 bytes without a tag are refused by their size, and so are 28 and 30."""
    device = sent_once(signing)
    for ack in (ACK.pack(DEVICE, FAR, 0), signed_ack(DEVICE, 0, 0)[:28], bytes(30)):
        answer = signing("ack", device.now_s, ack.hex())
        assert (answer.status, answer.boot, answer.waiting) == (BUFFER, 0, 1)


def test_an_authentic_acknowledgement_is_believed_however_far(signing: Uplink) -> None:
    """A signing device that lost its flash takes the store's boot plus one at once."""
    device = sent_once(signing)
    assert device.acknowledge(signed_ack(DEVICE, 1_000_000, 9)) == NEW_BOOT
    assert signing("ack", device.now_s, signed_ack(DEVICE, 1_000_000, 9).hex()).status == OK
    assert device.hour(1) == OK
    sent = HEAD.unpack_from(device.run())
    assert (sent[5], sent[6], sent[11]) == (1_000_001, 0, 2)


def test_a_device_that_lost_its_flash_finds_a_far_boot_step_by_step(uplink: Uplink) -> None:
    """Without keys, boot 10,000 is reached in three intervals, and no count is lost."""
    store = ReferenceStore()
    device = Device(uplink)
    device.start()
    uplink("boot", 10_000)
    device.hour(5)
    device.acknowledge(store.put(device.run()))
    assert store.rows[DEVICE].boot == 10_000
    device = Device(uplink)
    device.start()
    statuses = []
    for _ in range(9):
        device.hour(1)
        device.now_s += INTERVAL_S
        if sent := device.run():
            statuses.append(device.acknowledge(store.put(sent)))
    assert statuses.count(NEW_BOOT) == 3
    assert store.rows[DEVICE].boot == 10_001
    assert store.rows[DEVICE].sums[0] == 5 + 9


def test_foreign_and_malformed_acknowledgements_are_refused(uplink: Uplink) -> None:
    """They change nothing."""
    device = sent_once(uplink)
    good = ACK.pack(DEVICE, 0, 0)
    for ack, status in (
        (good[:15], BUFFER), (good + b"\0", BUFFER), (signed_ack(DEVICE, 0, 0), BUFFER),
        (ACK.pack(DEVICE ^ 1, 0, 0), FOREIGN), (ACK.pack(DEVICE ^ 1 << 63, 0, 0), FOREIGN),
    ):  # fmt: skip
        assert uplink("ack", device.now_s, ack.hex()).status == status
    assert uplink("ack", device.now_s, "-").status == BUFFER
    assert uplink("run", device.now_s).waiting == 1
    assert uplink("ack", device.now_s, good.hex()).waiting == 0


def test_the_last_boot_ids_and_sequences_are_not_passed(uplink: Uplink, signing: Uplink) -> None:
    """Beyond the last boot id or sequence nothing changes, as the next would be 0 again."""
    for process, ack in (
        (uplink, ACK.pack(DEVICE, 2**32 - 1, 0)), (signing, signed_ack(DEVICE, 2**32 - 1, 0)),
    ):  # fmt: skip
        device = Device(process)
        device.start()
        process("boot", 2**32 - 2)
        device.hour(1)
        assert process("ack", device.now_s, ack.hex()).status == EXHAUSTED
        assert process("begin", device.now_s).boot == 2**32 - 1
        device.hour(1)
        assert process("begin", device.now_s).status == EXHAUSTED
    device = Device(uplink)
    device.start()
    uplink("sequence", 2**32 - 1)
    assert device.hour(1) == EXHAUSTED
