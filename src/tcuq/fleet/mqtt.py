# SPDX-License-Identifier: Apache-2.0
"""MQTT 5 as a worker needs it: messages of QoS 1, acknowledged when told to; answers of QoS 0.

Written by hand because the field's library reads its socket a byte at a time: 6,000 messages a
second, where this takes as many as a broker gives (docs/decisions/0015-ingest.md).
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

MAX_PACKET = 1 << 17
READ_BYTES = 1 << 18
KEEP_ALIVE_S = 60
SEND_S = 30.0  # a broker that takes nothing for so long is gone
CONNACK, PUBLISH, PUBACK, SUBACK, PINGRESP, DISCONNECT = 0x20, 0x30, 0x40, 0x90, 0xD0, 0xE0


class ProtocolError(FleetError):
    """The other side does not speak MQTT 5, or no longer."""


class Message(NamedTuple):
    """A publication as it came."""

    topic: bytes
    payload: bytes
    packet: int  # what is acknowledged; 0 for QoS 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a broker is, and who we are to it.

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

    def context(self) -> ssl.SSLContext | None:
        """Whom we trust and who we are, for TLS."""
        if self.ca is None:
            return None
        context = ssl.create_default_context(cafile=self.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key)
        return context

    def open(self, timeout_s: float) -> socket.socket:
        """A connected socket."""
        plain = socket.create_connection((self.host, self.port), timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = self.context()
        return context.wrap_socket(plain, server_hostname=self.host) if context else plain


class Packets:
    """Bytes as they come, cut into whole packets; the rest waits for more.

    Examples
    --------
    >>> packets = Packets()
    >>> packets.feed(bytes([0xD0]))
    []
    >>> packets.feed(bytes([0x00]))
    [(208, b'')]
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """First byte and body of every packet that is whole now."""
        data = self._rest + data if self._rest else data
        found = []
        at, size = 0, len(data)
        while at + 2 <= size:
            body, length = _number(data, at + 1, size)
            if length > MAX_PACKET:
                raise ProtocolError(f"a packet of {length} bytes: at most {MAX_PACKET} are taken")
            if body == 0 or body + length > size:
                break
            found.append((data[at], data[body : body + length]))
            at = body + length
        self._rest = data[at:]
        return found


def _number(data: bytes, at: int, size: int) -> tuple[int, int]:
    """Where a variable-length number ends, and the number; (0, 0): it is not whole yet."""
    value = 0
    for shift in range(4):
        if at + shift >= size:
            return 0, 0
        byte = data[at + shift]
        value |= (byte & 127) << (7 * shift)
        if byte < 128:
            return at + shift + 1, value
    raise ProtocolError("a length of more than four bytes")


def publication(first: int, body: bytes) -> Message:
    """A PUBLISH packet's message."""
    size = len(body)
    topic_end = 2 + int.from_bytes(body[:2], "big")
    packet_end = topic_end + (2 if first & 6 else 0)
    properties, length = _number(body, packet_end, size)
    if properties == 0 or properties + length > size or first & 6 == 6:
        raise ProtocolError("a publication that is not whole")
    packet = int.from_bytes(body[topic_end:packet_end], "big")
    return Message(body[2:topic_end], body[properties + length :], packet)


def text(value: bytes) -> bytes:
    """A string as MQTT writes it."""
    return len(value).to_bytes(2, "big") + value


def packet(first: int, body: bytes) -> bytes:
    """A whole packet."""
    head, left = bytearray([first]), len(body)
    while left > 127:
        head.append(left & 127 | 128)
        left >>= 7
    head.append(left)
    return bytes(head) + body


def answer(topic: str, payload: bytes) -> bytes:
    """A publication of QoS 0, ready to be sent."""
    return packet(PUBLISH, text(topic.encode()) + b"\x00" + payload)


