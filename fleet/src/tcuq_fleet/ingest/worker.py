# SPDX-License-Identifier: Apache-2.0
"""Worker: a stateless process from the broker to the store; start as many as needed.

It acknowledges a message to broker and device only after COMMIT, so a worker that dies loses
nothing: devices resend what was not acknowledged. While the database is away the worker stops
reading, so that the backpressure reaches the broker and then the devices.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event, Thread
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tcuq.telemetry import PLAIN, SIGNED, Reason
from tcuq_fleet.errors import FleetError
from tcuq_fleet.ingest.broker_watch import PROBE_EVERY_S, BrokerWatch
from tcuq_fleet.ingest.metrics import IngestMetrics
from tcuq_fleet.ingest.validation import ValidationResult, Validator
from tcuq_fleet.mqtt import Message, MqttClient
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.claims import OPEN, Claims
from tcuq_fleet.store.connection import DatabaseUnavailableError, next_backoff_s
from tcuq_fleet.store.interface import RecordStore, open_store

log = logging.getLogger("tcuq_fleet.ingest")

MAX_SINGLE = SIGNED.itemsize + 1  # kept of a single record's payload: more than any valid one
IDLE_S = 0.05  # a pending batch is stored when no message arrives for this long
MAX_BACKOFF_S = 30.0
DATABASE_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Limits:
    """When a pending batch is stored: at the first of these limits."""

    records: int = 20_000
    age_s: float = 0.25  # since its first message
    payload_bytes: int = 16 << 20  # bounds the worker's memory


class PendingBatch:
    """Messages received but not yet stored."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.payload_bytes = 0
        self.started = 0.0  # when the first message arrived

    def add(self, messages: list[Message]) -> None:
        """Append messages and note when the first arrived."""
        if messages and not self.messages:
            self.started = time.monotonic()
        for message in messages:
            if len(message.payload) > MAX_SINGLE and message.topic.endswith(b"/record"):
                message = message._replace(payload=message.payload[:MAX_SINGLE])  # noqa: PLW2901
            self.messages.append(message)
            self.payload_bytes += len(message.payload)

    def reaches(self, limits: Limits) -> bool:
        """Return whether it is time to store the messages."""
        return bool(self.messages) and (
            self.payload_bytes >= min(limits.payload_bytes, limits.records * PLAIN.itemsize)
            or time.monotonic() - self.started >= limits.age_s
        )


class DatabaseProbe:
    """Sets a worker's database gauge every few seconds, in its own thread, until the block ends."""

    def __init__(self, store: RecordStore, metrics: IngestMetrics) -> None:
        self._store, self._metrics = store, metrics
        self._stopping = Event()
        self._thread = Thread(target=self._run, daemon=True, name="database probe")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()

    def _run(self) -> None:
        answered = True
        while not self._stopping.is_set():
            try:
                self._store.probe()
            except DatabaseUnavailableError as error:
                self._metrics.database.set(0)
                if answered:
                    log.warning("%s", error)
                answered = False
            else:
                self._metrics.database.set(1)
                answered = True
            self._stopping.wait(DATABASE_EVERY_S)


Commit = Future[tuple[PendingBatch, bytes]]


class Worker:
    """Receives, validates and stores messages until `stopping` is set.

    `database` is as `open_store` takes it; `connect` is called again whenever the connection to the
    broker is lost. `mount_point` precedes every topic of the devices' listener.
    """

    def __init__(
        self,
        database: str | Sequence[str],
        connect: Callable[[], MqttClient],
        *,
        validator: Validator | None = None,
        claims: Claims = OPEN,
        limits: Limits = Limits(),
        mount_point: str = "",
    ) -> None:
        self.metrics = IngestMetrics()
        self.stopping = Event()
        self._connect = connect
        self._limits, self._mount_point = limits, mount_point
        self._watch = BrokerWatch(self.metrics.registry, mount_point)
        self._store = open_store(database, claims, self.metrics.observe_database)
        self._validator = validator or Validator()

    def run(self) -> None:
        """Work until `stopping` is set; store and acknowledge what was received by then."""
        delay_s = 0.0
        with DatabaseProbe(self._store, self.metrics), ThreadPoolExecutor(1) as executor:
            while not self.stopping.wait(delay_s):
                self.metrics.beat()
                try:
                    with self._connect() as client:
                        self.metrics.broker.set(1)
                        delay_s = 0.0
                        self._work(client, executor)
                except FleetError as error:
                    self.metrics.broker.set(0)
                    self.metrics.failures.labels("broker").inc()
                    delay_s = next_backoff_s(delay_s, 0.2, MAX_BACKOFF_S)
                    log.warning("%s; retrying in %.1f s", error, delay_s)
                    self.metrics.beat()
        self._store.close()

    def _work(self, client: MqttClient, executor: ThreadPoolExecutor) -> None:
        """Collect a batch while the previous one is stored; acknowledge each after its COMMIT."""
        pending = PendingBatch()
        commit: Commit | None = None
        oldest: float | None = None
        while not self.stopping.is_set():
            self.metrics.beat(oldest)
            client.publish(self._watch.probes())
            messages = self._watch.take(client.receive(self._wait_s(pending, commit)))
            pending.add(messages)
            full = pending.reaches(self._limits)
            if commit is not None and (full or commit.done()):
                self._acknowledge(commit, client)
                commit = None
            if commit is None and pending.messages and (full or not messages):
                commit, oldest = executor.submit(self._store_batch, pending), pending.started
                pending = PendingBatch()
            elif commit is None:
                oldest = pending.started if pending.messages else None
        if commit is not None:
            self._acknowledge(commit, client)
        if pending.messages:
            self._acknowledge(executor.submit(self._store_batch, pending), client)

    @staticmethod
    def _wait_s(pending: PendingBatch, commit: Commit | None) -> float:
        return IDLE_S if pending.messages or commit else PROBE_EVERY_S

    def _acknowledge(self, commit: Commit, client: MqttClient) -> None:
        """Wait for a batch's COMMIT, keep the broker connection alive, then acknowledge it."""
        while not wait([commit], timeout=1.0).done:
            self.metrics.beat(self.metrics.oldest)
            client.ping()
        batch, acks = commit.result()
        client.acknowledge(batch.messages, acks)
        self.metrics.stored(batch.started, len(batch.messages))

    def _store_batch(self, pending: PendingBatch) -> tuple[PendingBatch, bytes]:
        """Store messages, however long the database is away; return the acknowledgements."""
        result = self._validator.validate(pending.messages)
        began = time.monotonic()
        batch, acks = self._put(result)
        self.metrics.commit.observe(time.monotonic() - began)
        self.metrics.batch.observe(len(batch.records))
        publications = result.encode_acks(batch, acks, self._mount_point)
        self.metrics.count(result, int((batch.reasons[batch.rows] == Reason.FINE).sum()))
        return pending, publications

    def _put(self, result: ValidationResult) -> tuple[Batch, NDArray[np.void]]:
        """Put records and dead letters into the store, retrying while the database is away."""
        delay_s = 0.0
        while True:
            try:
                batch, acks = self._store.put(result.parts, result.dead_letters)
            except DatabaseUnavailableError as error:
                self.metrics.database.set(0)
                self.metrics.failures.labels("database").inc()
                delay_s = next_backoff_s(delay_s, 0.2, MAX_BACKOFF_S)
                log.warning("%s; retrying in %.1f s", error, delay_s)
                if self.stopping.wait(delay_s):
                    raise FleetError("stopped while the database was away") from None
            else:
                self.metrics.database.set(1)
                return batch, acks
