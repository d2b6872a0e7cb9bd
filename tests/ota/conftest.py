# SPDX-License-Identifier: Apache-2.0
"""A device that takes profiles over the air, and a newer profile for it."""

from dataclasses import replace

import pytest

import tcuq
from tests.fixtures.firmware.blob_device import BlobDevice

KEY = bytes(range(100, 132))


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
