# SPDX-License-Identifier: Apache-2.0
"""The worker's own MQTT 5 against any bytes, and against a real broker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sending import WAIT_S, Sender, records_of, wait_for

from tcuq.errors import FleetError
from tcuq.fleet.mqtt import (
    MAX_PACKET,
    Link,
    Message,
    Packets,
    Place,
    ProtocolError,
    answer,
    packet,
    publication,
    text,
)
from tcuq.fleet.servers import Broker, free_port


@given(st.lists(st.binary(max_size=300), max_size=8), st.data())
def test_packets_do_not_depend_on_how_bytes_come(bodies: list[bytes], data: st.DataObject) -> None:
    """A stream of packets cut anywhere gives the same packets."""
    stream = b"".join(packet(0x30, body) for body in bodies)
    packets, found, at = Packets(), [], 0
    while at < len(stream):
        size = data.draw(st.integers(1, len(stream) - at))
        found += packets.feed(stream[at : at + size])
        at += size
    assert found == [(0x30, body) for body in bodies]


@given(st.binary(max_size=2000))
def test_any_bytes_end_in_packets_or_a_protocol_error(data: bytes) -> None:
    """Nothing else comes of bytes that no broker sends."""
    try:
        for first, body in Packets().feed(data):
            publication(first, body)
    except ProtocolError:
        pass


@given(st.binary(max_size=60), st.binary(max_size=300), st.integers(1, 65535))
def test_a_publication_is_read_as_it_was_written(topic: bytes, payload: bytes, number: int) -> None:
    """Topic, payload and number come back."""
    body = text(topic) + number.to_bytes(2, "big") + b"\x00" + payload
    assert publication(0x32, body) == Message(topic, payload, number)


def test_a_packet_that_is_too_large_is_refused_by_its_length() -> None:
    """Before its bytes are waited for."""
    with pytest.raises(ProtocolError, match=f"at most {MAX_PACKET}"):
        Packets().feed(packet(0x30, bytes(MAX_PACKET + 1))[:10])


def test_a_broker_holds_back_what_a_worker_cannot_take_yet(broker: Broker) -> None:
    """Two messages may wait for an acknowledgement: the third comes only after they have it."""
    place = Place("127.0.0.1", broker.port)
    with Sender(broker.port) as sender, Link(place, ["tcuq/+/+/record"], receive_maximum=2) as link:
        sender.send(records_of(range(5)))
        seen: list[Message] = []
        wait_for(lambda: len(seen.__iadd__(link.receive(0.1))) == 2)
        assert link.receive(0.3) == []
        link.acknowledge(seen)
        link.acknowledge([], answer("tcuq/berlin/gate/stored", bytes(range(16))))
        while len(seen) < 5:
            more = link.receive(WAIT_S)
            assert more
            link.acknowledge(more)
            seen += more
        assert {m.payload for m in seen} == {r.tobytes() for r in records_of(range(5))}
        wait_for(lambda: len(sender.told) == 1)


def test_a_broker_that_is_not_there_is_named() -> None:
    """The error says where it was looked for."""
    with pytest.raises(FleetError, match=r"127\.0\.0\.1:\d+: no broker answers"):
        Link(Place("127.0.0.1", free_port()), ["a"])
