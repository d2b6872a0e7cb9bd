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
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import FleetError
from tcuq.fleet.ingest.gauges import Gauges
from tcuq.fleet.ingest.intake import Intake, Taken
from tcuq.fleet.mqtt import Link, Message
from tcuq.fleet.store.batch import Batch
from tcuq.fleet.store.migrate import migrate
from tcuq.fleet.store.tables import Store
from tcuq.record import Keys

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
        self._database = database
        self._open_link = link
        self._limits = limits
        self._store: Store | None = None
        self._intake = Intake(self._site, gateways, keys, quota)

    def run(self) -> None:
        """Work until `stopping` is set; what was taken by then is stored and acknowledged."""
        delay_s = 0.0
        while not self.stopping.wait(delay_s):
            try:
                with self._open_link() as link:
                    self.gauges.broker.set(1)
                    delay_s = 0.0
                    while not self.stopping.is_set():
                        self._batch(link)
            except FleetError as error:
                self.gauges.broker.set(0)
                self.gauges.failures.labels("broker").inc()
                delay_s = self._backed_off(delay_s)
                log.warning("%s; again in %.1f s", error, delay_s)
        if self._store is not None:
            self._store.connection.close()

    def _batch(self, link: Link) -> None:
        """Gather messages up to the limits, store them, and only then acknowledge."""
        messages: list[Message] = []
        size, first = 0, 0.0
        while not self.stopping.is_set():
            self.gauges.turned = time.monotonic()
            more = link.receive(IDLE_S if messages else 1.0)
            if not more and messages:
                break
            first = first or time.monotonic()
            messages += more
            size += sum(len(message.payload) for message in more)
            if (
                size >= self._limits.payload_bytes
                or size >= self._limits.records * 87
                or (messages and time.monotonic() - first >= self._limits.age_s)
            ):
                break
        if messages:
            taken, told = self._stored(messages, link)
            link.acknowledge(messages, taken.answers(told))
            self.gauges.lag.set(time.monotonic() - first)

    def _stored(self, messages: list[Message], link: Link) -> tuple[Taken, NDArray[Any]]:
        """Store messages, however long the database is away; the broker hears from us meanwhile."""
        taken = self._with_database(lambda: self._intake.take(messages), link)
        batch = Batch.of(taken.parts)
        began = time.monotonic()
        told = self._with_database(lambda: self._opened().put(batch, taken.letters), link)
        self.gauges.commit.observe(time.monotonic() - began)
        self.gauges.batch.observe(len(batch.records))
        self.gauges.count(taken, len(batch.rows))
        return taken, np.asarray(told[batch.rows])

    def _with_database(self, work: Callable[[], Any], link: Link) -> Any:  # noqa: ANN401 - what work gives
        import psycopg

        delay_s = 0.0
        while True:
            try:
                done = work()
            except psycopg.OperationalError as error:
                self._store = None
                self.gauges.database.set(0)
                self.gauges.failures.labels("database").inc()
                delay_s = self._backed_off(delay_s)
                log.warning("the database: %s; again in %.1f s", _first_line(error), delay_s)
                self._wait(delay_s, link)
            else:
                self.gauges.database.set(1)
                return done

    def _wait(self, delay_s: float, link: Link) -> None:
        """Let time pass while the broker hears that we live."""
        if self.stopping.wait(delay_s):
            raise FleetError("stopped while the database was away: nothing was acknowledged")
        self.gauges.turned = time.monotonic()
        link.ping()

    def _site(self, name: str) -> int:
        return self._opened().site(name)

    def _opened(self) -> Store:
        if self._store is None:
            self._store = Store(self._database)
            migrate(self._store.connection)
        return self._store

    @staticmethod
    def _backed_off(delay_s: float) -> float:
        return min(MAX_WAIT_S, max(0.2, delay_s * 2)) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
