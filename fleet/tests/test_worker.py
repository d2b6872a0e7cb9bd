# SPDX-License-Identifier: Apache-2.0
"""A worker between a real broker and a real database."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from fleet.tests.fixtures.records import add_gateway, records_of
from fleet.tests.fixtures.sender import Sender, wait_for
from fleet.tests.fixtures.servers import running_worker, wait_until_connected
from tcuq.telemetry import Reason, sealed
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.ingest.worker import Worker
from tcuq_fleet.mqtt import BrokerAddress, MqttClient
from tcuq_fleet.servers import Broker, Postgres
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import shared_filters

RunWorker = Callable[..., AbstractContextManager[tuple[Worker, Sender]]]


@pytest.fixture
def run_worker(database: str, broker: Broker, broker_address: BrokerAddress) -> RunWorker:
    """Return a context manager that runs a connected worker and a sender."""
    add_gateway(database)

    @contextmanager
    def run(quota: int = 1000) -> Iterator[tuple[Worker, Sender]]:
        with running_worker(database, broker_address, Validator(quota=quota)) as worker:
            wait_until_connected(worker)
            with Sender(broker.port) as sender:
                yield worker, sender

    return run


def steps(store: Store) -> int:
    """Return the sum of steps over all cohorts."""
    row = store.connection.execute("SELECT coalesce(sum(steps), 0) FROM cohorts").fetchone()
    return int(row[0]) if row else 0


def dead_letters(store: Store) -> dict[Reason, int]:
    """Return the number of dead letters by reason."""
    rows = store.connection.execute("SELECT reason, count(*) FROM dead_letters GROUP BY reason")
    return {Reason(reason): count for reason, count in rows}


def test_devices_are_acknowledged_after_their_records_are_stored(
    run_worker: RunWorker, store: Store
) -> None:
    """Two records of 200 devices, some sent twice, are stored once and acknowledged."""
    with run_worker() as (_, sender):
        sender.send(records_of(range(200)))
        sender.send(records_of(range(200), sequence=1))
        sender.send(records_of(range(50), sequence=1))
        wait_for(lambda: sum(sender.acknowledged.values()) == 200)
        assert sender.acknowledged == {(device, 1): 1 for device in range(200)}
    assert steps(store) == 200 * 200
    assert dead_letters(store) == {}


def test_a_gateway_sends_for_many_devices(run_worker: RunWorker, store: Store) -> None:
    """A message of 300 records is stored, and its acknowledgement names each device."""
    with run_worker() as (_, sender):
        topic = "tcuq/paris/gate-1/records"
        sender.client.publish(topic, records_of(range(300)).tobytes(), qos=1)
        wait_for(lambda: len(sender.acknowledged) == 300)
    assert steps(store) == 300 * 100


def test_refused_messages_become_dead_letters(run_worker: RunWorker, store: Store) -> None:
    """Invalid bytes, topics and gateways give dead letters; the next record is stored."""
    good = records_of([1])
    flipped = bytearray(good.tobytes())
    flipped[40] ^= 1
    impossible = records_of([1])
    impossible["abstained"] = 101
    messages = [
        (Reason.CHECKSUM, "tcuq/berlin/0000000000000001/record", bytes(flipped)),
        (Reason.DEVICE, "tcuq/berlin/0000000000000002/record", good.tobytes()),
        (Reason.GATEWAY, "tcuq/berlin/gate-2/records", good.tobytes()),
        (Reason.VERSION, "tcuq/berlin/gate-1/records", b"\x09" + good.tobytes()),
        (Reason.TOPIC, "tcuq/BERLIN/0000000000000001/record", good.tobytes()),
        (Reason.SIZE, "tcuq/berlin/0000000000000003/record", good.tobytes()[:50]),
        (Reason.COUNTERS, "tcuq/berlin/0000000000000001/record", sealed(impossible).tobytes()),
    ]
    with run_worker() as (_, sender):
        for _, topic, payload in messages:
            sender.client.publish(topic, payload, qos=1)
        sender.send(good)
        wait_for(lambda: len(sender.acknowledged) == 1)
    assert steps(store) == 100
    assert dead_letters(store) == {reason: 1 for reason, _, _ in messages}


def test_a_device_above_its_quota_is_cut_off(run_worker: RunWorker, store: Store) -> None:
    """Records above the quota are not stored and leave no dead letters; others are stored."""
    with run_worker(quota=5) as (worker, sender):
        for sequence in range(20):
            sender.send(records_of([1], sequence=sequence))
        sender.send(records_of([2]))
        wait_for(lambda: (2, 1) in sender.acknowledged)
        sample = worker.metrics.registry.get_sample_value
        wait_for(lambda: sample("tcuq_ingest_refused_total", {"reason": "quota"}) == 15)
    assert steps(store) == 500 + 100
    assert dead_letters(store) == {}


def test_a_retried_batch_counts_once_against_the_quotas(
    run_worker: RunWorker, postgres: Postgres
) -> None:
    """Devices within their quota are stored, however often their batch is retried."""
    with run_worker(quota=2) as (worker, sender):
        postgres.crash()
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
    with run_worker() as (worker, sender):
        broker.stop()
        wait_for(lambda: not worker.metrics.ready)
        broker.start()
        wait_until_connected(worker)
        wait_for(sender.client.is_connected)
        sender.send(records_of([1]))
        wait_for(lambda: len(sender.acknowledged) == 1)
    assert steps(store) == 100


def test_messages_that_others_take_show_as_lost_probes(
    run_worker: RunWorker, broker_address: BrokerAddress
) -> None:
    """All probes arrive while workers alone share the subscription, and fewer beside a thief."""
    with run_worker() as (worker, _):
        sample = worker.metrics.registry.get_sample_value

        def lost() -> float:
            names = ("tcuq_ingest_probes_sent_total", "tcuq_ingest_probes_received_total")
            sent, received = (sample(name) or 0 for name in names)
            return sent - received

        wait_for(lambda: sample("tcuq_ingest_probes_received_total"))
        wait_for(lambda: sample("tcuq_broker_clients"))  # the broker's statistics arrive as well
        assert lost() <= 2  # that are under way
        with MqttClient(broker_address, shared_filters()):
            wait_for(lambda: lost() >= 3, 20)
