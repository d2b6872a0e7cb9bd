# SPDX-License-Identifier: Apache-2.0
"""Two slots: a new profile is tried, confirmed or given up, and a power cut leaves old or new."""

from collections.abc import Callable
from dataclasses import replace

import pytest

import tcuq
from tcuq.firmware import profile_blob
from tests.fixtures.firmware.blob_damage import signed
from tests.fixtures.firmware.blob_device import (
    BUILT_IN,
    CUT,
    FLASH,
    FORGED,
    OK,
    OLD,
    SELFTEST,
    TRIAL,
    UNITS,
    BlobDevice,
)
from tests.ota.conftest import KEY


@pytest.fixture
def blobs(profile: tcuq.Profile, newer: tcuq.Profile) -> tuple[bytes, bytes]:
    """Two blobs with different profiles, numbers 5 and 6."""
    third = replace(newer, threshold=replace(newer.threshold, start=1))
    assert len({profile.sha256, newer.sha256, third.sha256}) == 3
    return profile_blob(newer, number=5, key=KEY), profile_blob(third, number=6, key=KEY)


def name_of(blob: bytes) -> int:
    """The profile identifier of a blob."""
    return int.from_bytes(blob[16:20], "little")


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
    flash = bytearray(device.flash)
    flash[16384 + 500] ^= 1
    device.flash = bytes(flash)
    assert device.start() == FORGED
    assert (device.state.active, device.state.profile) == (0, name_of(blobs[0]))
    flash = bytearray(device.flash)
    flash[500] ^= 1
    device.flash = bytes(flash)
    assert device.start() == FORGED
    assert device.state.profile == device.state.built_in
    assert device.start() == OK
    assert device.state.highest == 6


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
