# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq.errors import InputError
from tcuq.fleet import wire

SITES = st.from_regex(r"[a-z0-9-]{1,32}", fullmatch=True)
DEVICES = st.integers(0, 2**64 - 1)


@given(site=SITES, device=DEVICES)
def test_a_devices_topics_are_parsed_as_they_were_built(site: str, device: int) -> None:
    """Site, name and kind come back, and the name is the device."""
    name = wire.device_name(device)
    sent, heard = wire.parse(wire.record_topic(site, device)), wire.stored_topic(site, name)
    assert sent == (site, name, "record")
    assert sent.device == device
    assert wire.parse(heard) == (site, name, "stored")


@given(site=SITES, gateway=SITES.filter(lambda name: len(name) != 16))
def test_a_gateways_topics_are_parsed_as_they_were_built(site: str, gateway: str) -> None:
    """The same, of many records; a gateway is no device."""
    sent = wire.parse(wire.records_topic(site, gateway))
    assert sent == (site, gateway, "records")
    assert sent.device is None
    assert wire.parse(wire.stored_topic(site, gateway)) == (site, gateway, "stored")


@given(st.text(max_size=80) | st.from_regex(r"tcuq/.*/.*/records?", fullmatch=True))
def test_other_topics_are_refused(topic: str) -> None:
    """What parses is exactly what is built; anything else is an InputError."""
    try:
        found = wire.parse(topic)
    except InputError:
        return
    assert topic == f"tcuq/{found.site}/{found.name}/{found.kind}"
    assert found.device is not None if found.kind == "record" else True


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
def test_near_misses_are_refused(topic: str) -> None:
    """A line's end, capitals, wildcards, a device as a gateway, too long a site."""
    with pytest.raises(InputError):
        wire.parse(topic)


@given(st.integers(0, 2**32 - 1))
def test_a_firmwares_number_is_its_name(code: int) -> None:
    """Both ways."""
    assert wire.firmware_code(wire.firmware_name(code)) == code


@pytest.mark.parametrize("version", ["", "1", "1.8.0.0", "256.0", "1.256", "1.0.65536", "v1.8"])
def test_what_is_no_firmware(version: str) -> None:
    """Refused by the rule it breaks."""
    with pytest.raises(InputError, match="a firmware is"):
        wire.firmware_code(version)


def test_what_is_no_device() -> None:
    """A number that does not fit into 64 bits."""
    with pytest.raises(InputError, match="device must lie in"):
        wire.record_topic("plant", 2**64)


def test_an_acknowledgement_is_16_bytes() -> None:
    """Packed, as the wire has it."""
    assert wire.ACK.itemsize == 16
