# SPDX-License-Identifier: Apache-2.0
"""Ingest: a stateless worker from the broker to the store; as many of them as are needed.

A message is acknowledged, and its device told "stored", only after COMMIT. A worker that dies loses
nothing: what it had not acknowledged is sent again by the devices. While the database is away the
worker reads nothing more, so that the broker holds back, and then the devices.
"""

import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import FleetError
from tcuq.fleet.ingest.gauges import Gauges
from tcuq.fleet.ingest.intake import Intake, Taken
from tcuq.fleet.mqtt import Link, Message
from tcuq.fleet.store.batch import Batch
from tcuq.fleet.store.tables import StandingStore
from tcuq.telemetry import PLAIN, Keys

log = logging.getLogger("tcuq.fleet.ingest")

IDLE_S = 0.05  # with nothing more to come, a batch does not wait to grow
MAX_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a batch may grow, and how old.

    Parameters
    ----------
    records
        From so many on it is stored.
    age_s
        So long after its first message it is stored.
    payload_bytes
        From so much on it is stored: what a worker holds in memory.
    """

    records: int = 20_000
    age_s: float = 1.0
    payload_bytes: int = 16 << 20


class Heap:
    """Messages on their way into one batch."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.size = 0
        self.since = 0.0  # when the first one came

    def add(self, messages: list[Message]) -> None:
        """More of them."""
        if messages and not self.messages:
            self.since = time.monotonic()
        self.messages += messages
        self.size += sum(len(message.payload) for message in messages)

    def reaches(self, limits: Limits) -> bool:
        """Whether it is time to store them."""
        return bool(self.messages) and (
            self.size >= min(limits.payload_bytes, limits.records * PLAIN.itemsize)
            or time.monotonic() - self.since >= limits.age_s
        )


class Worker:
    """Takes messages until it is told to stop.

    Parameters
    ----------
    database
        As `Store` takes it.
    link
        Makes a connection to the broker; called again whenever one is lost.
    gateways, keys, quota
        As `Intake` takes them.
    """

    def __init__(
        self,
        database: str,
        link: Callable[[], Link],
        *,
        gateways: frozenset[str] = frozenset(),
        keys: Keys | None = None,
        quota: int = 120,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        self.gauges = Gauges()
        self.stopping = Event()
        self._open_link = link
        self._limits = limits
        self._store = StandingStore(database)
        self._intake = Intake(gateways, keys, quota)

    def run(self) -> None:
        """Work until `stopping` is set; what was taken by then is stored and acknowledged."""
        delay_s = 0.0
        with ThreadPoolExecutor(1) as storing:
            while not self.stopping.wait(delay_s):
                try:
                    with self._open_link() as link:
                        self.gauges.broker.set(1)
                        delay_s = 0.0
                        self._work(link, storing)
                except FleetError as error:
                    self.gauges.broker.set(0)
                    self.gauges.failures.labels("broker").inc()
                    delay_s = backed_off(delay_s)
                    log.warning("%s; again in %.1f s", error, delay_s)
        self._store.close()

    def _work(self, link: Link, storing: ThreadPoolExecutor) -> None:
        """Gather a batch while the one before is stored; acknowledge each after its COMMIT."""
        heap = Heap()
        stored: Future[tuple[Heap, bytes]] | None = None
        while not self.stopping.is_set():
            self.gauges.turned = time.monotonic()
            more = link.receive(IDLE_S if heap.messages or stored else 1.0)
            heap.add(more)
            full = heap.reaches(self._limits)
            if stored is not None and (full or stored.done()):
                self._answered(stored, link)
                stored = None
            if stored is None and heap.messages and (full or not more):
                stored = storing.submit(self._stored, heap)
                heap = Heap()
        if stored is not None:
            self._answered(stored, link)
        if heap.messages:
            self._answered(storing.submit(self._stored, heap), link)

    def _answered(self, stored: "Future[tuple[Heap, bytes]]", link: Link) -> None:
        """Wait for a batch's COMMIT, while the broker hears that we live; then acknowledge it."""
        while not wait([stored], timeout=1.0).done:
            self.gauges.turned = time.monotonic()
            link.ping()
        heap, answers = stored.result()
        link.acknowledge(heap.messages, answers)
        self.gauges.lag.set(time.monotonic() - heap.since)

    def _stored(self, heap: "Heap") -> "tuple[Heap, bytes]":
        """Store messages, however long the database is away; what to answer."""
        taken = self._intake.take(heap.messages)
        began = time.monotonic()
        batch, told = self._put(taken)
        self.gauges.commit.observe(time.monotonic() - began)
        self.gauges.batch.observe(len(batch.records))
        self.gauges.count(taken, len(batch.rows))
        return heap, taken.answers(told[batch.rows])

    def _put(self, taken: Taken) -> tuple[Batch, NDArray[np.void]]:
        """As the store does, again and again until it is there."""
        import psycopg

        delay_s = 0.0
        while True:
            try:
                done = self._store.put(taken.parts, taken.letters)
            except psycopg.OperationalError as error:
                self._store.close()
                self.gauges.database.set(0)
                self.gauges.failures.labels("database").inc()
                delay_s = backed_off(delay_s)
                log.warning("the database: %s; again in %.1f s", _first_line(error), delay_s)
                if self.stopping.wait(delay_s):
                    raise FleetError("stopped while the database was away") from None
            else:
                self.gauges.database.set(1)
                return done


def backed_off(delay_s: float) -> float:
    """The next wait after a failure: twice as long, and not the same for everybody."""
    return min(MAX_WAIT_S, max(0.2, delay_s * 2)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
