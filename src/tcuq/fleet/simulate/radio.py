# SPDX-License-Identifier: Apache-2.0
"""A broker as simulated devices see it: a few MQTT 5 connections carry all of them.

The wire may lose and repeat messages at given rates, both ways, whatever the broker promises.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import FleetError, MissingExtraError
from tcuq.fleet.mqtt import Place
from tcuq.fleet.wire import ACK, STORED_FILTER

MAX_QUEUED = 10_000  # messages of a connection that the broker has not taken; beyond, they are lost
MAX_HEARD = 1_000_000  # acknowledging messages not looked at yet
RECONNECT_S = (1, 4)


class Radio:
    """Connections to a broker, and what they hear.

    Parameters
    ----------
    place
        Where the broker is.
    connections
        How many share the sending.
    heard_on
        The topics of acknowledgements.
    loss, duplication
        The chance that a message is lost, and that it is there twice, in each direction.
    rng
        Where those chances come from.
    """

    def __init__(
        self,
        place: Place,
        connections: int,
        *,
        heard_on: str = STORED_FILTER,
        loss: float = 0.0,
        duplication: float = 0.0,
        rng: np.random.Generator,
    ) -> None:
        self.refused = ""
        self.loss, self.duplication, self.heard_on = loss, duplication, heard_on
        self._rng = rng
        self._heard: deque[bytes] = deque(maxlen=MAX_HEARD)
        self._turn, self._listens = 0, False
        tag = f"{int(rng.integers(2**32)):08x}"
        self._clients = [
            _client(place, f"tcuq-simulate-{tag}-{number}") for number in range(connections)
        ]
        for client in self._clients:
            client.max_queued_messages_set(MAX_QUEUED)
            client.on_connect = self._connected
            client.on_message = self._received
            client.on_subscribe = self._subscribed
            client.on_disconnect = self._closed
        for client in self._clients:
            _connect(place, client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.disconnect()
            client.loop_stop()

    @property
    def connected(self) -> bool:
        """Whether all connections stand, and acknowledgements are listened to."""
        return self._listens and all(client.is_connected() for client in self._clients)

    def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish topics and payloads, with the wire's losses; unconnected, all are lost."""
        copies = self._copies(len(messages))
        for (topic, payload), times in zip(messages, copies.tolist(), strict=True):
            for _ in range(times):
                self._turn = (self._turn + 1) % len(self._clients)
                client = self._clients[self._turn]
                if client.is_connected():
                    client.publish(topic, payload, qos=1)

    def heard(self) -> NDArray[np.void]:
        """Acknowledgements since the last call, with the wire's losses."""
        payloads = [self._heard.popleft() for _ in range(len(self._heard))]
        kept = np.repeat(np.arange(len(payloads)), self._copies(len(payloads)))
        return np.frombuffer(b"".join(payloads[at] for at in kept.tolist()), ACK)

    def _copies(self, count: int) -> NDArray[np.int64]:
        """How often each message arrives: once, twice or never."""
        twice = self._rng.random(count) < self.duplication
        there = self._rng.random(count) >= self.loss
        return np.where(there, 1 + twice, 0)

    def _connected(self, client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:  # noqa: ANN401
        if reason.is_failure:
            self.refused = str(reason)
        elif client is self._clients[0]:
            client.subscribe(self.heard_on, qos=0)

    def _subscribed(self, *_: Any) -> None:  # noqa: ANN401
        self._listens = True

    def _closed(self, _client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:  # noqa: ANN401
        self.refused = str(reason)  # of interest only before all connections stood

    def _received(self, _client: Any, _data: Any, message: Any) -> None:  # noqa: ANN401
        if len(message.payload) % ACK.itemsize == 0:
            self._heard.append(bytes(message.payload))


def _client(place: Place, name: str) -> Any:  # noqa: ANN401 - the library's
    """A client of the field's library, not of our own: devices will have one, too."""
    try:
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise MissingExtraError("paho-mqtt", "fleet") from None
    client = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=paho.MQTTv5)
    if (context := place.context()) is not None:
        client.tls_set_context(context)
    client.reconnect_delay_set(*RECONNECT_S)
    return client


def _connect(place: Place, client: Any) -> None:  # noqa: ANN401 - the library's
    """Connect, and stay connected in a thread of its own."""
    try:
        client.connect(place.host, place.port, clean_start=True)
    except (OSError, ValueError) as error:
        raise FleetError(f"{place.host}:{place.port}: no broker answers: {error}") from None
    client.loop_start()
