# SPDX-License-Identifier: Apache-2.0
"""Simulated transport: a few MQTT 5 connections that carry the messages of all simulated devices.

It loses and duplicates messages at given rates in both directions, on top of the broker.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion
from pydantic import Field

from tcuq_fleet.errors import FleetError
from tcuq_fleet.mqtt import BrokerAddress
from tcuq_fleet.simulate.devices import HOUR_S, MAX_WAIT_S
from tcuq_fleet.simulate.options import DeliveryOptions
from tcuq_fleet.wire import ACK, STORED_FILTER, stored_filter

MAX_QUEUED = 10_000  # messages per connection that the broker has not accepted; more are lost
MAX_RECEIVED = 1_000_000  # acknowledging messages not read yet
RECONNECT_S = (1, 4)


class TransportOptions(DeliveryOptions):
    """How simulated devices reach a broker, and how fast simulated time passes.

    A device waits from `resend_s` up to `longest_s` real seconds for an acknowledgement.
    """

    broker: BrokerAddress
    resend_s: float = Field(default=5, gt=0, le=1e6)
    longest_s: float = Field(default=30, gt=0, le=1e6)

    def simulated_s(self, seconds: float) -> int:
        """Convert real to simulated seconds, within what an uplink can wait."""
        return min(max(round(seconds * HOUR_S / self.hour_s), 1), MAX_WAIT_S)

    @property
    def parallel_connections(self) -> int:
        """The connections to open; the broker lets a certificate have one."""
        return 1 if self.broker.certificate else self.connections

    @property
    def ack_filter(self) -> str:
        """The topic filter for acknowledgements."""
        return stored_filter(self.gateway) if self.gateway else STORED_FILTER


class SimulatedTransport:
    """Sends simulated devices' messages and receives acknowledgements; `rng` loses and repeats."""

    def __init__(self, options: TransportOptions, rng: np.random.Generator) -> None:
        self.close_reason = ""
        self._options, self._rng = options, rng
        self._received: deque[bytes] = deque(maxlen=MAX_RECEIVED)
        self._next, self._subscribed = 0, False
        tag = f"{int(rng.integers(2**32)):08x}"
        self._clients = [
            _create_client(options.broker, f"tcuq-simulate-{tag}-{number}")
            for number in range(options.parallel_connections)
        ]
        for client in self._clients:
            client.max_queued_messages_set(MAX_QUEUED)
            client.on_connect = self._on_connect
            client.on_message = self._on_message
            client.on_subscribe = self._on_subscribe
            client.on_disconnect = self._on_disconnect
        for client in self._clients:
            _connect(options.broker, client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.disconnect()
            client.loop_stop()

    @property
    def connected(self) -> bool:
        """Whether all connections are up and acknowledgements are subscribed to."""
        return self._subscribed and all(client.is_connected() for client in self._clients)

    def send(self, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish topics and payloads; without a connection all are lost."""
        copies = self._copies(len(messages))
        for (topic, payload), times in zip(messages, copies.tolist(), strict=True):
            for _ in range(times):
                self._next = (self._next + 1) % len(self._clients)
                client = self._clients[self._next]
                if client.is_connected():
                    client.publish(topic, payload, qos=1)

    def receive(self) -> NDArray[np.void]:
        """Return the acknowledgements that arrived since the last call."""
        payloads = [self._received.popleft() for _ in range(len(self._received))]
        delivered = np.repeat(np.arange(len(payloads)), self._copies(len(payloads)))
        return np.frombuffer(b"".join(payloads[at] for at in delivered.tolist()), ACK)

    def _copies(self, count: int) -> NDArray[np.int64]:
        """Draw how often each message arrives: once, twice or never."""
        duplicated = self._rng.random(count) < self._options.duplication
        arrives = self._rng.random(count) >= self._options.loss
        return np.where(arrives, 1 + duplicated, 0)

    def _on_connect(self, client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:  # noqa: ANN401
        if reason.is_failure:
            self.close_reason = str(reason)
        elif client is self._clients[0]:
            client.subscribe(self._options.ack_filter, qos=0)

    def _on_subscribe(self, *_: Any) -> None:  # noqa: ANN401
        self._subscribed = True

    def _on_disconnect(self, _client: Any, _data: Any, _flags: Any, reason: Any, _: Any) -> None:  # noqa: ANN401
        self.close_reason = str(reason)  # read only until all connections are up

    def _on_message(self, _client: Any, _data: Any, message: Any) -> None:  # noqa: ANN401
        if len(message.payload) % ACK.itemsize == 0:
            self._received.append(bytes(message.payload))


def _create_client(address: BrokerAddress, client_id: str) -> Any:  # noqa: ANN401 - paho's
    """Create a paho client rather than our own, as a device's client is not ours either."""
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5)
    if (context := address.tls_context()) is not None:
        client.tls_set_context(context)
    client.reconnect_delay_set(*RECONNECT_S)
    return client


def _connect(address: BrokerAddress, client: Any) -> None:  # noqa: ANN401 - paho's
    """Connect, and start the thread that keeps the connection."""
    try:
        client.connect(address.host, address.port, clean_start=True)
    except (OSError, ValueError) as error:
        raise FleetError(f"{address.host}:{address.port}: no broker answers: {error}") from None
    client.loop_start()
