# SPDX-License-Identifier: Apache-2.0
"""A fleet moves from unsigned to signed records without a day on which one kind is refused."""

import mqtt5

from fleet.tests.fixtures.load import signed
from fleet.tests.fixtures.records import records_of
from tcuq.telemetry import Keys, Reason
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.mqtt import Message, PacketReader
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import ACK, SIGNED_ACK, record_topic

KEYS = Keys({1: bytes(range(32))})


def message(device: int, payload: bytes) -> Message:
    """Return a device's own message."""
    return Message(record_topic("berlin", device).encode(), payload, 1)


def test_signed_and_unsigned_records_can_be_accepted_together(store: Store) -> None:
    """Both are stored, and each device gets the kind of acknowledgement that it expects."""
    validator = Validator(KEYS, accept_unsigned=True)
    result = validator.validate(
        [message(1, records_of([1]).tobytes()), message(2, signed(records_of([2]), KEYS).tobytes())]
    )
    batch, acks = store.put_parts(result.parts, result.dead_letters)
    packets = PacketReader().feed(result.encode_acks(batch, acks))
    published = [packet for packet in packets if isinstance(packet, mqtt5.PublishPacket)]
    sizes = {packet.topic.encode(): len(packet.payload) for packet in published}
    assert sizes == {
        b"tcuq/berlin/0000000000000001/stored": ACK.itemsize,
        b"tcuq/berlin/0000000000000002/stored": SIGNED_ACK.itemsize,
    }
    assert not result.refused


def test_a_signed_device_that_sends_unsigned_is_not_acknowledged(store: Store) -> None:
    """Its unsigned record is refused, and so is every unsigned one without the option."""
    validator = Validator(KEYS, accept_unsigned=True)
    result = validator.validate([message(2, signed(records_of([2]), KEYS).tobytes())])
    store.put_parts(result.parts)
    result = validator.validate([message(2, records_of([2], sequence=1).tobytes())])
    batch, acks = store.put_parts(result.parts)
    assert result.encode_acks(batch, acks) == b""
    strict = Validator(KEYS).validate([message(1, records_of([1]).tobytes())])
    assert result.refused == strict.refused == {Reason.UNSIGNED: 1}
