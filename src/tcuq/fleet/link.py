# SPDX-License-Identifier: Apache-2.0
"""A broker as simulated devices see it: a few MQTT 5 connections carry all of them.

The wire may lose and repeat messages at given rates, both ways, whatever the broker promises.
"""

import ssl
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import FleetError, InputError, MissingExtraError
from tcuq.fleet.wire import ACK, STORED_FILTER

PORTS = {"mqtt": 1883, "mqtts": 8883}
MAX_QUEUED = 10_000  # messages of a connection that the broker has not taken; beyond, they are lost
MAX_HEARD = 1_000_000  # acknowledging messages not looked at yet
RECONNECT_S = (1, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """Where a broker is, and how one shows who one is.

    Parameters
    ----------
    url
        `mqtt://[user:password@]host[:port]`, or `mqtts://` over TLS.
    ca, certificate, key
        Files: who signs the broker's certificate (default: the system's), and our own.
    """

    url: str = "mqtt://127.0.0.1"
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        """Refuse a URL that is none, by what is wrong with it."""
        place = urlsplit(self.url)
        try:
            _ = place.port
        except ValueError as error:
            raise InputError(f"{self.url[:200]!r}: {error}") from None
        if place.scheme not in PORTS or not place.hostname or place.path.strip("/"):
            raise InputError(f"a broker is mqtt://host[:port] or mqtts://, got {self.url[:200]!r}")

    def client(self, name: str) -> Any:  # noqa: ANN401 - the library's
        """A client of this broker, not yet connected."""
        try:
            from paho.mqtt import client as paho
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError:
            raise MissingExtraError("paho-mqtt", "fleet") from None
        place = urlsplit(self.url)
        client = paho.Client(CallbackAPIVersion.VERSION2, name, protocol=paho.MQTTv5)
        if place.username:
            client.username_pw_set(unquote(place.username), unquote(place.password or ""))
        if place.scheme == "mqtts":
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
            client.tls_set_context(context)
        client.reconnect_delay_set(*RECONNECT_S)
        return client

    def connect(self, client: Any) -> None:  # noqa: ANN401 - the library's
        """Connect, and stay connected in a thread of its own."""
        place = urlsplit(self.url)
        try:
            client.connect(place.hostname, place.port or PORTS[place.scheme], clean_start=True)
        except (OSError, ValueError) as error:
            raise FleetError(
                f"{place.hostname}:{place.port or PORTS[place.scheme]}: no broker answers: {error}"
            ) from None
        client.loop_start()


class Link:
    """Connections to a broker, and what they hear.

    Parameters
    ----------
    broker
        Where to.
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
        broker: Broker,
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
            broker.client(f"tcuq-simulate-{tag}-{number}") for number in range(connections)
        ]
        for client in self._clients:
            client.max_queued_messages_set(MAX_QUEUED)
            client.on_connect = self._connected
            client.on_message = self._received
            client.on_subscribe = self._subscribed
            client.on_disconnect = self._closed
        for client in self._clients:
            broker.connect(client)

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
