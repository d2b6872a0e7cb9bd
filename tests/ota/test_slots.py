# SPDX-License-Identifier: Apache-2.0
"""Two slots: a new profile is tried, confirmed or given up, and a power cut leaves old or new."""

import zlib
from collections.abc import Callable
from dataclasses import replace

import pytest

import tcuq
from tests.fixtures.firmware.blob_damage import signed
from tests.fixtures.firmware.blob_device import (
    BUILT_IN,
    BUSY,
    COUNTED,
    CUT,
    EXPIRED,
    EXTERNAL,
    FLASH,
    FORGED,
    FORMAT,
    OK,
    OLD,
    PAGE_BYTES,
    SEALED,
    SELFTEST,
    TRIAL,
    UNITS,
    BlobDevice,
)
from tests.ota.conftest import KEY, blob_of


@pytest.fixture
def blobs(profile: tcuq.Profile, newer: tcuq.Profile) -> tuple[bytes, bytes]:
    """Two blobs with different profiles, numbers 5 and 6."""
    third = replace(newer, threshold=replace(newer.threshold, start=1))
    assert len({profile.sha256, newer.sha256, third.sha256}) == 3
    return blob_of(newer, 5), blob_of(third, 6)


def name_of(blob: bytes) -> int:
    """The profile identifier of a blob."""
    return int.from_bytes(blob[16:20], "little")


def damage(device: BlobDevice, place: int) -> None:
    """Change one bit of a device's flash."""
    flash = bytearray(device.flash)
    flash[place] ^= 1
    device.flash = bytes(flash)


def test_a_confirmed_profile_stays(device: BlobDevice, blobs: tuple[bytes, bytes]) -> None:
    """Both slots are used in turn, and ten restarts change nothing."""
    for blob, slot in zip(blobs, (0, 1), strict=True):
        assert device.install(blob) == OK
        assert device.state.profile == name_of(blob)
        assert device.confirm() == OK
        for _ in range(10):
            assert device.start() == OK
            assert (device.state.active, device.state.profile) == (slot, name_of(blob))


