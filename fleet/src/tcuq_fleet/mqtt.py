# SPDX-License-Identifier: Apache-2.0
"""An MQTT 5 client for workers: QoS 1 messages with manual acknowledgement, QoS 0 publishing.

mqtt5 reads and writes the packets. The connection is written by hand because paho-mqtt reads its
socket one byte at a time, 6,000 messages per second (docs/decisions/0015-ingest.md).
"""

import os
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Self, TypeVar

import mqtt5

from tcuq_fleet.errors import FleetError

MAX_PACKET_BYTES = 1 << 17
READ_BYTES = 1 << 18
KEEP_ALIVE_S = 60
SEND_TIMEOUT_S = 30.0  # a broker that accepts no bytes for this long is treated as lost
Answer = TypeVar("Answer", mqtt5.ConnAckPacket, mqtt5.SubAckPacket)


class ProtocolError(FleetError):
    """The broker sent bytes that are not valid MQTT 5."""


class Message(NamedTuple):
    """One received publication."""

    topic: bytes
    payload: bytes
    packet_id: int  # for the acknowledgement; 0 for QoS 0


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """Host and port of a broker, and the certificates for it."""

    host: str
    port: int
    ca: str | None = None  # PEM files for mutual TLS; without a CA nothing is encrypted
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


class PacketReader:
    """Splits a byte stream into MQTT packets; an incomplete packet waits for more bytes.

    Examples
    --------
    >>> reader = PacketReader()
    >>> reader.feed(bytes([0xD0]))
    []
    >>> reader.feed(bytes([0x00]))
    [PingRespPacket()]
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[mqtt5.Packet]:
        """Return every packet that is complete now."""
        data = self._rest + data if self._rest else data
        view = memoryview(data)
        packets = []
        at = 0
        while (read := _read_packet(view[at:])) is not None:
            packets.append(read[0])
            at += read[1]
        self._rest = data[at:]
        return packets


def _read_packet(view: memoryview) -> tuple[mqtt5.Packet, int] | None:
    """Return the first packet and its size, or None while it is incomplete."""
    packet, size = None, len(view)
    try:
        packet, size = mqtt5.read(view)
    except IndexError:
        pass
    except ValueError as error:
        raise ProtocolError(f"the broker sends an invalid packet: {error}") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        # mqtt5 0.8 panics on text that is not UTF-8, which no broker may forward.
        raise ProtocolError("the broker sends text that is not UTF-8") from None
    if size > MAX_PACKET_BYTES:
        raise ProtocolError(
            f"the broker sends a packet of {size} bytes or more: at most {MAX_PACKET_BYTES} are"
            " accepted"
        )
    return None if packet is None else (packet, size)


def to_message(packet: mqtt5.PublishPacket, mount_point: str = "") -> Message:
    """Convert a publication to a message, whose topic is the sender's: without the mount point."""
    # A retained message was not sent now: it arrives empty, so that it is refused and acknowledged.
    payload = b"" if packet.retain else packet.payload
    return Message(packet.topic.removeprefix(mount_point).encode(), payload, packet.packet_id or 0)


def encode_publish(
    topic: str, payload: bytes, packet_id: int = 0, *, retain: bool = False
) -> bytes:
    """Encode a publication; of QoS 1 if it has a packet id."""
    if not packet_id:
        return mqtt5.PublishPacket(topic, payload, retain=retain).write()
    quality = mqtt5.QoS.AT_LEAST_ONCE
    packet = mqtt5.PublishPacket(topic, payload, qos=quality, packet_id=packet_id, retain=retain)
    return packet.write()


def _words(reason: IntEnum) -> str:
    return reason.name.lower().replace("_", " ")


