# SPDX-License-Identifier: Apache-2.0
"""Validation: untrusted messages in; valid records, dead letters and acknowledgements out.

It checks each sender's quota, topics, record bytes and that a device sends only its own records;
many messages at a time. The store checks what depends on its rows: sites, gateways and boots.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError
from tcuq.telemetry import CHECKED, RECORD, SIGNED, SIZES, Keys, Reason, checked
from tcuq_fleet.ingest.quota import Quota
from tcuq_fleet.mqtt import Message, encode_publish
from tcuq_fleet.store.batch import GATEWAY_ONLY, OWN_CERTIFICATE, SIGNATURE, Batch, Part
from tcuq_fleet.store.dead_letters import MAX_PER_BATCH, DeadLetter
from tcuq_fleet.wire import MAX_RECORDS, Topic, parse_topic, sign_acks

Array = NDArray[Any]

# Devices of gateways that are counted; of more, only their gateways' messages are limited.
MAX_RECORDS_OF_GATEWAYS = 1 << 22
DEVICE_NAME = re.compile(rb"[0-9a-f]{16}")


@dataclass(slots=True)
class ValidationResult:
    """The valid records of some messages, and what was refused."""

    parts: list[Part] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    refused: Counter[Reason] = field(default_factory=Counter)
    keys: Keys | None = None

    def sign(self, part: Part, acks: Array) -> Array:
        """Return a part's acks as its devices expect them: signed if the records were."""
        if self.keys is None or part.key_ids is None:
            return acks
        key_ids = zip(part.records["device"].tolist(), part.key_ids.tolist(), strict=True)
        return sign_acks(acks, dict(key_ids), self.keys)

    def refuse(self, reason: Reason, message: Message) -> None:
        """Count a refused message and keep it as a dead letter."""
        self.refused[reason] += 1
        self.keep(reason, message)

    def keep(self, reason: Reason, message: Message) -> None:
        """Keep a dead letter, if few are kept yet; those above a quota tell nothing."""
        if reason != Reason.QUOTA and len(self.dead_letters) < MAX_PER_BATCH:
            self.dead_letters.append(
                (reason, message.topic.decode("utf-8", "replace"), message.payload)
            )

    def count(self, reasons: NDArray[np.uint8]) -> None:
        """Count refused records by reason."""
        counts = np.bincount(reasons[reasons != Reason.FINE])
        self.refused.update({Reason(int(i)): int(counts[i]) for i in np.flatnonzero(counts)})

    def encode_acks(self, batch: Batch, acks: Array, mount_point: str = "") -> bytes:
        """Count what the store refused, and encode the publications that acknowledge the rest."""
        root = f"{mount_point}tcuq"
        reasons = batch.reasons[batch.rows]
        self.count(reasons)
        publications, at = [], 0
        repeated = len(batch.records) < len(batch.rows)
        for part in self.parts:
            stored = np.flatnonzero(reasons[at : at + len(part.records)] == Reason.FINE)
            rows = batch.rows[at : at + len(part.records)][stored]
            at += len(part.records)
            if isinstance(part.site, str):
                topic = f"{root}/{part.site}/{part.sender}/stored"
                if stored.size:
                    unique = np.unique(rows) if repeated else rows
                    payload = self.sign(part, acks[unique]).tobytes()
                    publications.append(encode_publish(topic, payload))
                continue
            signed = self.sign(part, acks[rows])
            payloads, size = signed.tobytes(), signed.itemsize
            publications += [
                encode_publish(
                    f"{root}/{part.site[index]}/{part.sender[index]}/stored",
                    payloads[size * i : size * (i + 1)],
                )
                for i, index in enumerate(stored.tolist())
            ]
        return b"".join(publications)


