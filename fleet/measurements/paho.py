# SPDX-License-Identifier: Apache-2.0
"""The worker over the field's MQTT library instead of its own: what that costs is measured."""

import signal
import sys
from collections.abc import Sequence
from typing import Self, cast

import mqtt5
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.ingest.worker import Worker
from tcuq_fleet.mqtt import Message, MqttClient, PacketReader
from tcuq_fleet.wire import shared_filters

WAITING = 20_000


class PahoLink:
    """`MqttClient`'s methods by paho."""

    def __init__(self, port: int) -> None:
        self._came: list[Message] = []
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.ReceiveMaximum = 65_535
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5, manual_ack=True
        )
        self._client.on_message = self._heard
        self._client.on_connect = self._connected
        self._client.connect("127.0.0.1", port, properties=properties)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()

    def _connected(self, *_: object) -> None:
        self._client.subscribe([(topic, 1) for topic in shared_filters()])

    def _heard(self, _client: object, _data: object, message: paho.MQTTMessage) -> None:
        self._came.append(Message(message.topic.encode(), bytes(message.payload), message.mid))

    def ping(self) -> None:
        """Its loop does that."""
        self._client.loop_misc()

    def publish(self, packets: bytes) -> None:
        """Send packets of QoS 0."""
        self.acknowledge([], packets)

    def receive(self, timeout_s: float) -> list[Message]:
        """What comes until nothing more does, or enough has."""
        self._client.loop(timeout_s)
        before = 0
        while before < len(self._came) < WAITING:
            before = len(self._came)
            self._client.loop(0)
        taken, self._came = self._came, []
        return taken

    def acknowledge(self, messages: Sequence[Message], answers: bytes = b"") -> None:
        """One by one."""
        for message in messages:
            self._client.ack(message.packet_id, 1)
        for packet in PacketReader().feed(answers):
            if isinstance(packet, mqtt5.PublishPacket):
                self._client.publish(packet.topic, packet.payload)


def main() -> None:
    """A worker: DATABASE PORT."""
    database, port = sys.argv[1], int(sys.argv[2])
    worker = Worker(
        database,
        lambda: cast("MqttClient", PahoLink(port)),
        validator=Validator(quota=60_000),
    )
    signal.signal(signal.SIGTERM, lambda *_: worker.stopping.set())
    worker.run()


if __name__ == "__main__":
    main()
