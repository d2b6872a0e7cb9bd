# SPDX-License-Identifier: Apache-2.0
"""Ingest: records per second from the broker to the database, beside the same statement alone.

Broker, load, workers and PostgreSQL (fsync on) share this machine's cores.
"""

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, LiteralString, NamedTuple

import httpx
import numpy as np
import psycopg

from fleet.tests.fixtures.cpu import cpu_s, server_cpu_s
from fleet.tests.fixtures.load import (
    Array,
    acknowledged_rate,
    durations,
    hour_of,
    packets_of,
    run_statement,
    signed,
    stored_part,
)
from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import fleet_command, private_servers, running_process
from results.result import Row, figure, measure
from tcuq.telemetry import Keys, decode
from tcuq_fleet.judge.judge import count_evidence
from tcuq_fleet.mqtt import PacketReader
from tcuq_fleet.servers import Broker, Postgres, free_port
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.registry import Registry
from tcuq_fleet.store.statements import (
    INSERT,
    UPDATE,
)

BATCH = 20_000
WRITTEN: LiteralString = "SELECT pg_current_wal_lsn() - '0/0'"
PAIRS = 7
TURNS = 15  # of the workers and of the bare statement
PARTS = ("PostgreSQL", "workers", "broker", "load")
PAHO = "fleet.measurements.paho"


class Run(NamedTuple):
    """What a run measured."""

    rate: float  # records per second
    cpu_us: Array  # per record, of each of PARTS


