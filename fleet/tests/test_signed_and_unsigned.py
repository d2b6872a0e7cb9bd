# SPDX-License-Identifier: Apache-2.0
"""A fleet moves from unsigned to signed records without a day on which one kind is refused."""

from typing import Any

import mqtt5
import numpy as np
import pytest
from numpy.typing import NDArray

from fleet.tests.fixtures.sender import records_of
from tcuq.cli import main
from tcuq.telemetry import CHECKED, SIGNED, Keys, Reason
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.mqtt import Message, PacketReader
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import ACK, SIGNED_ACK, record_topic

KEYS = Keys({1: bytes(range(32))})


def signed(plain: NDArray[Any]) -> bytes:
    """Return a record as version 2, signed."""
    row = np.zeros(1, SIGNED)
    for name in set(plain.dtype.names or ()) & set(SIGNED.names or ()):
        row[name] = plain[name]
    row["version"], row["key"] = 2, 1
    data = row.tobytes()[: CHECKED + 1]
    return data + KEYS.tag(1, int(plain["device"][0]), data)


def message(device: int, payload: bytes) -> Message:
    """Return a device's own message."""
    return Message(record_topic("berlin", device).encode(), payload, 1)


def test_no_setting_took_signed_and_unsigned_records(store: Store) -> None:
    """Both are stored, and each device gets the kind of acknowledgement that it expects."""
    validator = Validator(KEYS, accept_unsigned=True)
    result = validator.validate(
        [message(1, records_of([1]).tobytes()), message(2, signed(records_of([2])))]
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
    """Its unsigned record is refused, and so is an unsigned device without the option."""
    validator = Validator(KEYS, accept_unsigned=True)
    result = validator.validate([message(2, signed(records_of([2])))])
    store.put_parts(result.parts)
    result = validator.validate([message(2, records_of([2], sequence=1).tobytes())])
    batch, acks = store.put_parts(result.parts)
    assert result.encode_acks(batch, acks) == b""
    strict = Validator(KEYS).validate([message(1, records_of([1]).tobytes())])
    assert result.refused == strict.refused == {Reason.UNSIGNED: 1}


def test_accepting_unsigned_records_needs_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """Without keys the option is an error that says so."""
    assert main(["fleet", "ingest", "--accept-unsigned"]) != 0
    assert "--accept-unsigned needs --keys" in capsys.readouterr().err
