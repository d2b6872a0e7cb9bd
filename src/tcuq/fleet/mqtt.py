# SPDX-License-Identifier: Apache-2.0
"""An MQTT 5 client for workers: QoS 1 messages with manual acknowledgement, QoS 0 publishing.

It is written by hand because paho-mqtt reads its socket one byte at a time, 6,000 messages per
second; this client keeps up with the broker (docs/decisions/0015-ingest.md).
"""

import os
import socket
import ssl
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from tcuq.errors import FleetError

MAX_PACKET_BYTES = 1 << 17
READ_BYTES = 1 << 18
KEEP_ALIVE_S = 60
SEND_TIMEOUT_S = 30.0  # a broker that accepts no bytes for this long is treated as lost
CONNACK, PUBLISH, PUBACK, SUBACK, PINGRESP, DISCONNECT = 0x20, 0x30, 0x40, 0x90, 0xD0, 0xE0


class ProtocolError(FleetError):
    """The broker sent bytes that are not valid MQTT 5."""


class Message(NamedTuple):
    """One received publication."""

    topic: bytes
    payload: bytes
    packet_id: int  # for the acknowledgement; 0 for QoS 0


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Host and port of a broker, and the certificates for it.

    Parameters
    ----------
    host, port
        Of its listener.
    ca, certificate, key
        PEM files for mutual TLS; without `ca` the connection is not encrypted.
    """

    host: str
    port: int
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the TLS context, or None for an unencrypted connection."""
        if self.ca is None:
            return None
        context = ssl.create_default_context(cafile=self.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key)
        return context

    def connect(self, timeout_s: float) -> socket.socket:
        """Return a connected socket, with TLS if there is a CA."""
        plain = socket.create_connection((self.host, self.port), timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = self.tls_context()
        return context.wrap_socket(plain, server_hostname=self.host) if context else plain


class PacketParser:
    """Splits a byte stream into MQTT packets; an incomplete packet waits for more bytes.

    Examples
    --------
    >>> parser = PacketParser()
    >>> parser.feed(bytes([0xD0]))
    []
    >>> parser.feed(bytes([0x00]))
    [(208, b'')]
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return first byte and body of every packet that is complete now."""
        data = self._rest + data if self._rest else data
        packets = []
        at, size = 0, len(data)
        while at + 2 <= size:
            body, length = _parse_varint(data, at + 1, size)
            if length > MAX_PACKET_BYTES:
                raise ProtocolError(
                    f"the broker sends a packet of {length} bytes: at most {MAX_PACKET_BYTES}"
                    " are accepted"
                )
            if body == 0 or body + length > size:
                break
            packets.append((data[at], data[body : body + length]))
            at = body + length
        self._rest = data[at:]
        return packets


def _parse_varint(data: bytes, at: int, size: int) -> tuple[int, int]:
    """Return the end and the value of a variable-length integer; (0, 0) if it is incomplete."""
    value = 0
    for shift in range(4):
        if at + shift >= size:
            return 0, 0
        byte = data[at + shift]
        value |= (byte & 127) << (7 * shift)
        if byte < 128:
            return at + shift + 1, value
    raise ProtocolError("the broker sends a length of more than four bytes")


def parse_publish(first: int, body: bytes) -> Message:
    """Parse a PUBLISH packet from its first byte and body."""
    size = len(body)
    topic_end = 2 + int.from_bytes(body[:2], "big")
    packet_id_end = topic_end + (2 if first & 6 else 0)
    properties, length = _parse_varint(body, packet_id_end, size)
    if properties == 0 or properties + length > size or first & 6 == 6:
        raise ProtocolError("the broker sends an incomplete or invalid PUBLISH packet")
    packet_id = int.from_bytes(body[topic_end:packet_id_end], "big")
    # A retained message was not sent now: it arrives empty, so that it is refused and acknowledged.
    payload = b"" if first & 1 else body[properties + length :]
    return Message(body[2:topic_end], payload, packet_id)


def encode_string(value: bytes) -> bytes:
    """Encode an MQTT string: two bytes of length, then the bytes."""
    return len(value).to_bytes(2, "big") + value


def encode_packet(first: int, body: bytes) -> bytes:
    """Encode a packet: first byte, length, body."""
    head, left = bytearray([first]), len(body)
    while left > 127:
        head.append(left & 127 | 128)
        left >>= 7
    head.append(left)
    return bytes(head) + body


def encode_publish(topic: str, payload: bytes) -> bytes:
    """Encode a publication of QoS 0."""
    return encode_packet(PUBLISH, encode_string(topic.encode()) + b"\x00" + payload)


class MqttClient:
    """One connection to a broker; several clients can share a subscription.

    Parameters
    ----------
    address
        The broker's.
    filters
        Topic filters; `$share/name/...` shares them.
    receive_maximum
        How many messages the broker sends ahead of their acknowledgement.
    """

    def __init__(
        self,
        address: BrokerAddress,
        filters: Sequence[str],
        receive_maximum: int = 65_535,
        timeout_s: float = 10.0,
    ) -> None:
        self._parser = PacketParser()
        self._queue: list[Message] = []
        self._last_sent = self._last_received = time.monotonic()
        try:
            self._socket = address.connect(timeout_s)
        except (OSError, ValueError) as error:
            raise FleetError(f"{address.host}:{address.port}: no broker answers: {error}") from None
        try:
            self._connect(receive_maximum)
            self._subscribe(filters)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(FleetError):  # the broker may be gone already
            self._send(encode_packet(DISCONNECT, b"\x00\x00"))
        self._socket.close()

    def _connect(self, receive_maximum: int) -> None:
        properties = struct.pack(">BHBI", 0x21, receive_maximum, 0x27, MAX_PACKET_BYTES)
        body = (
            encode_string(b"MQTT")
            + struct.pack(">BBH", 5, 0x02, KEEP_ALIVE_S)  # clean start, no session afterwards
            + bytes([len(properties)])
            + properties
            + encode_string(b"tcuq-" + os.urandom(8).hex().encode())
        )
        self._send(encode_packet(0x10, body))
        connack = self._wait_for(CONNACK)
        if len(connack) < 2 or connack[1] != 0:
            code = connack[1] if len(connack) > 1 else 0
            raise FleetError(f"the broker refuses the connection: reason {code:#04x}")

    def _subscribe(self, filters: Sequence[str]) -> None:
        topics = b"".join(encode_string(one.encode()) + b"\x01" for one in filters)  # QoS 1
        self._send(encode_packet(0x82, b"\x00\x01\x00" + topics))
        reasons = self._wait_for(SUBACK)[-len(filters) :]
        if any(code != 1 for code in reasons):
            raise FleetError(f"the broker refuses the subscription: reasons {reasons.hex(' ')}")

    def _wait_for(self, kind: int) -> bytes:
        """Return the body of the next packet of a kind; queue publications that precede it."""
        while True:
            try:
                packets = self._read()
            except TimeoutError:
                raise FleetError("the broker does not answer in time") from None
            matching = [body for first, body in packets if first == kind]
            for first, body in packets:
                if first != kind:
                    self._handle(first, body)
            if matching:
                return matching[0]

    def ping(self) -> None:
        """Send a PINGREQ if nothing was sent for a quarter of the keep-alive time."""
        if time.monotonic() - self._last_sent > KEEP_ALIVE_S / 4:
            self._send(b"\xc0\x00")

    def receive(self, timeout_s: float) -> list[Message]:
        """Return messages as soon as some arrive, or none after the timeout."""
        self.ping()
        if time.monotonic() - self._last_received > KEEP_ALIVE_S * 1.5:
            raise FleetError("the broker has been silent for too long")
        self._socket.settimeout(max(timeout_s, 0.001))
        try:
            packets = self._read()
        except TimeoutError:
            packets = []
        for first, body in packets:
            self._handle(first, body)
        messages, self._queue = self._queue, []
        return messages

    def _handle(self, first: int, body: bytes) -> None:
        if first & 0xF0 == PUBLISH:
            self._queue.append(parse_publish(first, body))
        elif first == DISCONNECT:
            raise FleetError(f"the broker ends the connection: reason {body[:1].hex() or '00'}")
        elif first not in (PINGRESP, PUBACK):
            raise ProtocolError(f"the broker sends an unexpected packet of kind {first:#04x}")

    def _read(self) -> list[tuple[int, bytes]]:
        try:
            data = self._socket.recv(READ_BYTES)
        except (TimeoutError, ssl.SSLWantReadError):
            raise TimeoutError from None
        except OSError as error:
            raise FleetError(f"the broker is gone: {error}") from None
        if not data:
            raise FleetError("the broker is gone: it closed the connection")
        self._last_received = time.monotonic()
        return self._parser.feed(data + self._read_further())

    def _read_further(self) -> bytes:
        """Read what else has arrived over TLS, where one `recv` returns one record."""
        if not isinstance(self._socket, ssl.SSLSocket):
            return b""
        parts, size = [], 0
        self._socket.settimeout(0.0)
        with suppress(OSError):  # nothing more; the next call raises if the broker is gone
            while size < READ_BYTES and (data := self._socket.recv(READ_BYTES)):
                parts.append(data)
                size += len(data)
        return b"".join(parts)

    def acknowledge(self, messages: Sequence[Message], publications: bytes = b"") -> None:
        """Acknowledge messages, and send publications that are encoded already."""
        packet_ids = [message.packet_id for message in messages if message.packet_id]
        rows = np.empty(len(packet_ids), [("head", ">u2"), ("packet_id", ">u2")])
        rows["head"], rows["packet_id"] = 0x4002, packet_ids
        self._send(rows.tobytes() + publications)

    def _send(self, data: bytes) -> None:
        self._socket.settimeout(SEND_TIMEOUT_S)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise FleetError(f"the broker is gone: {error}") from None
        self._last_sent = time.monotonic()
