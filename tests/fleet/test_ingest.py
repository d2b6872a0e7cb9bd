# SPDX-License-Identifier: Apache-2.0
"""A worker between a real broker and a real database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest
from sending import Sender, records_of, wait_for

from tcuq.fleet.ingest.worker import Worker
from tcuq.fleet.mqtt import Link, Place
from tcuq.fleet.servers import Broker, Postgres
from tcuq.fleet.store.tables import Store
from tcuq.fleet.wire import SHARED
from tcuq.telemetry import Reason
from tools.measurements.fleet_load import sealed

Running = Callable[..., AbstractContextManager[Worker]]


@pytest.fixture
def working(database: str, broker: Broker) -> Running:
    """Runs a worker in a thread for as long as the context lasts."""

    @contextmanager
    def run(quota: int = 1000) -> Iterator[Worker]:
        place = Place("127.0.0.1", broker.port)
        worker = Worker(
            database, lambda: Link(place, SHARED), gateways=frozenset(["gate-1"]), quota=quota
        )
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            wait_for(lambda: connected(worker))
            yield worker
        finally:
            worker.stopping.set()
            thread.join()

    return run


def connected(worker: Worker) -> bool:
    """Whether the worker has its broker."""
    return worker.gauges.registry.get_sample_value("tcuq_ingest_broker_connected") == 1


def steps(store: Store) -> int:
    """Over all cohorts."""
    row = store.connection.execute("SELECT coalesce(sum(steps), 0) FROM cohorts").fetchone()
    return int(row[0]) if row else 0


def letters(store: Store) -> dict[Reason, int]:
    """Dead letters by reason."""
    rows = store.connection.execute("SELECT reason, count(*) FROM dead_letters GROUP BY reason")
    return {Reason(reason): count for reason, count in rows}


def test_devices_are_told_after_their_records_are_stored(
    working: Running, broker: Broker, store: Store
) -> None:
    """Two hundred devices, each on its topic, two records each, one of them sent twice."""
    with working(), Sender(broker.port) as sender:
        sender.send(records_of(range(200)))
        sender.send(records_of(range(200), sequence=1))
        sender.send(records_of(range(50), sequence=1))
        wait_for(lambda: sum(sender.told.values()) == 200)
        assert sender.told == {(device, 1): 1 for device in range(200)}
    assert steps(store) == 200 * 200
    assert letters(store) == {}


def test_a_gateway_sends_for_many(working: Running, broker: Broker, store: Store) -> None:
    """One message of 300 records; the answer names each of them."""
    with working(), Sender(broker.port) as sender:
        topic = "tcuq/paris/gate-1/records"
        sender.client.publish(topic, records_of(range(300)).tobytes(), qos=1)
        wait_for(lambda: len(sender.told) == 300)
    assert steps(store) == 300 * 100


def test_what_is_refused_is_a_dead_letter_and_stops_nothing(
    working: Running, broker: Broker, store: Store
) -> None:
    """Bad bytes, other devices' topics, strange gateways: reasons are kept, the next is stored."""
    good = records_of([1])
    flipped = bytearray(good.tobytes())
    flipped[40] ^= 1
    impossible = records_of([1])
    impossible["abstained"] = 101
    with working(), Sender(broker.port) as sender:
        for topic, payload in {
            "tcuq/berlin/0000000000000001/record": bytes(flipped),
            "tcuq/berlin/0000000000000002/record": good.tobytes(),
            "tcuq/berlin/gate-2/records": good.tobytes(),
            "tcuq/berlin/gate-1/records": b"\x09" + good.tobytes(),
            "tcuq/BERLIN/0000000000000001/record": good.tobytes(),
            "tcuq/berlin/0000000000000003/record": good.tobytes()[:50],
        }.items():
            sender.client.publish(topic, payload, qos=1)
        sender.send(sealed(impossible))
        sender.send(good)
        wait_for(lambda: len(sender.told) == 1)
    assert steps(store) == 100
    assert letters(store) == {
        Reason.CHECKSUM: 1,
        Reason.DEVICE: 1,
        Reason.GATEWAY: 1,
        Reason.VERSION: 1,
        Reason.TOPIC: 1,
        Reason.SIZE: 1,
        Reason.COUNTERS: 1,
    }


def test_a_device_that_floods_is_cut_off_and_others_are_not(
    working: Running, broker: Broker, store: Store
) -> None:
    """Beyond its quota nothing of it is stored; it leaves no letters."""
    with working(quota=5) as worker, Sender(broker.port) as sender:
        for sequence in range(20):
            sender.send(records_of([1], sequence=sequence))
        sender.send(records_of([2]))
        wait_for(lambda: (2, 1) in sender.told)
        sample = worker.gauges.registry.get_sample_value
        wait_for(lambda: sample("tcuq_ingest_refused_total", {"reason": "quota"}) == 15)
    assert steps(store) == 500 + 100
    assert letters(store) == {}


def test_a_worker_waits_for_a_database_that_is_away(
    working: Running, broker: Broker, postgres: Postgres, database: str
) -> None:
    """What came meanwhile is stored when it is back, and nobody was told before."""
    with working() as worker, Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.told) == 1)
        postgres.stop("immediate")
        sender.send(records_of(range(2, 100)))
        wait_for(lambda: not worker.gauges.ready)
        assert len(sender.told) == 1
        postgres.start()
        wait_for(lambda: len(sender.told) == 99)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT sum(steps) FROM cohorts").fetchone() == (9900,)


def test_waiting_for_the_database_used_up_the_devices_quotas(
    working: Running, broker: Broker, postgres: Postgres, store: Store
) -> None:
    """A batch that is tried again is counted once: devices within their quota are stored."""
    store.connection.close()
    with working(quota=2) as worker, Sender(broker.port) as sender:
        postgres.stop("immediate")
        sender.send(records_of(range(20)))
        sample = worker.gauges.registry.get_sample_value
        lost = {"server": "database"}
        wait_for(lambda: (sample("tcuq_ingest_failures_total", lost) or 0) >= 4)
        postgres.start()
        wait_for(lambda: len(sender.told) == 20)


def test_a_worker_finds_a_broker_that_comes_back(
    working: Running, broker: Broker, store: Store
) -> None:
    """After a crash of the broker the subscription is made again."""
    with working() as worker, Sender(broker.port) as sender:
        broker.stop()
        wait_for(lambda: not worker.gauges.ready)
        broker.start()
        wait_for(lambda: connected(worker))
        wait_for(sender.client.is_connected)
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.told) == 1)
    assert steps(store) == 100
