# SPDX-License-Identifier: Apache-2.0
"""Lines from an MQTT topic: `mqtt://[user:password@]host[:port]/topic`, or `mqtts://` over TLS."""

import queue
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from tcuq.errors import InputError, MissingExtraError, StreamError

MAX_WAITING = 10_000  # messages in the queue; further ones are dropped
MAX_PAYLOAD = 1 << 20
POLL_SECONDS = 0.5
PORTS = {"mqtt": 1883, "mqtts": 8883}


def mqtt_lines(url: str) -> Iterator[bytes]:
    """Yield the lines of every message on a topic; the client reconnects by itself."""
    address, topic = _split(url)
    try:
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise MissingExtraError("paho-mqtt", "tcuq[mqtt]") from None
    messages: queue.Queue[bytes | StreamError] = queue.Queue(MAX_WAITING)
    client = paho.Client(CallbackAPIVersion.VERSION2)
    if address.username:
        client.username_pw_set(unquote(address.username), unquote(address.password or ""))
    if address.scheme == "mqtts":
        client.tls_set()

    def connected(_client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:  # noqa: ANN401
        if reason.is_failure:
            messages.put(
                StreamError(f"{address.hostname}: the broker refused the connection: {reason}")
            )
        client.subscribe(topic, qos=1)

    def received(_client: Any, _data: Any, message: Any) -> None:  # noqa: ANN401 - paho's signature
        if not messages.full():
            messages.put(bytes(message.payload[:MAX_PAYLOAD]))

    client.on_connect, client.on_message = connected, received
    try:
        client.connect(address.hostname or "", address.port or PORTS[address.scheme])
    except (OSError, ValueError) as error:
        raise StreamError(f"{address.hostname}: no broker answers: {error}") from None
    client.loop_start()
    try:
        yield from _lines(messages)
    finally:
        client.disconnect()
        client.loop_stop()


def _lines(messages: "queue.Queue[bytes | StreamError]") -> Iterator[bytes]:
    while True:
        try:
            message = messages.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
        if isinstance(message, StreamError):
            raise message
        yield from message.rstrip(b"\n").split(b"\n")


def _split(url: str) -> tuple[SplitResult, str]:
    try:
        address = urlsplit(url)
        _ = address.port
    except ValueError as error:
        raise InputError(f"{url[:200]!r}: {error}") from None
    topic = unquote(address.path.removeprefix("/"))
    if address.scheme not in PORTS or not address.hostname or not topic:
        raise InputError(f"a topic is mqtt://host[:port]/topic, got {url[:200]!r}")
    return address, topic