class Bench:
    """Loaded servers, and a clock that advances so that every record is newer."""

    def __init__(self, postgres: Postgres, broker: Broker) -> None:
        self.postgres, self.broker = postgres, broker
        self.devices, self.hour = 0, 0
        with psycopg.connect(postgres.url, autocommit=True) as connection:
            Registry(connection).add_gateway("gate-1", ["berlin"])
        self.command = fleet_command(
            "ingest", "--claim", "open", "--database", postgres.url, "--broker", f"mqtt://127.0.0.1:{broker.port}",
            "--quota", "60000", "--gateway-quota", "60000",
        )  # fmt: skip

    def load(self, devices: int) -> None:
        """Store every device's first record in empty tables, and enrol it."""
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            connection.execute("TRUNCATE devices, cohorts, epochs, registry")
            for first in range(0, devices, 500_000):
                records = stored_part(hour_of(min(500_000, devices - first), 0, first))
                batches = np.array_split(records, len(records) // BATCH)
                run_statement(connection, map(encoded_rows, batches), INSERT)
            connection.execute(
                "INSERT INTO registry (device, site) SELECT device, site FROM devices"
            )
            connection.execute("VACUUM ANALYZE devices")
            connection.execute("VACUUM ANALYZE registry")
        self.devices = devices

    def next_hour(self, records: int) -> Array:
        """Return newer records of some of the devices."""
        self.hour += 1
        first = int(np.random.default_rng(self.hour).integers(0, self.devices - records + 1))
        return hour_of(records, self.hour, first)

    @contextmanager
    def connections(self, count: int) -> "Iterator[list[psycopg.Connection[Any]]]":
        """Open so many connections for the block."""
        with ExitStack() as stack:
            yield [
                stack.enter_context(psycopg.connect(self.postgres.url, autocommit=True))
                for _ in range(count)
            ]

    def bare(self, records: Array, connections: "Sequence[psycopg.Connection[Any]]") -> Run:
        """Run COPY and the statement alone."""
        batches = np.array_split(stored_part(records), max(1, len(records) // BATCH))
        encoded = [encoded_rows(batch) for batch in batches]
        threads = [
            threading.Thread(
                target=run_statement, args=(one, encoded[at :: len(connections)], UPDATE)
            )
            for at, one in enumerate(connections)
        ]
        used, began = self.cpu(), time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rate = len(records) / (time.perf_counter() - began)
        return Run(rate, 1e6 * (self.cpu() - used) / len(records))

    def through_workers(
        self, records: Array, workers: Sequence[int], keys: Keys | None = None
    ) -> Run:
        """Send messages of 200 records, signed if there are keys, to running workers."""
        if keys is not None:
            records = signed(records, keys)
        used = self.cpu(*workers)
        rate = acknowledged_rate(self.broker.port, records, 200, len(workers) * 60_000)
        return Run(rate, 1e6 * (self.cpu(*workers) - used) / len(records))

    def cpu(self, *workers: int) -> Array:
        """Return the CPU time of each of PARTS; the load's is that of this process."""
        return np.array(
            [
                server_cpu_s(self.postgres),
                sum(map(cpu_s, workers)),
                cpu_s(self.broker.pid),
                time.process_time(),
            ]
        )

    def bare_after_checkpoint(self, records: int) -> float:
        """Return the rate of one connection while every page it touches is written ahead whole."""
        with self.connections(1) as connections:
            connections[0].execute("CHECKPOINT")
            return self.bare(self.next_hour(records), connections).rate

    def cost(self, records: Array, statement: LiteralString) -> tuple[float, float]:
        """Return microseconds of the server's CPU and bytes of WAL per record of one statement."""
        encoded = [encoded_rows(part) for part in np.array_split(stored_part(records), 5)]
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            began, written = cpu_s(connection.info.backend_pid), self.number(WRITTEN)
            run_statement(connection, encoded, statement)
            seconds = cpu_s(connection.info.backend_pid) - began
        return 1e6 * seconds / len(records), (self.number(WRITTEN) - written) / len(records)

    @contextmanager
    def workers(self, count: int, command: list[str] | None = None) -> Iterator[list[int]]:
        """Run so many workers; the block begins when all subscribe. Yield their process ids."""
        log, pids = self.postgres.folder / "ingest.log", []
        with ExitStack() as stack:
            for _ in range(count):
                port = free_port()
                line = [*(command or self.command), "--http", str(port)]
                pids.append(stack.enter_context(running_process(line, log)).pid)
                wait_for(partial(is_ready, port), 120)
            yield pids

    @contextmanager
    def paho_worker(self) -> Iterator[None]:
        """Run one worker over paho, which has no health page."""
        line = [sys.executable, "-m", PAHO, self.postgres.url, str(self.broker.port)]
        with running_process(line, self.postgres.folder / "paho.log"):
            time.sleep(20)  # until it subscribes, on a busy machine too
            yield

    def number(self, query: LiteralString) -> float:
        """Return the number that a query yields."""
        with psycopg.connect(self.postgres.url) as connection:
            ((value,),) = connection.execute(query).fetchall()
            return float(value)


def is_ready(port: int) -> bool:
    """Return whether a worker is connected to its broker and its database."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", timeout=10).status_code == 200
    except httpx.HTTPError:
        return False


def encoded_rows(records: Array) -> bytearray:
    """Return records of site 1, each of another device, as COPY takes them."""
    batch = Batch.of([(records, 1)])
    return batch.to_copy_binary(np.arange(len(records)))


def decoding() -> Row:
    """Return how many records per second one core decodes."""
    buffer = hour_of(1_000_000, 3).tobytes()
    rates = []
    for _ in range(5):
        began = time.process_time()
        decoded = decode(buffer)
        rates.append(len(decoded.records) / (time.process_time() - began))
    rate = statistics.median(rates)
    return Row("decode, records per second by one core", "≥ 5,000,000", f"{rate:,.0f}", rate >= 5e6)


def parsing() -> Row:
    """Return how many PUBLISH packets per second one core reads by mqtt5."""
    packets = b"".join(packets_of(hour_of(100_000, 3), 1))
    began = time.process_time()
    count = len(PacketReader().feed(packets))
    rate = count / (time.process_time() - began)
    return figure("mqtt5: packets of one record read per second by one core", f"{rate:,.0f}")


def single_rows(bench: Bench, records: int) -> Iterator[Row]:
    """Yield the rate of one record per message, by paho-mqtt and by our own client."""
    for library, running, count in (
        ("paho", bench.paho_worker(), records // 5),
        ("mqtt5", bench.workers(1), records),
    ):
        with running:
            rates = [
                acknowledged_rate(bench.broker.port, bench.next_hour(count), 1, 60_000)
                for _ in range(3)
            ]
        rate = statistics.median(rates)
        what = f"one worker over {library}, one record per message, records per second"
        yield Row(what, "≥ 5,000", f"{rate:,.0f}", rate >= 5_000)


def statement_rows(bench: Bench, records: int, pairs: int) -> Iterator[Row]:
    """Yield the cost of the UPDATE beside that of INSERT … ON CONFLICT, which it replaced."""
    costs = np.array(
        [
            [bench.cost(bench.next_hour(records), statement) for statement in (UPDATE, INSERT)]
            for _ in range(pairs)
        ]
    )
    (update, size), (insert, insert_size) = np.median(costs, axis=0)
    share = float(np.median(costs[:, 0, 0] / costs[:, 1, 0]))
    yield Row(
        "CPU of COPY and the UPDATE, share of that of INSERT … ON CONFLICT, same records",
        "< 1",
        f"{share:.2f} ({update:.1f} of {insert:.1f} µs per record)",
        share < 1,
    )
    yield figure("bytes written ahead per record", f"{size:,.0f}")
    yield figure("bytes written ahead by INSERT … ON CONFLICT per record", f"{insert_size:,.0f}")


def gateway_rows(bench: Bench, records: int, pairs: int) -> Iterator[Row]:
    """Yield rate and CPU time of 200 records per message, beside the bare statement.

    Both take turns, and each run of the workers is compared with the two bare ones beside it.
    """
    for count in (1, 2):
        through, bare = [], []
        with bench.workers(count) as workers, bench.connections(count) as connections:
            bench.through_workers(bench.next_hour(records), workers)  # wakes all of them
            bench.bare(bench.next_hour(records), connections)
            bare.append(bench.bare(bench.next_hour(records), connections))
            for _ in range(pairs):
                through.append(bench.through_workers(bench.next_hour(records), workers))
                bare.append(bench.bare(bench.next_hour(records), connections))
        rates = [
            (run.rate, (a.rate + b.rate) / 2)
            for run, (a, b) in zip(through, pairwise(bare), strict=True)
        ]
        rate, ratio = statistics.median(run.rate for run in through), median_ratio(rates)
        holds = rate >= 50_000 if count == 1 else rate >= 90_000 or ratio[0] >= 0.85
        must = "≥ 50,000" if count == 1 else "≥ 90,000, or ≥ 0.85 of the bare statement"
        what = f"{count} worker{'s' * (count > 1)}, 200 records per message, registry on"
        yield Row(f"{what}, records per second", must, f"{rate:,.0f}", holds)
        of_pairs = f"median of {pairs} pairs"
        yield share_row(f"{what}, share of the bare statement, {of_pairs}", 0.75, ratio)
        cpu = [
            ((a.cpu_us + b.cpu_us).sum() / 2, run.cpu_us.sum())
            for run, (a, b) in zip(through, pairwise(bare), strict=True)
        ]
        yield share_row(
            f"{what}, CPU time of the bare statement as a share of all, {of_pairs}",
            0.75 if count == 1 else 0.85,
            median_ratio(cpu),
        )
        parts = dict(zip(PARTS, np.median([run.cpu_us for run in through], axis=0), strict=True))
        alone = dict(zip(PARTS, np.median([run.cpu_us for run in bare], axis=0), strict=True))
        text = ", ".join(f"{name} {of:.1f} ({alone[name]:.1f})" for name, of in parts.items())
        yield figure(f"{what}, CPU time per record, µs (of the bare statement)", text)


def median_ratio(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return median, least and largest of the ratios of pairs."""
    ratios = [float(a / b) for a, b in pairs]
    return statistics.median(ratios), min(ratios), max(ratios)


def share_row(what: str, least: float, ratio: tuple[float, float, float]) -> Row:
    """Return the row of a median ratio that must not be below a share."""
    middle, low, high = ratio
    return Row(what, f"≥ {least}", f"{middle:.2f} ({low:.2f} to {high:.2f})", middle >= least)


def signed_rows(bench: Bench, records: int, pairs: int) -> Iterator[Row]:
    """Yield the rate of signed records: verification alone, and two workers that sign acks."""
    keys, file = Keys({1: bytes(range(32))}), bench.postgres.folder / "keys.json"
    file.write_text(json.dumps({"1": bytes(range(32)).hex()}), "utf-8")
    some = signed(bench.next_hour(min(records, 100_000)), keys)
    began = time.process_time()
    decode(some.tobytes(), Keys({1: bytes(range(32))}))
    rate = len(some) / (time.process_time() - began)
    yield figure("signatures verified per second by one core", f"{rate:,.0f}")
    rates = []
    for _ in range(pairs):
        # A device that has signed must continue to sign.
        with psycopg.connect(bench.postgres.url, autocommit=True) as connection:
            connection.execute("UPDATE devices SET trust = 0")
            connection.execute("VACUUM devices")
        with bench.workers(2) as workers:
            bench.through_workers(bench.next_hour(2000), workers)  # wakes all of them
            unsigned = bench.through_workers(bench.next_hour(records), workers).rate
        with bench.workers(2, [*bench.command, "--keys", str(file)]) as workers:
            bench.through_workers(bench.next_hour(2000), workers, keys)
            rate = bench.through_workers(bench.next_hour(records), workers, keys).rate
        rates.append((rate, unsigned))
    rate = statistics.median(rate for rate, _ in rates)
    yield figure("2 workers, 200 signed records per message, records per second", f"{rate:,.0f}")
    what = "2 workers, rate of signed records, share of that of unsigned ones"
    yield share_row(what, 0.6, median_ratio(rates))


def judging_row(bench: Bench, must_s: float) -> Row:
    """Return the time of e-BH over all devices, each with a closed and a running epoch."""
    with psycopg.connect(bench.postgres.url, autocommit=True) as connection:
        connection.execute("UPDATE devices SET closed_epoch = 0, closed_evidence = evidence")
        connection.execute("VACUUM FULL ANALYZE devices")  # as if they had been stored so
        return discovery_row(connection, bench.devices, must_s)


def discovery_row(connection: "psycopg.Connection[Any]", devices: int, must_s: float) -> Row:
    """Return the median time of e-BH over all devices, as the judge runs it."""
    connection.execute("SET jit = off")
    since = datetime.now(UTC) - timedelta(hours=3)
    gone_since = since - timedelta(days=30)
    seconds = statistics.median(
        durations(lambda: count_evidence(connection, since, gone_since)[0].discovery(0.1), 5)
    )
    what = f"e-BH over {devices:,} devices, seconds"
    return Row(what, f"≤ {must_s}", f"{seconds:.2f}", seconds <= must_s)


def large_rows(bench: Bench, records: int, large: int, pairs: int) -> Iterator[Row]:
    """Yield rate, size and judging time at more devices."""
    small = statistics.median(bench.bare_after_checkpoint(records) for _ in range(pairs))
    yield judging_row(bench, 0.5)
    bench.load(large)
    rate = statistics.median(bench.bare_after_checkpoint(records) for _ in range(pairs))
    size = bench.number("SELECT pg_total_relation_size('devices')") / large
    yield Row(
        f"update rate at {large:,} devices after a checkpoint, share of that before",
        "≥ 0.8",
        f"{rate / small:.2f} ({rate:,.0f} of {small:,.0f})",
        rate >= 0.8 * small,
    )
    yield Row("bytes per device, index included", "≤ 320", f"{size:.0f}", size <= 320)
    yield judging_row(bench, 2.0)


def rows(*, short: bool) -> Iterator[Row]:
    """Yield all rows; short: a tenth of the devices, one pair."""
    devices, records, pairs = (100_000, 60_000, 1) if short else (1_000_000, 120_000, PAIRS)
    load = os.getloadavg()[0]
    yield figure("load of this machine's two cores before the run", f"{load:.1f}")
    with private_servers(memory="4GB") as (postgres, broker):
        bench = Bench(postgres, broker)
        bench.load(devices)
        yield decoding()
        yield parsing()
        yield from single_rows(bench, records)
        yield from statement_rows(bench, records // 3, pairs)
        yield from gateway_rows(bench, records, 1 if short else TURNS)
        yield from signed_rows(bench, records, pairs)
        yield from large_rows(bench, records, 5 * devices, pairs)


if __name__ == "__main__":
    measure(
        "fleet_ingest",
        lambda short: rows(short=short),
        ("psycopg", "paho-mqtt", "mqtt5"),
        tools=("psql",),
    )
