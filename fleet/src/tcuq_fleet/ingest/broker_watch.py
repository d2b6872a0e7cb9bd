# SPDX-License-Identifier: Apache-2.0
"""Broker watch: a worker's view of its broker: are messages lost on the way, who fills it.

Each second a worker publishes a probe to both topics that workers share. Any worker may receive it,
so over all workers as many probes must arrive as were sent: another client that takes a share of
the subscription, or a broker that drops messages, shows as a difference within seconds.
"""

import time
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge

from tcuq_fleet.mqtt import Message, encode_publish

PROBE_EVERY_S = 1.0
PROBES = ("tcuq/probe/ingest/record", "tcuq/probe/ingest/records")
# Statistics that mosquitto publishes every 5 s; other brokers may refuse them.
STATISTICS = {
    "clients/connected": ("clients", "Clients connected to the broker."),
    "subscriptions/count": ("subscriptions", "Subscriptions of all clients."),
    "retained messages/count": ("retained_messages", "Messages that the broker retains."),
    "heap/current": ("heap_bytes", "Memory that the broker uses."),
    "publish/messages/dropped": ("dropped_messages", "Messages that the broker dropped."),
    "load/connections/1min": ("connects_per_minute", "MQTT connections, also refused ones."),
    "load/sockets/1min": ("sockets_per_minute", "TCP connections, also without a handshake."),
}
_PREFIX = "$SYS/broker/"
FILTERS = tuple(_PREFIX + topic for topic in STATISTICS)


class BrokerWatch:
    """Sends probes, and takes probes and statistics out of the received messages."""

    def __init__(self, registry: CollectorRegistry, mount_point: str) -> None:
        self._topics = [mount_point + topic for topic in PROBES]
        self._due = 0.0
        self._sent = Counter(
            "tcuq_ingest_probes_sent", "Probes published to the workers' topics.", registry=registry
        )
        self._received = Counter(
            "tcuq_ingest_probes_received",
            "Probes of all workers that arrived here; their sum must be the sum of those sent.",
            registry=registry,
        )
        self._gauges = {
            (_PREFIX + topic).encode(): Gauge(f"tcuq_broker_{name}", text, registry=registry)
            for topic, (name, text) in STATISTICS.items()
        }
        self._own = frozenset([*(topic.encode() for topic in PROBES), *self._gauges])

    def probes(self) -> bytes:
        """Return publications of probes if they are due."""
        now = time.monotonic()
        if now < self._due:
            return b""
        self._due = now + PROBE_EVERY_S
        self._sent.inc(len(self._topics))
        return b"".join(encode_publish(topic, b"probe") for topic in self._topics)

    def take(self, messages: Sequence[Message]) -> list[Message]:
        """Count probes and statistics; return the other messages."""
        others = [message for message in messages if message.topic not in self._own]
        if len(others) < len(messages):
            for topic, payload, _ in messages:
                if (gauge := self._gauges.get(topic)) is not None:
                    gauge.set(float(payload or 0))
                elif topic in self._own:
                    self._received.inc()
        return others
