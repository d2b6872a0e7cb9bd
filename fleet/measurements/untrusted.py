# SPDX-License-Identifier: Apache-2.0
"""Untrusted clients send damaged, cut, repeated and foreign records; none of them is stored."""

import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psycopg

from fleet.tests.fixtures.load import Array, hour_of
from results.result import Row, arguments, report
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.ingest.worker import Worker
from tcuq_fleet.mqtt import BrokerAddress, MqttClient, encode_publish
from tcuq_fleet.servers import Broker, Postgres
from tcuq_fleet.store.migrate import migrate
from tcuq_fleet.wire import SHARED_FILTERS, record_topic

DEVICES = 1000
CHUNK = 5000  # messages sent together


def damaged_messages(true: Array, count: int, rng: np.random.Generator) -> list[tuple[str, bytes]]:
    """Topics and payloads, of every kind alike: flipped bits, cut, repeated, another's topic."""
    messages = []
    for turn in range(count):
        one = true[turn % len(true)]
        topic, payload = record_topic("berlin", int(one["device"])), bytearray(one.tobytes())
        kind = turn % 5
        if kind == 0:
            payload[rng.integers(0, 87)] ^= 1 << rng.integers(0, 8)
        elif kind == 1:
            payload = payload[: rng.integers(0, 87)]
        elif kind == 2:
            payload += bytes(rng.integers(1, 200))
        elif kind == 3:
            topic = record_topic("berlin", int(true[(turn + 1) % len(true)]["device"]))
        messages.append((topic, bytes(payload)))
    return messages


def send_untrusted(database: str, port: int, count: int) -> tuple[dict[str, int], float]:
    """Send a worker valid records, then damaged ones; counts of the outcome, and the rate."""
    address = BrokerAddress("127.0.0.1", port)
    worker = Worker(
        database, lambda: MqttClient(address, SHARED_FILTERS), validator=Validator(quota=60_000)
    )
    thread = threading.Thread(target=worker.run)
    thread.start()
    true = hour_of(DEVICES, 1)
    honest = [(record_topic("berlin", int(r["device"])), r.tobytes()) for r in true]
    sample = worker.metrics.registry.get_sample_value
    while not sample("tcuq_ingest_broker_connected"):
        time.sleep(0.05)
    began = time.perf_counter()
    with MqttClient(address, ["tcuq/+/+/stored"]) as link:
        for sending in (honest, damaged_messages(true, count, np.random.default_rng(0))):
            for at in range(0, len(sending), CHUNK):
                link.acknowledge([], packets_of(sending[at : at + CHUNK]))
                while link.receive(0.01):
                    pass
        while examined(worker) < DEVICES + count and thread.is_alive():
            link.receive(0.1)
    took = time.perf_counter() - began
    outcome = {"alive": int(thread.is_alive()), "examined": examined(worker)}
    worker.stopping.set()
    thread.join()
    return outcome | totals(database), count / took


def packets_of(messages: list[tuple[str, bytes]]) -> bytes:
    """The messages as MQTT packets, one after another."""
    return b"".join(
        encode_publish(topic, payload, number)
        for number, (topic, payload) in enumerate(messages, 1)
    )


def examined(worker: Worker) -> int:
    """How many records the worker has stored or refused."""
    return int(
        sum(
            sample.value
            for metric in worker.metrics.registry.collect()
            if metric.name in ("tcuq_ingest_records", "tcuq_ingest_refused")
            for sample in metric.samples
            if sample.name.endswith("_total")
        )
    )


def totals(database: str) -> dict[str, int]:
    """Devices, steps and dead letters that the tables hold."""
    with psycopg.connect(database) as connection:
        stored = connection.execute(
            "SELECT count(*), sum(steps), (SELECT sum(steps) FROM cohorts),"
            " (SELECT count(*) FROM dead_letters) FROM devices"
        ).fetchone()
    names = ("devices", "steps", "cohort_steps", "letters")
    return {name: int(value) for name, value in zip(names, stored or (), strict=True)}


def main() -> None:
    """Send and report; --short: a tenth of it."""
    args = arguments()
    count = 10_000 if args.short else 100_000
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        postgres, broker = Postgres(Path(name)), Broker(Path(name) / "broker")
        postgres.start()
        broker.start()
        try:
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                migrate(connection)
            outcome, rate = send_untrusted(postgres.url, broker.port, count)
        finally:
            broker.stop()
            postgres.crash()
    right = outcome["devices"] == DEVICES and outcome["alive"] == 1
    right = right and outcome["steps"] == outcome["cohort_steps"] == 720 * DEVICES
    rows = [
        Row(
            f"{count:,} damaged, cut, repeated and foreign records: stored that should not be",
            "0, the worker stays up",
            f"0; {outcome['letters']:,} dead letters, {rate:,.0f} per second" if right else "some",
            right,
        )
    ]
    sys.exit(report("fleet_untrusted", rows, ("psycopg",), write=args.write))


if __name__ == "__main__":
    main()