class MqttClient:
    """One connection to a broker; clients share a subscription by `$share/name/...` in filters.

    The broker sends at most `receive_maximum` messages ahead of their acknowledgement. It may
    refuse the `optional` filters. `mount_point` is what it puts before devices' topics.
    """

    def __init__(
        self,
        address: BrokerAddress,
        filters: Sequence[str],
        receive_maximum: int = 65_535,
        *,
        timeout_s: float = 10.0,
        optional: Sequence[str] = (),
        client_id: str | None = None,
        mount_point: str = "",
    ) -> None:
        self._reader, self._mount_point = PacketReader(), mount_point
        self._queue: list[Message] = []
        self._last_sent = self._last_received = time.monotonic()
        try:
            self._socket = address.connect(timeout_s)
        except (OSError, ValueError) as error:
            raise FleetError(f"{address.host}:{address.port}: no broker answers: {error}") from None
        try:
            self._connect(receive_maximum, client_id or f"tcuq-{os.urandom(8).hex()}")
            if filters:
                self.subscribe(filters, optional)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(FleetError):  # the broker may be gone already
            self._send(mqtt5.DisconnectPacket().write())
        self._socket.close()

    def _connect(self, receive_maximum: int, client_id: str) -> None:
        packet = mqtt5.ConnectPacket(
            client_id,
            clean_start=True,  # and no session afterwards
            keep_alive=KEEP_ALIVE_S,
            receive_max=receive_maximum,
            max_packet_size=MAX_PACKET_BYTES,
        )
        self._send(packet.write())
        reason = self._wait_for(mqtt5.ConnAckPacket).reason_code
        if reason != mqtt5.ConnAckReasonCode.SUCCESS:
            raise FleetError(f"the broker refuses the connection: {_words(reason)}")

    def subscribe(self, filters: Sequence[str], optional: Sequence[str] = ()) -> None:
        """Subscribe, or raise `FleetError` if the broker refuses one of `filters`."""
        quality = mqtt5.QoS.AT_LEAST_ONCE
        topics = [mqtt5.TopicFilter(one, max_qos=quality) for one in (*filters, *optional)]
        self._send(mqtt5.SubscribePacket(1, topics).write())
        reasons = self._wait_for(mqtt5.SubAckPacket).reason_codes
        for pattern, reason in zip(filters, reasons[: len(filters)], strict=True):
            if reason != mqtt5.SubAckReasonCode.GRANTED_QOS_AT_LEAST_ONCE:
                raise FleetError(f"the broker refuses the subscription {pattern}: {_words(reason)}")

    def _wait_for(self, kind: type[Answer]) -> Answer:
        """Return the next packet of a kind; queue publications that precede it."""
        while True:
            try:
                packets = self._read()
            except TimeoutError:
                raise FleetError("the broker does not answer in time") from None
            answers = [packet for packet in packets if isinstance(packet, kind)]
            for packet in packets:
                if not isinstance(packet, kind):
                    self._handle(packet)
            if answers:
                return answers[0]

    def ping(self) -> None:
        """Send a PINGREQ if nothing was sent for a quarter of the keep-alive time."""
        if time.monotonic() - self._last_sent > KEEP_ALIVE_S / 4:
            self._send(mqtt5.PingReqPacket().write())

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
        for packet in packets:
            self._handle(packet)
        messages, self._queue = self._queue, []
        return messages

    def _handle(self, packet: mqtt5.Packet) -> None:
        if isinstance(packet, mqtt5.PublishPacket):
            self._queue.append(to_message(packet, self._mount_point))
        elif isinstance(packet, mqtt5.DisconnectPacket):
            raise FleetError(f"the broker ends the connection: {_words(packet.reason_code)}")
        elif not isinstance(packet, mqtt5.PingRespPacket | mqtt5.PubAckPacket):
            raise ProtocolError(f"the broker sends an unexpected {type(packet).__name__}")

    def _read(self) -> list[mqtt5.Packet]:
        try:
            data = self._socket.recv(READ_BYTES)
        except (TimeoutError, ssl.SSLWantReadError):
            raise TimeoutError from None
        except OSError as error:
            raise FleetError(f"the broker is gone: {error}") from None
        if not data:
            raise FleetError("the broker is gone: it closed the connection")
        self._last_received = time.monotonic()
        return self._reader.feed(data + self._read_further())

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
        acks = [mqtt5.PubAckPacket(one.packet_id).write() for one in messages if one.packet_id]
        self._send(b"".join(acks) + publications)

    def publish(self, publications: bytes) -> None:
        """Send publications that are encoded already, if there are any."""
        if publications:
            self._send(publications)

    def _send(self, data: bytes) -> None:
        self._socket.settimeout(SEND_TIMEOUT_S)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise FleetError(f"the broker is gone: {error}") from None
        self._last_sent = time.monotonic()
