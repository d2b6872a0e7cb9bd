# SPDX-License-Identifier: Apache-2.0
"""Untrusted clients send damaged, truncated, repeated and foreign records; none is stored."""

import sys
import time

import numpy as np
import psycopg

from fleet.tests.fixtures.load import Array, hour_of
from fleet.tests.fixtures.servers import (
    local_broker,
    private_servers,
    running_worker,
    wait_until_connected,
)
from results.result import Row, arguments, report
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.ingest.worker import Worker
from tcuq_fleet.mqtt import MqttClient, encode_publish
from tcuq_fleet.wire import record_topic

DEVICES = 1000
CHUNK = 5000  # messages sent together
TOTALS = """
SELECT count(*), sum(steps)::bigint, (SELECT sum(steps)::bigint FROM cohorts),
    (SELECT count(*) FROM dead_letters)
FROM devices
"""


def damaged_messages(valid: Array, count: int, rng: np.random.Generator) -> list[tuple[str, bytes]]:
    """Return topics and payloads, a fifth each: bits flipped, cut, extended, foreign, repeated."""
    messages = []
    for turn in range(count):
        record = valid[turn % len(valid)]
        topic, payload = record_topic("berlin", int(record["device"])), bytearray(record.tobytes())
        kind = turn % 5
        if kind == 0:
            payload[rng.integers(0, 97)] ^= 1 << rng.integers(0, 8)
        elif kind == 1:
            payload = payload[: rng.integers(0, 97)]
        elif kind == 2:
            payload += bytes(rng.integers(1, 200))
        elif kind == 3:
            topic = record_topic("berlin", int(valid[(turn + 1) % len(valid)]["device"]))
        messages.append((topic, bytes(payload)))
    return messages


def send_untrusted(database: str, port: int, count: int) -> tuple[bool, float]:
    """Send a worker valid records, then damaged ones; return whether it examined all, and the rate.

    A worker that ends examines no more.
    """
    address, valid = local_broker(port), hour_of(DEVICES, 1)
    honest = [(record_topic("berlin", int(r["device"])), r.tobytes()) for r in valid]
    with running_worker(database, address, Validator(quota=60_000)) as worker:
        wait_until_connected(worker)
        began = time.perf_counter()
        with MqttClient(address, ["tcuq/+/+/stored"]) as client:
            for messages in (honest, damaged_messages(valid, count, np.random.default_rng(0))):
                for at in range(0, len(messages), CHUNK):
                    client.acknowledge([], packets_of(messages[at : at + CHUNK]))
                    while client.receive(0.01):
                        pass
            while examined(worker) < DEVICES + count and worker.metrics.alive:
                client.receive(0.1)
        seconds = time.perf_counter() - began
        return examined(worker) == DEVICES + count, count / seconds


def packets_of(messages: list[tuple[str, bytes]]) -> bytes:
    """Return the messages as MQTT packets, one after another."""
    return b"".join(
        encode_publish(topic, payload, number)
        for number, (topic, payload) in enumerate(messages, 1)
    )


def examined(worker: Worker) -> int:
    """Return how many records the worker has stored or refused."""
    return int(
        sum(
            sample.value
            for metric in worker.metrics.registry.collect()
            if metric.name in ("tcuq_ingest_records", "tcuq_ingest_refused")
            for sample in metric.samples
            if sample.name.endswith("_total")
        )
    )


def main() -> None:
    """Send and report; --short: a tenth of it."""
    args = arguments()
    count = 10_000 if args.short else 100_000
    with private_servers() as (postgres, broker):
        alive, rate = send_untrusted(postgres.url, broker.port, count)
        with psycopg.connect(postgres.url) as connection:
            totals = connection.execute(TOTALS.encode()).fetchone() or (0, 0, 0, 0)
    right = alive and totals[:3] == (DEVICES, 720 * DEVICES, 720 * DEVICES)
    rows = [
        Row(
            f"{count:,} damaged, cut, repeated and foreign records: stored that should not be",
            "0, the worker stays up",
            f"0; {totals[3]:,} dead letters, {rate:,.0f} per second" if right else "some",
            right,
        )
    ]
    sys.exit(report("fleet_untrusted", rows, ("psycopg",), write=args.write))


if __name__ == "__main__":
    main()
