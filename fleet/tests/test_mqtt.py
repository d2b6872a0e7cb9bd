# SPDX-License-Identifier: Apache-2.0
"""The worker's MQTT 5 client against a real broker."""

import mqtt5
import pytest

from fleet.tests.fixtures.records import records_of
from fleet.tests.fixtures.sender import WAIT_S, Sender, wait_for
from tcuq_fleet.errors import FleetError
from tcuq_fleet.mqtt import (
    BrokerAddress,
    Message,
    MqttClient,
    encode_publish,
)
from tcuq_fleet.servers import Broker


def test_text_that_is_not_utf8_does_not_reach_a_worker(
    broker: Broker, broker_address: BrokerAddress
) -> None:
    """The broker hangs up on a device that sends it; a worker goes on receiving."""
    topic = b"tcuq/berlin/0000000000000001/record"
    invalid_topic = encode_publish(topic.decode(), b"1").replace(b"berlin", b"berl\xff\xfe")
    with_property = mqtt5.PublishPacket(topic.decode(), b"1", user_properties=[("key", "value")])
    invalid_property = with_property.write().replace(b"value", b"val\xff\xfe")
    with MqttClient(broker_address, ["tcuq/+/+/record"]) as worker:
        for packet in (invalid_topic, invalid_property):
            with MqttClient(broker_address, ["other"]) as device:
                device.acknowledge([], packet)
                with pytest.raises(FleetError, match="the broker"):
                    device.receive(WAIT_S)
        with Sender(broker.port) as sender:
            sender.send(records_of([1]))
            (message,) = worker.receive(WAIT_S)
        assert message.topic == topic


def test_the_receive_maximum_limits_unacknowledged_messages(
    broker: Broker, broker_address: BrokerAddress
) -> None:
    """With a receive maximum of two the third message waits for an acknowledgement."""
    with (
        Sender(broker.port) as sender,
        MqttClient(broker_address, ["tcuq/+/+/record"], receive_maximum=2) as client,
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
