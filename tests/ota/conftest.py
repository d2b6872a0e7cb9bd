# SPDX-License-Identifier: Apache-2.0
"""A device that takes profiles over the air, and a newer profile for it."""

from dataclasses import replace

import pytest

import tcuq
from tcuq.firmware import hmac_signer, profile_blob
from tests.fixtures.firmware.blob_device import KEY_NUMBER, PRODUCT, BlobDevice

KEY = bytes(range(100, 132))


def blob_of(
    profile: tcuq.Profile, number: int, *, product: int = PRODUCT, expires: int = 0
) -> bytes:
    """Return a profile as a blob that the device takes."""
    signer = hmac_signer(KEY, key_number=KEY_NUMBER)
    return profile_blob(profile, number=number, signer=signer, product=product, expires=expires)


@pytest.fixture(scope="session")
def newer(profile: tcuq.Profile) -> tcuq.Profile:
    """A profile of the same inputs with another threshold."""
    threshold = replace(profile.threshold, start=profile.threshold.start // 2)
    return replace(profile, threshold=threshold)


@pytest.fixture(scope="session")
def built(profile: tcuq.Profile, tmp_path_factory: pytest.TempPathFactory) -> BlobDevice:
    """The device, compiled once."""
    return BlobDevice(profile, tmp_path_factory.mktemp("device"), KEY)


@pytest.fixture
def device(built: BlobDevice) -> BlobDevice:
    """The device with empty flash, started."""
    built.new()
    built.power()
    assert built.start() == 0
    return built
