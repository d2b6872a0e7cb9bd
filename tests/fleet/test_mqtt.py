# SPDX-License-Identifier: Apache-2.0
"""The worker's MQTT 5 client against arbitrary bytes and against a real broker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcuq.errors import FleetError
from tcuq.fleet.mqtt import (
    MAX_PACKET_BYTES,
    BrokerAddress,
    Message,
    MqttClient,
    PacketParser,
    ProtocolError,
    encode_packet,
    encode_publish,
    encode_string,
    parse_publish,
)
from tcuq.fleet.servers import Broker, free_port
from tests.fixtures.fleet.sender import WAIT_S, Sender, records_of, wait_for


@given(st.lists(st.binary(max_size=300), max_size=8), st.data())
def test_packets_do_not_depend_on_how_bytes_arrive(
    bodies: list[bytes], data: st.DataObject
) -> None:
    """A stream of packets cut anywhere gives the same packets."""
    stream = b"".join(encode_packet(0x30, body) for body in bodies)
    parser, packets, at = PacketParser(), [], 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream) - at))
        packets += parser.feed(stream[at : at + size])
        at += size
    assert packets == [(0x30, body) for body in bodies]


@given(st.binary(max_size=2000))
def test_any_bytes_end_in_packets_or_a_protocol_error(data: bytes) -> None:
    """Arbitrary bytes raise nothing but ProtocolError."""
    try:
        for first, body in PacketParser().feed(data):
            parse_publish(first, body)
    except ProtocolError:
        pass


@given(st.binary(max_size=60), st.binary(max_size=300), st.integers(1, 65535))
def test_a_publication_is_parsed_as_it_was_encoded(
    topic: bytes, payload: bytes, packet_id: int
) -> None:
    """Topic, payload and packet id come back."""
    body = encode_string(topic) + packet_id.to_bytes(2, "big") + b"\x00" + payload
    assert parse_publish(0x32, body) == Message(topic, payload, packet_id)


def test_a_packet_that_is_too_large_is_refused_by_its_length() -> None:
    """A packet is refused by its length, before its body arrives."""
    with pytest.raises(ProtocolError, match=f"at most {MAX_PACKET_BYTES}"):
        PacketParser().feed(encode_packet(0x30, bytes(MAX_PACKET_BYTES + 1))[:10])


def test_the_receive_maximum_limits_unacknowledged_messages(broker: Broker) -> None:
    """With a receive maximum of two the third message waits for an acknowledgement."""
    address = BrokerAddress("127.0.0.1", broker.port)
    with (
        Sender(broker.port) as sender,
        MqttClient(address, ["tcuq/+/+/record"], receive_maximum=2) as client,
    ):
        sender.send(records_of(range(5)))
        received: list[Message] = []
        wait_for(lambda: len(received.__iadd__(client.receive(0.1))) == 2)
        assert client.receive(0.3) == []
        client.acknowledge(received)
        client.acknowledge([], encode_publish("tcuq/berlin/gate/stored", bytes(range(16))))
        while len(received) < 5:
            more = client.receive(WAIT_S)
            assert more
            client.acknowledge(more)
            received += more
        assert {m.payload for m in received} == {r.tobytes() for r in records_of(range(5))}
        wait_for(lambda: len(sender.acknowledged) == 1)


def test_a_missing_broker_is_named() -> None:
    """The error holds the address that was tried."""
    with pytest.raises(FleetError, match=r"127\.0\.0\.1:\d+: no broker answers"):
        MqttClient(BrokerAddress("127.0.0.1", free_port()), ["a"])
