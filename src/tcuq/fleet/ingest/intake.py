# SPDX-License-Identifier: Apache-2.0
"""Intake: messages of strangers → records that may be stored, dead letters, and answers to send.

Everything is checked here, many messages at a time: the topic's form, the record's bytes, that the
device speaks for itself, that a gateway is permitted, and how often a device may speak.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError
from tcuq.fleet.mqtt import Message, answer
from tcuq.fleet.wire import MAX_RECORDS, Topic, parse, stored_topic
from tcuq.telemetry import CHECKED, RECORD, SIZES, Keys, Reason, checked

Array = NDArray[Any]

HOUR_S = 3600
SLOTS = 1 << 20
_MIXING = np.uint64(0x9E3779B97F4A7C15)


class Quota:
    """How often a device may speak in an hour, in two megabytes however many there are.

    Devices share counters by a hash of their name: with a million of them a quota of 100 is hit by
    one that floods, and by none that keeps to a few records an hour.
    """

    def __init__(self, an_hour: int) -> None:
        self.an_hour = an_hour
        self._counts = np.zeros(SLOTS, np.uint16)
        self._hour = 0

    def over(self, devices: Array, now_s: float) -> NDArray[np.bool_]:
        """Which of these records come above the quota; all of them are counted."""
        hour = int(now_s // HOUR_S)
        if hour != self._hour:
            self._counts[:] = 0
            self._hour = hour
        slots = (devices * _MIXING) >> np.uint64(44)
        before = self._counts[slots].astype(np.int64)
        order = np.argsort(slots, kind="stable")
        turn = np.empty(len(slots), np.int64)
        turn[order] = np.arange(len(slots)) - np.searchsorted(slots[order], slots[order])
        after = np.minimum(before + turn + 1, np.iinfo(np.uint16).max)
        np.maximum.at(self._counts, slots, after.astype(np.uint16))
        return np.asarray(before + turn >= self.an_hour, np.bool_)


@dataclass(slots=True)
class Taken:
    """What a heap of messages came to."""

    parts: list[tuple[Array, str]] = field(default_factory=list)  # records and their site
    letters: list[tuple[Reason, str, bytes]] = field(default_factory=list)
    refused: Counter[Reason] = field(default_factory=Counter)
    # Who is answered: for each part the topics of its records, or the one of its gateway.
    topics: list[list[str] | str] = field(default_factory=list)

    def refuse(self, reason: Reason, topic: bytes, payload: bytes) -> None:
        """Count it and keep it as a dead letter; a flood is only counted."""
        self.refused[reason] += 1
        if reason != Reason.QUOTA:
            self.letters.append((reason, topic.decode("utf-8", "replace"), payload))

    def answers(self, told: Array) -> bytes:
        """The answers, packed, to what the store says of each record that was taken."""
        out, at = [], 0
        for (records, _), topics in zip(self.parts, self.topics, strict=True):
            rows = told[at : at + len(records)]
            at += len(records)
            if isinstance(topics, str):
                out.append(answer(topics, np.unique(rows).tobytes()))
            else:
                payloads = rows.tobytes()
                out += [
                    answer(topic, payloads[16 * i : 16 * i + 16]) for i, topic in enumerate(topics)
                ]
        return b"".join(out)


class Intake:
    """The gate. It holds no state but the quota's counters.

    Parameters
    ----------
    gateways
        Names that may send for other devices.
    keys
        With them only signed records are taken.
    quota
        Records a device may send in an hour.
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

    def take(self, messages: Iterable[Message]) -> Taken:
        """Check messages, whatever they hold."""
        taken = Taken()
        singles: dict[tuple[str, int], list[tuple[Topic, Message]]] = {}
        for message in messages:
            try:
                topic = parse(message.topic.decode())
            except (InputError, UnicodeDecodeError):
                taken.refuse(Reason.TOPIC, message.topic, message.payload)
                continue
            if topic.kind == "record":
                singles.setdefault((topic.site, len(message.payload)), []).append((topic, message))
            else:
                self._take_gateway(taken, topic, message)
        for (site, size), same in singles.items():
            self._take_singles(taken, site, size, same)
        return taken

    def _take_singles(
        self, taken: Taken, site: str, size: int, same: Sequence[tuple[Topic, Message]]
    ) -> None:
        """Messages of one record each, from one site, all of one size."""
        if size not in SIZES.values():
            for _, message in same:
                taken.refuse(Reason.SIZE, message.topic, message.payload)
            return
        rows = np.frombuffer(b"".join(m.payload for _, m in same), np.uint8).reshape(-1, size)
        heard = np.array([topic.device for topic, _ in same], np.uint64)
        records = rows[:, :CHECKED].view(RECORD)[:, 0]
        reasons = checked(rows, self._keys)
        reasons[(reasons == Reason.FINE) & (heard != records["device"])] = Reason.DEVICE
        kept = self._kept(taken, records, reasons, lambda i: same[i][1])
        taken.parts.append((records[kept], site))
        taken.topics.append([stored_topic(site, same[i][0].name) for i in kept])

    def _take_gateway(self, taken: Taken, topic: Topic, message: Message) -> None:
        """A message of many records from a gateway."""
        payload = message.payload
        size = SIZES.get(payload[0], 0) if payload else 1
        if topic.kind != "records":
            taken.refuse(Reason.TOPIC, message.topic, payload)
        elif topic.name not in self._gateways:
            taken.refuse(Reason.GATEWAY, message.topic, payload)
        elif size == 0:
            taken.refuse(Reason.VERSION, message.topic, payload)
        elif not payload or len(payload) % size or len(payload) > MAX_RECORDS * size:
            taken.refuse(Reason.SIZE, message.topic, payload)
        else:
            rows = np.frombuffer(payload, np.uint8).reshape(-1, size)
            records = rows[:, :CHECKED].view(RECORD)[:, 0]
            reasons = checked(rows, self._keys)
            kept = self._kept(
                taken, records, reasons, lambda i: Message(message.topic, rows[i].tobytes(), 0)
            )
            taken.parts.append((records[kept], topic.site))
            taken.topics.append(stored_topic(topic.site, topic.name))

    def _kept(
        self,
        taken: Taken,
        records: Array,
        reasons: NDArray[np.uint8],
        letter: Callable[[int], Message],
    ) -> NDArray[np.intp]:
        """Which records stay, by reasons and quota; the others are refused."""
        fine = np.flatnonzero(reasons == Reason.FINE)
        over = self._quota.over(records["device"][fine], self._clock())
        reasons[fine[over]] = Reason.QUOTA
        for i in np.flatnonzero(reasons):
            message = letter(int(i))
            taken.refuse(Reason(int(reasons[i])), message.topic, message.payload)
        return fine[~over]
