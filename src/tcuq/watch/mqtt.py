# SPDX-License-Identifier: Apache-2.0
"""Lines from an MQTT topic: `mqtt://[user:password@]host[:port]/topic`, or `mqtts://` over TLS."""

import queue
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from tcuq.errors import InputError, MissingExtraError, StreamError

MAX_WAITING = 10_000  # messages not yet looked at; what comes beyond them is lost
MAX_PAYLOAD = 1 << 20
LISTEN_SECONDS = 0.5
PORTS = {"mqtt": 1883, "mqtts": 8883}


def mqtt_lines(url: str) -> Iterator[bytes]:
    """Lines of every message on a topic, for as long as one listens; it reconnects by itself."""
    place, topic = _parted(url)
    try:
        from paho.mqtt import client as paho
        from paho.mqtt.enums import CallbackAPIVersion
    except ImportError:
        raise MissingExtraError("paho-mqtt", "mqtt") from None
    heard: queue.Queue[bytes | StreamError] = queue.Queue(MAX_WAITING)
    client = paho.Client(CallbackAPIVersion.VERSION2)
    if place.username:
        client.username_pw_set(unquote(place.username), unquote(place.password or ""))
    if place.scheme == "mqtts":
        client.tls_set()

    def connected(_client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:  # noqa: ANN401
        if reason.is_failure:
            heard.put(StreamError(f"{place.hostname}: the broker refuses: {reason}"))
        client.subscribe(topic, qos=1)

    def received(_client: Any, _data: Any, message: Any) -> None:  # noqa: ANN401 - the library's
        if not heard.full():
            heard.put(bytes(message.payload[:MAX_PAYLOAD]))

    client.on_connect, client.on_message = connected, received
    try:
        client.connect(place.hostname or "", place.port or PORTS[place.scheme])
    except (OSError, ValueError) as error:
        raise StreamError(f"{place.hostname}: no broker answers: {error}") from None
    client.loop_start()
    try:
        yield from _listened(heard)
    finally:
        client.disconnect()
        client.loop_stop()


def _listened(heard: "queue.Queue[bytes | StreamError]") -> Iterator[bytes]:
    while True:
        try:
            message = heard.get(timeout=LISTEN_SECONDS)
        except queue.Empty:
            continue
        if isinstance(message, StreamError):
            raise message
        yield from message.rstrip(b"\n").split(b"\n")


def _parted(url: str) -> tuple[SplitResult, str]:
    try:
        place = urlsplit(url)
        _ = place.port
    except ValueError as error:
        raise InputError(f"{url[:200]!r}: {error}") from None
    topic = unquote(place.path.removeprefix("/"))
    if place.scheme not in PORTS or not place.hostname or not topic:
        raise InputError(f"a topic is mqtt://host[:port]/topic, got {url[:200]!r}")
    return place, topic
