# SPDX-License-Identifier: Apache-2.0
"""The wire protocol: topics, firmware versions and the acknowledgement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq.errors import InputError
from tcuq_fleet import wire

SITES = st.from_regex(r"[a-z0-9-]{1,32}", fullmatch=True)
DEVICES = st.integers(0, 2**64 - 1)


@given(site=SITES, device=DEVICES)
def test_a_devices_topics_are_parsed_as_they_were_built(site: str, device: int) -> None:
    """Site, name and kind come back, and the name is the device's."""
    name = wire.device_name(device)
    sent = wire.parse_topic(wire.record_topic(site, device))
    assert sent == (site, name, "record")
    assert sent.device == device
    assert wire.parse_topic(f"tcuq/{site}/{name}/stored") == (site, name, "stored")


@given(site=SITES, gateway=SITES.filter(lambda name: len(name) != 16))
def test_a_gateways_topics_are_parsed_as_they_were_built(site: str, gateway: str) -> None:
    """Site, name and kind come back, and a gateway is no device."""
    sent = wire.parse_topic(wire.records_topic(site, gateway))
    assert sent == (site, gateway, "records")
    assert sent.device is None
    assert wire.parse_topic(f"tcuq/{site}/{gateway}/stored") == (site, gateway, "stored")


@given(st.text(max_size=80) | st.from_regex(r"tcuq/.*/.*/records?", fullmatch=True))
def test_other_topics_are_refused(topic: str) -> None:
    """A topic either parses to the parts that build it or is an InputError."""
    try:
        parsed = wire.parse_topic(topic)
    except InputError:
        return
    assert topic == f"tcuq/{parsed.site}/{parsed.name}/{parsed.kind}"
    assert parsed.device is not None if parsed.kind == "record" else True


@pytest.mark.parametrize(
    "topic",
    [
        "tcuq/plant/000000000000beef/record\n",
        "tcuq/plant/000000000000BEEF/record",
        "tcuq/plant/beef/record",
        "tcuq/plant/000000000000beef/records",
        "tcuq/Plant/000000000000beef/record",
        "tcuq//000000000000beef/record",
        "tcuq/plant/+/record",
        "$share/ingest/tcuq/plant/000000000000beef/record",
        "tcuq/plant/000000000000beef/record/x",
        "tcuq/" + "s" * 33 + "/000000000000beef/record",
    ],
)
def test_nearly_valid_topics_are_refused(topic: str) -> None:
    """A newline, capitals, wildcards, a device as a gateway and a long site are refused."""
    with pytest.raises(InputError):
        wire.parse_topic(topic)


@given(st.integers(0, 2**32 - 1))
def test_firmware_codes_and_names_convert_both_ways(code: int) -> None:
    """Every code has one name."""
    assert wire.firmware_code(wire.firmware_name(code)) == code


@pytest.mark.parametrize("version", ["", "1", "1.8.0.0", "256.0", "1.256", "1.0.65536", "v1.8"])
def test_an_invalid_firmware_is_refused(version: str) -> None:
    """The error names the rule."""
    with pytest.raises(InputError, match="a firmware is"):
        wire.firmware_code(version)


def test_an_invalid_device_is_refused() -> None:
    """A number of more than 64 bits is refused."""
    with pytest.raises(InputError, match="device must lie in"):
        wire.record_topic("plant", 2**64)
