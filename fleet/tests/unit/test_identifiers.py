# SPDX-License-Identifier: Apache-2.0
"""Identifiers on pages, and the signed integers of the same bits in the database."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq_fleet.serve.identifiers import (
    DEVICE,
    FIRMWARE,
    PROFILE,
    Group,
    device_number,
)
from tcuq_fleet.wire import device_name, firmware_name, profile_name


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1))
def test_identifiers_convert_both_ways(big: int, small: int) -> None:
    """Every integer of the database has one text, which the URL's pattern accepts."""
    assert re.fullmatch(DEVICE, device_name(big))
    assert device_number(device_name(big)) == big
    profile, firmware = profile_name(small), firmware_name(small)
    assert re.fullmatch(PROFILE, profile)
    assert re.fullmatch(FIRMWARE, firmware)
    assert Group(profile, firmware).numbers == {"profile": small, "firmware": small, "site": None}


@pytest.mark.parametrize("wrong", ["256.0.0", "1.8.65536", "1.8", "01.8.0", "1.8.0\n"])
def test_a_firmware_that_does_not_fit_is_refused(wrong: str) -> None:
    """A version has 8, 8 and 16 bits, and no other notation."""
    assert not re.fullmatch(FIRMWARE.removesuffix("$"), wrong)


@pytest.mark.parametrize(
    ("group", "text"),
    [
        (Group(), "The fleet"),
        (Group(firmware="1.8.0"), "Firmware 1.8.0"),
        (Group("3f9a1c07", "1.8.0", "lyon"), "Profile 3f9a1c07, firmware 1.8.0, site lyon"),
    ],
)
def test_a_group_is_written_as_text(group: Group, text: str) -> None:
    """The text begins with a capital letter and lists the identifiers."""
    assert str(group) == text