def test_a_profile_that_nobody_confirms_is_given_up(
    device: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """It runs for three restarts; the fourth brings the old one back, and its number is used."""
    device.install(blobs[0])
    device.confirm()
    assert device.install(blobs[1]) == OK
    for _ in range(3):
        assert device.start() == OK
        assert device.state.profile == name_of(blobs[1])
        assert device.install(blobs[1]) == TRIAL
    assert device.start() == TRIAL
    assert device.state.profile == name_of(blobs[0])
    assert device.state.left == 0
    assert device.start() == OK
    assert device.install(blobs[1]) == OLD
    assert device.state.profile == name_of(blobs[0])


def test_the_first_blob_falls_back_to_the_built_in_profile(
    device: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """Without a blob before it, the profile that the firmware was built with comes back."""
    assert device.install(blobs[0]) == OK
    for _ in range(3):
        assert device.start() == OK
    assert device.start() == TRIAL
    assert device.state.active == BUILT_IN
    assert device.state.profile == device.state.built_in


def test_a_damaged_slot_falls_back(device: BlobDevice, blobs: tuple[bytes, bytes]) -> None:
    """Flash that rots under the active profile brings the one before it back, then the built-in."""
    for blob in blobs:
        device.install(blob)
        device.confirm()
    damage(device, 16384 + 500)
    assert device.start() == FORGED
    assert (device.state.running, device.state.profile) == (0, name_of(blobs[0]))
    damage(device, 500)
    assert device.start() == FORGED
    assert device.state.profile == device.state.built_in
    assert device.start() == OK
    assert device.state.highest == 6


def test_a_slot_whose_profile_runs_is_never_free(
    device: BlobDevice, blobs: tuple[bytes, bytes], newer: tcuq.Profile
) -> None:
    """Also where the switch names the other slot: a fall-back ran, and its write failed."""
    for blob in blobs:
        device.install(blob)
        device.confirm()
    damage(device, 16384 + 500)
    device.power(fails=True)
    assert device.start() == FORGED
    assert (device.state.active, device.state.running) == (1, 0)
    device.power()
    assert device.install(blob_of(newer, 7)) == TRIAL
    assert device.flash[: len(blobs[0])] == blobs[0]
    assert device.state.profile == name_of(blobs[0])


def test_another_blob_in_a_slot_is_not_run(device: BlobDevice, blobs: tuple[bytes, bytes]) -> None:
    """A blob that was written but never activated does not run, whatever its number."""
    device.install(blobs[0])
    device.confirm()
    flash = bytearray(device.flash)
    flash[: len(blobs[1])] = blobs[1]
    device.flash = bytes(flash)
    assert device.start() == OLD
    assert device.state.profile == device.state.built_in


def test_a_failed_self_test_keeps_the_old_profile(
    device: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """The self-test runs before the switch is written."""
    device.install(blobs[0])
    device.confirm()
    writes, before = device.writes, device.state
    body = bytearray(blobs[1][:-12])
    body[112] ^= 1
    assert device.install(signed(bytes(body), KEY)) == SELFTEST
    assert (device.writes, device.state) == (writes, before)
    assert device.install(blobs[1]) == OK  # its number was not used


def test_flash_that_fails_keeps_the_old_profile(
    device: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """A switch that cannot be written is not made; on trial, a count that cannot is a fall-back."""
    device.install(blobs[0])
    device.confirm()
    device.power(fails=True)
    assert device.install(blobs[1]) == FLASH
    assert device.state.profile == name_of(blobs[0])
    device.power()
    assert device.install(blobs[1]) == OK
    device.power(fails=True)
    assert device.confirm() == FLASH
    assert device.start() == FLASH
    assert device.state.profile == name_of(blobs[0])
    device.power()
    assert device.start() == OK
    assert device.state.profile == name_of(blobs[1])


Step = Callable[[BlobDevice], int]
STEPS: dict[str, tuple[int, Step]] = {
    "activate": (0, BlobDevice.activate),
    "count a restart": (1, BlobDevice.start),
    "confirm": (1, BlobDevice.confirm),
    "fall back": (4, BlobDevice.start),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_power_cut_at_every_write(
    step: str, device: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """Cut before, within and after every write of the switch: old or new runs, and all goes on."""
    old, new = map(name_of, blobs)
    restarts, action = STEPS[step]
    device.install(blobs[0])
    device.confirm()
    device.library.device_write(blobs[1], len(blobs[1]))
    if restarts:
        assert device.activate() == OK
        for _ in range(restarts - 1):
            assert device.start() == OK
    flash, profiles = device.flash, []
    for units in range(UNITS + 2):
        device.flash = flash
        device.power()
        if step != "fall back":
            device.start()  # a restart before the cut, so that RAM fits the flash
        device.power(units)
        ended = action(device)
        assert (ended == CUT) == (units < UNITS)
        device.power()
        assert device.start() in (OK, TRIAL)
        profiles.append(device.state.profile)
        assert device.state.highest in (5, 6)
    assert set(profiles) <= {old, new}
    assert profiles[-1] == (old if step == "fall back" else new)


def test_no_answer_gives_up_no_profile(device: BlobDevice, blobs: tuple[bytes, bytes]) -> None:
    """A busy verifier costs neither the active profile nor one of its restarts on trial."""
    device.install(blobs[0])
    for _ in range(2):  # on trial, then confirmed
        flash = device.flash
        device.fails(no_answer=True)
        for _ in range(10):
            assert device.start() == BUSY
            assert (device.state.running, device.state.profile) == (BUILT_IN, device.state.built_in)
            assert device.confirm() == TRIAL
        assert device.flash == flash
        device.fails()
        assert device.start() == OK
        assert device.state.profile == name_of(blobs[0])
        device.confirm()
    device.fails(no_answer=True)
    before = device.state
    assert device.install(blobs[1]) == BUSY
    assert device.state == before


def test_a_blob_expires_for_activation_alone(device: BlobDevice, newer: tcuq.Profile) -> None:
    """It is activated before its day, not after it or at an unknown time; an active one stays."""
    blob = blob_of(newer, 5, expires=1_800_000_000)
    for seconds in (0, 1_800_000_000, 0xFFFFFFFF):
        device.set_clock(seconds)
        assert device.install(blob) == EXPIRED
    device.set_clock(1_799_999_999)
    assert device.install(blob) == OK
    device.set_clock(1_900_000_000)
    assert device.start() == OK


def test_external_flash_is_verified_in_ram(built: BlobDevice, blobs: tuple[bytes, bytes]) -> None:
    """What was verified is what runs, even if the flash chip then gives other bytes."""
    built.new(EXTERNAL)
    assert built.start() == OK
    built.fails(other_bytes=True)
    assert built.install(blobs[0]) == OK
    assert built.state.profile == name_of(blobs[0])
    assert built.record()  # the profile's tables are those of RAM
    assert built.start() == FORMAT  # the other bytes are refused when they are read


def test_old_flash_brings_no_old_profile_back(
    built: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """With a counter in the chip, neither an old copy of flash nor lost pages allow a downgrade."""
    built.new(COUNTED)
    built.start()
    built.install(blobs[0])
    built.confirm()
    old = built.flash
    built.install(blobs[1])
    built.power(fails=True)
    assert built.confirm() == FLASH
    built.power()
    assert built.confirm() == OK
    built.flash = old
    assert built.start() == OLD
    assert built.state.profile == built.state.built_in
    built.flash = bytes([0xFF]) * len(old)
    assert built.start() == OK
    assert built.install(blobs[0]) == OLD
    assert built.install(blobs[1]) == OK  # the number of the counter itself


def test_a_counter_that_was_not_raised_is_raised_by_the_next_confirmation(
    built: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """The switch is confirmed first, so that a power cut in between loses no profile."""
    built.new(COUNTED)
    built.start()
    built.install(blobs[0])
    built.fails(no_answer=True)
    assert built.confirm() == BUSY
    built.fails()
    writes = built.writes
    assert (built.start(), built.confirm(), built.writes) == (OK, OK, writes)


def test_a_switch_without_its_tag_is_not_believed(
    built: BlobDevice, blobs: tuple[bytes, bytes]
) -> None:
    """With a key for the switch, one that has a checksum alone brings the built-in profile."""
    built.new()
    built.start()
    built.install(blobs[0])
    plain = built.flash
    built.new(SEALED)
    built.start()
    assert built.install(blobs[0]) == OK
    assert built.start() == OK
    assert built.state.profile == name_of(blobs[0])
    built.flash = plain
    assert built.start() == OK
    assert built.state.profile == built.state.built_in


def test_numbers_of_the_switch_may_wrap(device: BlobDevice, blobs: tuple[bytes, bytes]) -> None:
    """The newer of two pages counts, also when the number of writes went on from 0."""
    device.install(blobs[0])
    device.confirm()
    flash = bytearray(device.flash)
    pages = len(flash) - 2 * PAGE_BYTES
    for at, saves in ((pages, 0xFFFFFFFF), (pages + PAGE_BYTES, 0)):
        body = flash[at : at + 24]
        body[4:8] = saves.to_bytes(4, "little")
        flash[at : at + 28] = body + zlib.crc32(body).to_bytes(4, "little")
    device.flash = bytes(flash)
    newest = flash[pages + PAGE_BYTES + 22]  # page 1: restarts left
    assert device.start() == OK
    assert device.state.left == max(newest - 1, 0)
