# SPDX-License-Identifier: Apache-2.0
"""The worker's MQTT 5 client against arbitrary bytes."""

from contextlib import suppress

import mqtt5
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tcuq_fleet.errors import FleetError
from tcuq_fleet.mqtt import (
    MAX_PACKET_BYTES,
    BrokerAddress,
    Message,
    MqttClient,
    PacketReader,
    ProtocolError,
    encode_publish,
    to_message,
)
from tcuq_fleet.servers import free_port


@given(st.lists(st.binary(max_size=300), max_size=8), st.data())
def test_packets_do_not_depend_on_how_bytes_arrive(
    payloads: list[bytes], data: st.DataObject
) -> None:
    """A stream of packets cut anywhere gives the same packets."""
    stream = b"".join(encode_publish("a/b", payload, 7) for payload in payloads)
    reader, packets, at = PacketReader(), [], 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream) - at))
        packets += reader.feed(stream[at : at + size])
        at += size
    messages = [to_message(one) for one in packets if isinstance(one, mqtt5.PublishPacket)]
    assert messages == [Message(b"a/b", payload, 7) for payload in payloads]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of the panic
@settings(deadline=None)  # a panic prints its backtrace
@given(st.binary(max_size=2000))
@example(b"\x30\x04\x00\x01\xff\x00")  # a topic that is not UTF-8, on which mqtt5 panics
def test_any_bytes_end_in_packets_or_a_protocol_error(data: bytes) -> None:
    """Arbitrary bytes raise nothing but ProtocolError."""
    with suppress(ProtocolError):
        PacketReader().feed(data)


def test_a_retained_message_arrives_empty() -> None:
    """It was not sent now, so its payload is not taken for a record."""
    (packet,) = PacketReader().feed(encode_publish("a/b", b"old", 3, retain=True))
    assert isinstance(packet, mqtt5.PublishPacket)
    assert to_message(packet) == Message(b"a/b", b"", 3)


@pytest.mark.parametrize("cut", [None, -1])
def test_a_packet_that_is_too_large_is_refused(cut: int | None) -> None:
    """A packet is refused by its size, complete or not."""
    packet = encode_publish("a/b", bytes(MAX_PACKET_BYTES))
    with pytest.raises(ProtocolError, match=f"at most {MAX_PACKET_BYTES}"):
        PacketReader().feed(packet[:cut])


def test_a_missing_broker_is_named() -> None:
    """The error holds the address that was tried."""
    with pytest.raises(FleetError, match=r"127\.0\.0\.1:\d+: no broker answers"):
        MqttClient(BrokerAddress("127.0.0.1", free_port()), ["a"])