class Validator:
    """Validates messages; its only state is the quota's counters.

    With keys, records must be signed; `accept_unsigned` accepts unsigned ones beside them, while a
    fleet moves to signatures. `quota` and `gateway_quota` are the messages that a device and a
    gateway may send per hour, valid or not; a gateway may also send `quota` records of each device.
    `authenticated` says that the broker lets a device publish under its own name only (mutual TLS).
    """

    def __init__(
        self,
        keys: Keys | None = None,
        quota: int = 120,
        gateway_quota: int = 20_000,
        *,
        accept_unsigned: bool = False,
        authenticated: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = keys
        self._limits = quota, gateway_quota
        self._accept_unsigned = accept_unsigned
        self._own = OWN_CERTIFICATE if authenticated else GATEWAY_ONLY
        self._devices, self._gateways = Quota(), Quota()
        self._records = Quota(MAX_RECORDS_OF_GATEWAYS)
        self._clock = clock

    def validate(self, messages: Sequence[Message]) -> ValidationResult:
        """Validate messages; invalid ones are refused, never raised."""
        result = ValidationResult(keys=self._keys)
        singles: dict[int, list[tuple[Topic, Message]]] = {}
        batches: dict[int, list[tuple[Topic, Message]]] = {}
        for message in self._within_quota(result, messages):
            try:
                topic = parse_topic(message.topic.decode())
            except (InputError, UnicodeDecodeError):
                result.refuse(Reason.TOPIC, message)
                continue
            if topic.kind == "record":
                singles.setdefault(len(message.payload), []).append((topic, message))
                continue
            reason, size = _gateway_size(topic, message.payload)
            if reason != Reason.FINE:
                result.refuse(reason, message)
            else:
                batches.setdefault(size, []).append((topic, message))
        for size, group in singles.items():
            self._validate_singles(result, size, group)
        for size, group in batches.items():
            self._validate_gateways(result, size, group)
        return result

    def _within_quota(
        self, result: ValidationResult, messages: Sequence[Message]
    ) -> Iterable[Message]:
        """Count every message of a sender, before anything else of it is looked at."""
        names = [b"".join(message.topic.split(b"/", 3)[2:3]) for message in messages]
        device = np.array([bool(DEVICE_NAME.fullmatch(name)) for name in names], np.bool_)
        ids = [int(n, 16) if one else hash(n) % 2**64 for n, one in zip(names, device, strict=True)]
        senders = np.array(ids, np.uint64)
        over = np.empty(len(messages), np.bool_)
        for kind, quota, per_hour in zip(
            (device, ~device), (self._devices, self._gateways), self._limits, strict=True
        ):
            over[kind] = quota.exceeds(senders[kind], per_hour, self._clock())
        if over.any():
            result.refused[Reason.QUOTA] += int(over.sum())
            return [message for message, above in zip(messages, over, strict=True) if not above]
        return messages

    def _validate_singles(
        self, result: ValidationResult, size: int, group: Sequence[tuple[Topic, Message]]
    ) -> None:
        """Validate messages of one record each, all of one size."""
        if size not in SIZES.values():
            for _, message in group:
                result.refuse(Reason.SIZE, message)
            return
        rows = np.frombuffer(b"".join(m.payload for _, m in group), np.uint8).reshape(-1, size)
        sender = np.array([topic.device for topic, _ in group], np.uint64)
        records = rows[:, :CHECKED].view(RECORD)[:, 0]
        reasons = self._check(rows)
        reasons[(reasons == Reason.FINE) & (sender != records["device"])] = Reason.DEVICE
        valid = self._select(result, reasons, lambda i: group[i][1])
        topics = [group[i][0] for i in valid]
        result.parts.append(
            Part(
                records[valid],
                [topic.site for topic in topics],
                [topic.name for topic in topics],
                max(_trust(size), self._own),
                _key_ids(rows[valid]),
            )
        )

    def _validate_gateways(
        self, result: ValidationResult, size: int, group: Sequence[tuple[Topic, Message]]
    ) -> None:
        """Validate messages of many records each, all records of one size."""
        counts = [len(message.payload) // size for _, message in group]
        rows = np.frombuffer(b"".join(m.payload for _, m in group), np.uint8).reshape(-1, size)
        records = rows[:, :CHECKED].view(RECORD)[:, 0]
        reasons = self._check(rows)
        # Counted per gateway, so that none can use up the quota of devices that are not its.
        gateways = np.array([hash(topic.name) for topic, _ in group], np.int64).view(np.uint64)
        counted = records["device"] ^ np.repeat(gateways, counts)
        over = self._records.exceeds(counted, self._limits[0], self._clock())
        reasons[(reasons == Reason.FINE) & over] = Reason.QUOTA
        ends = np.cumsum(counts)

        def message_at(i: int) -> Message:
            number = int(np.searchsorted(ends, i, "right"))
            return Message(group[number][1].topic, rows[i].tobytes(), 0)

        valid = self._select(result, reasons, message_at)
        bounds = np.searchsorted(valid, [0, *ends]).tolist()
        if len(valid) < len(rows):
            rows = rows[valid]
        records, key_ids = rows[:, :CHECKED].view(RECORD)[:, 0], _key_ids(rows)
        for (topic, _), at, end in zip(group, bounds[:-1], bounds[1:], strict=True):
            if end > at:
                keys = None if key_ids is None else key_ids[at:end]
                part = Part(records[at:end], topic.site, topic.name, _trust(size), keys)
                result.parts.append(part)

    def _check(self, rows: Array) -> NDArray[np.uint8]:
        unsigned = rows.shape[1] != SIGNED.itemsize
        return checked(rows, None if unsigned and self._accept_unsigned else self._keys)

    def _select(
        self,
        result: ValidationResult,
        reasons: NDArray[np.uint8],
        message_at: Callable[[int], Message],
    ) -> NDArray[np.intp]:
        """Refuse invalid records, and return the indices of valid ones."""
        result.count(reasons)
        for i in np.flatnonzero(reasons)[:MAX_PER_BATCH].tolist():
            result.keep(Reason(int(reasons[i])), message_at(i))
        return np.flatnonzero(reasons == Reason.FINE)


def _trust(size: int) -> int:
    return SIGNATURE if size == SIGNED.itemsize else GATEWAY_ONLY


def _key_ids(rows: Array) -> NDArray[np.uint8] | None:
    """Return the keys by which rows are signed, to sign their acknowledgements by the same."""
    return rows[:, CHECKED].copy() if rows.shape[1] == SIGNED.itemsize else None


def _gateway_size(topic: Topic, payload: bytes) -> tuple[Reason, int]:
    """Return the size of the records in a gateway's message, or why it is refused."""
    size = SIZES.get(payload[0], 0) if payload else 1
    if topic.kind != "records":
        return Reason.TOPIC, size
    if size == 0:
        return Reason.VERSION, size
    if not payload or len(payload) % size or len(payload) > MAX_RECORDS * size:
        return Reason.SIZE, size
    return Reason.FINE, size
