# SPDX-License-Identifier: Apache-2.0
"""A worker between a real broker and a real database."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest

from fleet.tests.fixtures.sender import Sender, records_of, wait_for
from fleet.tests.fixtures.stored_records import add_gateway
from tcuq.telemetry import Reason, sealed
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.ingest.worker import Worker
from tcuq_fleet.mqtt import BrokerAddress, MqttClient
from tcuq_fleet.servers import Broker, Postgres
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import SHARED_FILTERS

RunWorker = Callable[..., AbstractContextManager[Worker]]


@pytest.fixture
def run_worker(database: str, broker: Broker) -> RunWorker:
    """Return a context manager that runs a worker in a thread."""
    add_gateway(database)

    @contextmanager
    def run(quota: int = 1000) -> Iterator[Worker]:
        address = BrokerAddress("127.0.0.1", broker.port)
        worker = Worker(
            database,
            lambda: MqttClient(address, SHARED_FILTERS),
            validator=Validator(quota=quota),
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
    """Return whether the worker is connected to its broker."""
    return worker.metrics.registry.get_sample_value("tcuq_ingest_broker_connected") == 1


def steps(store: Store) -> int:
    """Return the sum of steps over all cohorts."""
    row = store.connection.execute("SELECT coalesce(sum(steps), 0) FROM cohorts").fetchone()
    return int(row[0]) if row else 0


def dead_letters(store: Store) -> dict[Reason, int]:
    """Return the number of dead letters by reason."""
    rows = store.connection.execute("SELECT reason, count(*) FROM dead_letters GROUP BY reason")
    return {Reason(reason): count for reason, count in rows}


def test_devices_are_acknowledged_after_their_records_are_stored(
    run_worker: RunWorker, broker: Broker, store: Store
) -> None:
    """Two records of 200 devices, some sent twice, are stored once and acknowledged."""
    with run_worker(), Sender(broker.port) as sender:
        sender.send(records_of(range(200)))
        sender.send(records_of(range(200), sequence=1))
        sender.send(records_of(range(50), sequence=1))
        wait_for(lambda: sum(sender.acknowledged.values()) == 200)
        assert sender.acknowledged == {(device, 1): 1 for device in range(200)}
    assert steps(store) == 200 * 200
    assert dead_letters(store) == {}


def test_a_gateway_sends_for_many_devices(
    run_worker: RunWorker, broker: Broker, store: Store
) -> None:
    """A message of 300 records is stored, and its acknowledgement names each device."""
    with run_worker(), Sender(broker.port) as sender:
        topic = "tcuq/paris/gate-1/records"
        sender.client.publish(topic, records_of(range(300)).tobytes(), qos=1)
        wait_for(lambda: len(sender.acknowledged) == 300)
    assert steps(store) == 300 * 100


def test_refused_messages_become_dead_letters(
    run_worker: RunWorker, broker: Broker, store: Store
) -> None:
    """Invalid bytes, topics and gateways give dead letters; the next record is stored."""
    good = records_of([1])
    flipped = bytearray(good.tobytes())
    flipped[40] ^= 1
    impossible = records_of([1])
    impossible["abstained"] = 101
    with run_worker(), Sender(broker.port) as sender:
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
        wait_for(lambda: len(sender.acknowledged) == 1)
    assert steps(store) == 100
    assert dead_letters(store) == {
        Reason.CHECKSUM: 1,
        Reason.DEVICE: 1,
        Reason.GATEWAY: 1,
        Reason.VERSION: 1,
        Reason.TOPIC: 1,
        Reason.SIZE: 1,
        Reason.COUNTERS: 1,
    }


def test_a_device_above_its_quota_is_cut_off(
    run_worker: RunWorker, broker: Broker, store: Store
) -> None:
    """Records above the quota are not stored and leave no dead letters; others are stored."""
    with run_worker(quota=5) as worker, Sender(broker.port) as sender:
        for sequence in range(20):
            sender.send(records_of([1], sequence=sequence))
        sender.send(records_of([2]))
        wait_for(lambda: (2, 1) in sender.acknowledged)
        sample = worker.metrics.registry.get_sample_value
        wait_for(lambda: sample("tcuq_ingest_refused_total", {"reason": "quota"}) == 15)
    assert steps(store) == 500 + 100
    assert dead_letters(store) == {}


def test_a_worker_waits_for_a_database_that_is_away(
    run_worker: RunWorker, broker: Broker, postgres: Postgres, database: str
) -> None:
    """Messages received meanwhile are stored and acknowledged when the database is back."""
    with run_worker() as worker, Sender(broker.port) as sender:
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
        postgres.stop("immediate")
        sender.send(records_of(range(2, 100)))
        wait_for(lambda: not worker.metrics.ready)
        assert len(sender.acknowledged) == 1
        postgres.start()
        wait_for(lambda: len(sender.acknowledged) == 99)
    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT sum(steps) FROM cohorts").fetchone() == (9900,)


def test_waiting_for_the_database_used_up_the_devices_quotas(
    run_worker: RunWorker, broker: Broker, postgres: Postgres, store: Store
) -> None:
    """A batch that is retried counts once: devices within their quota are stored."""
    store.connection.close()
    with run_worker(quota=2) as worker, Sender(broker.port) as sender:
        postgres.stop("immediate")
        sender.send(records_of(range(20)))
        sample = worker.metrics.registry.get_sample_value
        labels = {"server": "database"}
        wait_for(lambda: (sample("tcuq_ingest_failures_total", labels) or 0) >= 4)
        postgres.start()
        wait_for(lambda: len(sender.acknowledged) == 20)


def test_a_worker_reconnects_to_a_restarted_broker(
    run_worker: RunWorker, broker: Broker, store: Store
) -> None:
    """After a broker's crash the worker subscribes again."""
    with run_worker() as worker, Sender(broker.port) as sender:
        broker.stop()
        wait_for(lambda: not worker.metrics.ready)
        broker.start()
        wait_for(lambda: connected(worker))
        wait_for(sender.client.is_connected)
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
    assert steps(store) == 100