class Link:
    """One connection to a broker, with subscriptions that several links may share.

    Parameters
    ----------
    place
        Where the broker is.
    filters
        Topic filters; `$share/name/...` shares them.
    receive_maximum
        Messages that may wait for an acknowledgement: the broker holds back the rest.
    """

    def __init__(
        self,
        place: Place,
        filters: Sequence[str],
        receive_maximum: int = 65_535,
        timeout_s: float = 10.0,
    ) -> None:
        self._packets = Packets()
        self._waiting: list[Message] = []
        self._sent = self._heard = time.monotonic()
        try:
            self._socket = place.open(timeout_s)
        except (OSError, ValueError) as error:
            raise FleetError(f"{place.host}:{place.port}: no broker answers: {error}") from None
        try:
            self._greet(receive_maximum)
            self._subscribe(filters)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(FleetError):  # it may be gone already
            self._send(packet(DISCONNECT, b"\x00\x00"))
        self._socket.close()

    def _greet(self, receive_maximum: int) -> None:
        properties = struct.pack(">BHBI", 0x21, receive_maximum, 0x27, MAX_PACKET)
        body = (
            text(b"MQTT")
            + struct.pack(">BBH", 5, 0x02, KEEP_ALIVE_S)  # clean start; the session ends with us
            + bytes([len(properties)])
            + properties
            + text(b"tcuq-" + os.urandom(8).hex().encode())
        )
        self._send(packet(0x10, body))
        answered = self._expect(CONNACK)
        if len(answered) < 2 or answered[1] != 0:
            code = answered[1] if len(answered) > 1 else 0
            raise FleetError(f"the broker refuses the connection: reason {code:#04x}")

    def _subscribe(self, filters: Sequence[str]) -> None:
        topics = b"".join(text(one.encode()) + b"\x01" for one in filters)  # QoS 1
        self._send(packet(0x82, b"\x00\x01\x00" + topics))
        granted = self._expect(SUBACK)[-len(filters) :]
        if any(code != 1 for code in granted):
            raise FleetError(f"the broker refuses the subscription: reasons {granted.hex(' ')}")

    def _expect(self, kind: int) -> bytes:
        """The body of the next packet of a kind; publications that come before it wait."""
        while True:
            try:
                packets = self._read()
            except TimeoutError:
                raise FleetError("the broker does not answer in time") from None
            mine = [body for first, body in packets if first == kind]
            for first, body in packets:
                if first != kind:
                    self._take(first, body)
            if mine:
                return mine[0]

    def ping(self) -> None:
        """Let the broker hear from us, if it has not for a while."""
        if time.monotonic() - self._sent > KEEP_ALIVE_S / 4:
            self._send(b"\xc0\x00")

    def receive(self, timeout_s: float) -> list[Message]:
        """What comes within this time; returns with the first of it."""
        self.ping()
        if time.monotonic() - self._heard > KEEP_ALIVE_S * 1.5:
            raise FleetError("the broker has been silent for too long")
        self._socket.settimeout(max(timeout_s, 0.001))
        try:
            packets = self._read()
        except TimeoutError:
            packets = []
        for first, body in packets:
            self._take(first, body)
        taken, self._waiting = self._waiting, []
        return taken

    def _take(self, first: int, body: bytes) -> None:
        if first & 0xF0 == PUBLISH:
            self._waiting.append(publication(first, body))
        elif first == DISCONNECT:
            raise FleetError(f"the broker ends the connection: reason {body[:1].hex() or '00'}")
        elif first not in (PINGRESP, PUBACK):
            raise ProtocolError(f"a packet of kind {first:#04x} that nobody asked for")

    def _read(self) -> list[tuple[int, bytes]]:
        try:
            data = self._socket.recv(READ_BYTES)
        except (TimeoutError, ssl.SSLWantReadError):
            raise TimeoutError from None
        except OSError as error:
            raise FleetError(f"the broker is gone: {error}") from None
        if not data:
            raise FleetError("the broker is gone: it closed the connection")
        self._heard = time.monotonic()
        return self._packets.feed(data)

    def acknowledge(self, messages: Sequence[Message], answers: bytes = b"") -> None:
        """Tell the broker that these are done with, and send answers that are packed already."""
        packets = [message.packet for message in messages if message.packet]
        rows = np.empty(len(packets), [("head", ">u2"), ("packet", ">u2")])
        rows["head"], rows["packet"] = 0x4002, packets
        self._send(rows.tobytes() + answers)

    def _send(self, data: bytes) -> None:
        self._socket.settimeout(SEND_S)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise FleetError(f"the broker is gone: {error}") from None
        self._sent = time.monotonic()
