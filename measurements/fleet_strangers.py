# SPDX-License-Identifier: Apache-2.0
"""Strangers on the wire: damaged, cut, repeated and foreign records; nothing of it counts."""

import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psycopg

from fleet_load import Array, hour_of
from result import Row, arguments, report
from tcuq.fleet.ingest.worker import Worker
from tcuq.fleet.mqtt import Link, Place, packet, text
from tcuq.fleet.servers import Broker, Postgres
from tcuq.fleet.store.migrate import migrate
from tcuq.fleet.wire import SHARED, record_topic

DEVICES = 1000
HEAP = 5000  # messages sent together


def mischief(true: Array, count: int, rng: np.random.Generator) -> list[tuple[str, bytes]]:
    """Topics and payloads, of every kind alike: flipped bits, cut, repeated, another's topic."""
    made = []
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
        made.append((topic, bytes(payload)))
    return made


def attacked(database: str, port: int, count: int) -> tuple[dict[str, int], float]:
    """A worker that is sent true records once, then mischief; counts of the outcome, rate of it."""
    place = Place("127.0.0.1", port)
    worker = Worker(database, lambda: Link(place, SHARED), quota=60_000)
    thread = threading.Thread(target=worker.run)
    thread.start()
    true = hour_of(DEVICES, 1)
    honest = [(record_topic("berlin", int(r["device"])), r.tobytes()) for r in true]
    sample = worker.gauges.registry.get_sample_value
    while not sample("tcuq_ingest_broker_connected"):
        time.sleep(0.05)
    began = time.perf_counter()
    with Link(place, ["tcuq/+/+/stored"]) as link:
        for sending in (honest, mischief(true, count, np.random.default_rng(0))):
            for at in range(0, len(sending), HEAP):
                link.acknowledge([], heaped(sending[at : at + HEAP]))
                while link.receive(0.01):
                    pass
        while seen(worker) < DEVICES + count and thread.is_alive():
            link.receive(0.1)
    took = time.perf_counter() - began
    outcome = {"alive": int(thread.is_alive()), "seen": seen(worker)}
    worker.stopping.set()
    thread.join()
    return outcome | held(database), count / took


def heaped(messages: list[tuple[str, bytes]]) -> bytes:
    """As packets in a row."""
    return b"".join(
        packet(0x32, text(topic.encode()) + number.to_bytes(2, "big") + b"\x00" + payload)
        for number, (topic, payload) in enumerate(messages, 1)
    )


def seen(worker: Worker) -> int:
    """Records the worker has looked at."""
    return int(
        sum(
            sample.value
            for metric in worker.gauges.registry.collect()
            if metric.name in ("tcuq_ingest_records", "tcuq_ingest_refused")
            for sample in metric.samples
            if sample.name.endswith("_total")
        )
    )


def held(database: str) -> dict[str, int]:
    """What the tables hold."""
    with psycopg.connect(database) as connection:
        stored = connection.execute(
            "SELECT count(*), sum(steps), (SELECT sum(steps) FROM cohorts),"
            " (SELECT count(*) FROM dead_letters) FROM devices"
        ).fetchone()
    names = ("devices", "steps", "cohort_steps", "letters")
    return {name: int(value) for name, value in zip(names, stored or (), strict=True)}


def main() -> None:
    """Attack; --short: a tenth of it."""
    asked = arguments()
    count = 10_000 if asked.short else 100_000
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        postgres, broker = Postgres(Path(name)), Broker(Path(name) / "broker")
        postgres.start()
        broker.start()
        try:
            with psycopg.connect(postgres.url, autocommit=True) as connection:
                migrate(connection)
            outcome, rate = attacked(postgres.url, broker.port, count)
        finally:
            broker.stop()
            postgres.stop("immediate")
    right = outcome["devices"] == DEVICES and outcome["alive"] == 1
    right = right and outcome["steps"] == outcome["cohort_steps"] == 720 * DEVICES
    rows = [
        Row(
            f"{count:,} damaged, cut, repeated and foreign records: stored that should not be",
            "0, the worker stays up",
            f"0; {outcome['letters']:,} dead letters, {rate:,.0f} a second" if right else "some",
            right,
        )
    ]
    sys.exit(report("fleet_strangers", rows, ("psycopg",), write=asked.write))


if __name__ == "__main__":
    main()
