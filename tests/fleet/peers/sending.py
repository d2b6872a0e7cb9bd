# SPDX-License-Identifier: Apache-2.0
"""Records of devices that never were, as bytes, and a client that is not ours to send them."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tcuq.fleet.wire import ACK
from tcuq.telemetry import PLAIN
from tools.measurements.fleet_load import sealed

Array = NDArray[Any]
WAIT_S = 30.0


def records_of(devices: Iterable[int], boot: int = 1, sequence: int = 0) -> Array:
    """A true record of each device: 100 steps a sequence, a tenth of them abstained."""
    names = np.array(list(devices), np.uint64)
    made = np.zeros(len(names), PLAIN)
    made["version"], made["device"], made["boot"], made["sequence"] = 1, names, boot, sequence
    made["steps"], made["abstained"] = 100 * (sequence + 1), 10 * (sequence + 1)
    made["histogram"][:, 3] = made["steps"]
    return sealed(made)


class Sender:
    """The field's client, which remembers what it is told."""

    def __init__(self, port: int, topics: Iterable[str] = ("tcuq/+/+/stored",)) -> None:
        self.told: dict[tuple[int, int], int] = {}
        self.client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv5)
        self.client.max_inflight_messages_set(1000)
        self._subscribed = 0
        self.client.on_message = self._heard
        self.client.on_subscribe = self._granted
        self.client.on_connect = self._connected
        self._topics = [(topic, 0) for topic in topics]
        self.port = port

    def __enter__(self) -> Self:
        self.client.connect("127.0.0.1", self.port)
        self.client.loop_start()
        wait_for(lambda: self._subscribed > 0)
        return self

    def __exit__(self, *_: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def _connected(self, *_: object) -> None:
        self.client.subscribe(self._topics)

    def _granted(self, *_: object) -> None:
        self._subscribed += 1

    def _heard(self, _client: object, _data: object, message: Any) -> None:
        for device, boot, sequence in np.frombuffer(message.payload, ACK).tolist():
            self.told[device, boot] = max(sequence, self.told.get((device, boot), 0))

    def send(self, records: Array, site: str = "berlin") -> None:
        """Each record on its device's topic."""
        for one in records:
            topic = f"tcuq/{site}/{int(one['device']):016x}/record"
            self.client.publish(topic, one.tobytes(), qos=1)


def wait_for(what: Callable[[], bool]) -> None:
    """Until it holds; fails when it takes too long."""
    end = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.02)
