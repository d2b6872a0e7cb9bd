# SPDX-License-Identifier: Apache-2.0
"""Validation: untrusted messages in; valid records, dead letters and acknowledgements out.

It checks topics, record bytes, that a device sends only its own records, that a gateway is
permitted, and each device's quota; many messages at a time.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError
from tcuq.fleet.mqtt import Message, encode_publish
from tcuq.fleet.wire import (
    ACK,
    MAX_RECORDS,
    SIGNED_ACK,
    Topic,
    parse_topic,
    sign_acks,
    stored_topic,
)
from tcuq.telemetry import CHECKED, RECORD, SIGNED, SIZES, Keys, Reason, checked

Array = NDArray[Any]

HOUR_S = 3600
SLOTS = 1 << 20
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Quota:
    """Limits how many records a device sends per hour, in two megabytes for any number of devices.

    Devices share counters by a hash of their id: with a million of them, a device that floods
    reaches a quota of 100, and none that sends a few records per hour does.
    """

    def __init__(self, per_hour: int) -> None:
        self.per_hour = per_hour
        self._counts = np.zeros(SLOTS, np.uint16)
        self._hour = 0

    def exceeds(self, devices: Array, now_s: float) -> NDArray[np.bool_]:
        """Count one record of each device given; return which of them are above the quota."""
        hour = int(now_s // HOUR_S)
        if hour != self._hour:
            self._counts[:] = 0
            self._hour = hour
        slots = (devices * _HASH_FACTOR) >> np.uint64(44)
        before = self._counts[slots].astype(np.int64)
        order = np.argsort(slots, kind="stable")
        rank = np.empty(len(slots), np.int64)
        rank[order] = np.arange(len(slots)) - np.searchsorted(slots[order], slots[order])
        after = np.minimum(before + rank + 1, np.iinfo(np.uint16).max)
        np.maximum.at(self._counts, slots, after.astype(np.uint16))
        return np.asarray(before + rank >= self.per_hour, np.bool_)


@dataclass(slots=True)
class ValidationResult:
    """The valid records of some messages, and what was refused."""

    parts: list[tuple[Array, str]] = field(default_factory=list)  # records and their site
    dead_letters: list[tuple[Reason, str, bytes]] = field(default_factory=list)
    refused: Counter[Reason] = field(default_factory=Counter)
    # Where acknowledgements go: per part one topic per record, or the one of its gateway.
    topics: list[list[str] | str] = field(default_factory=list)
    keys: Keys | None = None  # if records must be signed
    key_ids: dict[int, int] = field(default_factory=dict)  # by device

    @property
    def ack_bytes(self) -> int:
        """Size of one acknowledgement."""
        return (SIGNED_ACK if self.keys else ACK).itemsize

    def sign(self, acks: Array) -> Array:
        """Return acknowledgements as devices expect them: authenticated if records are signed."""
        return sign_acks(acks, self.key_ids, self.keys) if self.keys else acks

    def refuse(self, reason: Reason, topic: bytes, payload: bytes) -> None:
        """Count a refusal and add a dead letter; records above the quota are only counted."""
        self.refused[reason] += 1
        if reason != Reason.QUOTA:
            self.dead_letters.append((reason, topic.decode("utf-8", "replace"), payload))

    def encode_acks(self, acks: Array) -> bytes:
        """Encode the publications that acknowledge the valid records, one ack per record."""
        publications, at = [], 0
        for (records, _), topics in zip(self.parts, self.topics, strict=True):
            rows = acks[at : at + len(records)]
            at += len(records)
            if isinstance(topics, str):
                payload = self.sign(np.unique(rows)).tobytes()
                publications.append(encode_publish(topics, payload))
            else:
                payloads, size = self.sign(rows).tobytes(), self.ack_bytes
                publications += [
                    encode_publish(topic, payloads[size * i : size * (i + 1)])
                    for i, topic in enumerate(topics)
                ]
        return b"".join(publications)


class Validator:
    """Validates messages; its only state is the quota's counters.

    Parameters
    ----------
    gateways
        Names that may send for other devices.
    keys
        If given, only signed records are valid.
    quota
        Records a device may send per hour.
    """

    def __init__(
        self,
        gateways: Collection[str] = (),
        keys: Keys | None = None,
        quota: int = 120,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._gateways = frozenset(gateways)
        self._keys = keys
        self._quota = Quota(quota)
        self._clock = clock

    def validate(self, messages: Iterable[Message]) -> ValidationResult:
        """Validate messages; invalid ones are refused, never raised."""
        result = ValidationResult(keys=self._keys)
        singles: dict[tuple[str, int], list[tuple[Topic, Message]]] = {}
        for message in messages:
            try:
                topic = parse_topic(message.topic.decode())
            except (InputError, UnicodeDecodeError):
                result.refuse(Reason.TOPIC, message.topic, message.payload)
                continue
            if topic.kind == "record":
                singles.setdefault((topic.site, len(message.payload)), []).append((topic, message))
            else:
                self._validate_gateway(result, topic, message)
        for (site, size), group in singles.items():
            self._validate_singles(result, site, size, group)
        return result

    def _validate_singles(
        self, result: ValidationResult, site: str, size: int, group: Sequence[tuple[Topic, Message]]
    ) -> None:
        """Validate messages of one record each, from one site and of one size."""
        if size not in SIZES.values():
            for _, message in group:
                result.refuse(Reason.SIZE, message.topic, message.payload)
            return
        rows = np.frombuffer(b"".join(m.payload for _, m in group), np.uint8).reshape(-1, size)
        sender = np.array([topic.device for topic, _ in group], np.uint64)
        records = rows[:, :CHECKED].view(RECORD)[:, 0]
        reasons = checked(rows, self._keys)
        reasons[(reasons == Reason.FINE) & (sender != records["device"])] = Reason.DEVICE
        valid = self._select(result, records, reasons, lambda i: group[i][1])
        _note_keys(result, rows[valid])
        result.parts.append((records[valid], site))
        result.topics.append([stored_topic(site, group[i][0].name) for i in valid])

    def _validate_gateway(self, result: ValidationResult, topic: Topic, message: Message) -> None:
        """Validate a gateway's message of many records."""
        payload = message.payload
        size = SIZES.get(payload[0], 0) if payload else 1
        if topic.kind != "records":
            result.refuse(Reason.TOPIC, message.topic, payload)
        elif topic.name not in self._gateways:
            result.refuse(Reason.GATEWAY, message.topic, payload)
        elif size == 0:
            result.refuse(Reason.VERSION, message.topic, payload)
        elif not payload or len(payload) % size or len(payload) > MAX_RECORDS * size:
            result.refuse(Reason.SIZE, message.topic, payload)
        else:
            rows = np.frombuffer(payload, np.uint8).reshape(-1, size)
            records = rows[:, :CHECKED].view(RECORD)[:, 0]
            reasons = checked(rows, self._keys)
            valid = self._select(
                result, records, reasons, lambda i: Message(message.topic, rows[i].tobytes(), 0)
            )
            _note_keys(result, rows[valid])
            result.parts.append((records[valid], topic.site))
            result.topics.append(stored_topic(topic.site, topic.name))

    def _select(
        self,
        result: ValidationResult,
        records: Array,
        reasons: NDArray[np.uint8],
        message_at: Callable[[int], Message],
    ) -> NDArray[np.intp]:
        """Apply the quota, refuse invalid records, and return the indices of valid ones."""
        fine = np.flatnonzero(reasons == Reason.FINE)
        over = self._quota.exceeds(records["device"][fine], self._clock())
        reasons[fine[over]] = Reason.QUOTA
        for i in np.flatnonzero(reasons):
            message = message_at(int(i))
            result.refuse(Reason(int(reasons[i])), message.topic, message.payload)
        return fine[~over]


def _note_keys(result: ValidationResult, rows: Array) -> None:
    """Note with which key each device signs, to sign its acknowledgements with the same."""
    if result.keys:
        signed = np.ascontiguousarray(rows).view(SIGNED)[:, 0]
        result.key_ids |= zip(signed["device"].tolist(), signed["key"].tolist(), strict=True)
