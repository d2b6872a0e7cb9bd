# SPDX-License-Identifier: Apache-2.0
"""Names on pages, and the integers of the same bits in the database."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq.fleet.serve.identity import (
    DEVICE,
    FIRMWARE,
    PROFILE,
    Group,
    device_number,
    device_text,
    firmware_number,
    firmware_text,
    profile_number,
    profile_text,
)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1))
def test_names_go_back_and_forth(big: int, small: int) -> None:
    """Every integer of the database has one name, which the address takes and gives back."""
    assert re.fullmatch(DEVICE, device_text(big))
    assert device_number(device_text(big)) == big
    assert re.fullmatch(PROFILE, profile_text(small))
    assert profile_number(profile_text(small)) == small
    assert re.fullmatch(FIRMWARE, firmware_text(small))
    assert firmware_number(firmware_text(small)) == small


def test_firmware_is_major_minor_patch() -> None:
    """8, 8 and 16 bits; what does not fit is no firmware."""
    assert firmware_text(1 << 24 | 8 << 16 | 300) == "1.8.300"
    assert firmware_text(-1) == "255.255.65535"
    for wrong in ("256.0.0", "1.8.65536", "1.8", "01.8.0", "1.8.0\n"):
        assert not re.fullmatch(FIRMWARE.removesuffix("$"), wrong)


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (Group(), "The fleet"),
        (Group(firmware="1.8.0"), "Firmware 1.8.0"),
        (Group("3f9a1c07", "1.8.0", "lyon"), "Profile 3f9a1c07, firmware 1.8.0, site lyon"),
    ],
)
def test_a_group_says_its_name(group: Group, said: str) -> None:
    """As a sentence begins."""
    assert str(group) == said
