# SPDX-License-Identifier: Apache-2.0
"""From the wire to the database: records per second, beside the same statement run bare.

Broker, load, workers and PostgreSQL (fsync on) share this machine's cores.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString

import numpy as np
import psycopg

from fleet.tests.fixtures.load import Array, answered, hour_of, signed, stored_part
from results.result import ROOT, Row, arguments, report
from tcuq.telemetry import Keys, decode
from tcuq_fleet.judge.counting import count_evidence
from tcuq_fleet.servers import Broker, Postgres
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.claims import Claims
from tcuq_fleet.store.migrate import migrate
from tcuq_fleet.store.registry import Registry
from tcuq_fleet.store.store import APPLY, COPY, STAGE, Store, apply_parameters

BATCH = 20_000
PAIRS = 5
PAHO = "fleet.measurements.paho"


# Why, where a row may fail.
REASONS = {
    "2 workers, 200 records per message, records per second": (
        "broker, load, workers and PostgreSQL share two cores; 91,210 in a run before the log was"
        " compressed, which larger fleets need"
    ),
}


class Bench:
    """Servers of our own, and an hour that goes on so that every record is newer."""

    def __init__(self, folder: Path, devices: int) -> None:
        folder.chmod(0o755)
        self.folder, self.devices, self.hour = folder, devices, 0
        self.postgres = Postgres(folder, memory="4GB")
        self.broker = Broker(folder / "broker")
        self.postgres.start()
        self.broker.start()
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            migrate(connection)
            Registry(connection).add_gateway("gate-1", ["berlin"])
        self.command = [
            sys.executable, "-m", "tcuq.cli", "fleet", "ingest", "--database", self.postgres.url,
            "--broker", f"mqtt://127.0.0.1:{self.broker.port}", "--quota", "60000",
            "--gateway-quota", "60000",
        ]  # fmt: skip

    def close(self) -> None:
        """Stop the servers."""
        self.broker.stop()
        self.postgres.crash()

    def load(self, devices: int) -> None:
        """Every device's first record, into empty tables."""
        with Store(self.postgres.url) as store:
            store.connection.execute("TRUNCATE devices, cohorts, epochs")
            site = store.site("berlin")
            for first in range(0, devices, 500_000):
                records = stored_part(hour_of(min(500_000, devices - first), 0, first))
                for at in range(0, len(records), BATCH):
                    store.put(Batch.of([(records[at : at + BATCH], site)]))
            store.connection.execute("VACUUM ANALYZE devices")
        self.devices = devices

    def next_hour(self, records: int) -> Array:
        """Newer records of some of the devices."""
        self.hour += 1
        first = int(np.random.default_rng(self.hour).integers(0, self.devices - records + 1))
        return hour_of(records, self.hour, first)

    def bare(self, records: Array, connections: int) -> float:
        """Records a second of COPY and the statement alone."""
        batches = np.array_split(stored_part(records), max(1, len(records) // BATCH))
        encoded = [Batch.of([(batch, 1)]).to_copy_binary() for batch in batches]
        threads = [
            threading.Thread(target=self._bare, args=(encoded[turn::connections],))
            for turn in range(connections)
        ]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(records) / (time.perf_counter() - began)

    def _bare(self, encoded: list[bytes]) -> None:
        with psycopg.connect(self.postgres.url, autocommit=True) as connection:
            for rows in encoded:
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.execute(STAGE)
                    with cursor.copy(COPY) as copy:
                        copy.write(rows)
                    cursor.execute(APPLY, {"round": 0, **apply_parameters(Claims())})

    @contextmanager
    def workers(self, count: int, command: list[str] | None = None) -> Iterator[None]:
        """So many processes."""
        running = [subprocess.Popen(command or self.command, cwd=ROOT) for _ in range(count)]
        time.sleep(10)  # until all subscribe, on a busy machine too
        try:
            yield
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait()

    def number(self, question: LiteralString) -> float:
        """One number."""
        with psycopg.connect(self.postgres.url) as connection:
            row = connection.execute(question).fetchone()
            return float(row[0]) if row else 0.0


def decoding() -> Row:
    """Records a second of one core."""
    buffer = hour_of(1_000_000, 3).tobytes()
    rates = []
    for _ in range(5):
        began = time.process_time()
        decoded = decode(buffer)
        rates.append(len(decoded.records) / (time.process_time() - began))
    rate = statistics.median(rates)
    return Row("decode, records per second by one core", "≥ 5,000,000", f"{rate:,.0f}", rate >= 5e6)


def single_rows(bench: Bench, records: int) -> Iterator[Row]:
    """One record a message, by the field's library and by our own reader."""
    paho = [sys.executable, "-m", PAHO, bench.postgres.url, str(bench.broker.port)]
    for what, command, must in (
        ("one worker over paho, one record per message", paho, 5_000),
        ("one worker, one record per message", None, 5_000),
    ):
        rates = []
        with bench.workers(1, command):
            for _ in range(3):
                count = records // 5 if command else records
                rates.append(answered(bench.broker.port, bench.next_hour(count), 1, 60_000))
        rate = statistics.median(rates)
        yield Row(f"{what}, records per second", f"≥ {must:,}", f"{rate:,.0f}", rate >= must)


def gateway_rows(bench: Bench, records: int, pairs: int) -> Iterator[Row]:
    """200 records per message, beside the bare statement."""
    for workers, must in ((1, 50_000), (2, 90_000)):
        rates, ratios = [], []
        for _ in range(pairs):
            bare = bench.bare(bench.next_hour(records), workers)
            with bench.workers(workers):
                answered(bench.broker.port, bench.next_hour(2000), 200, 2000)  # everyone is awake
                rate = answered(bench.broker.port, bench.next_hour(records), 200, workers * 60_000)
            rates.append(rate)
            ratios.append(rate / bare)
        rate, ratio = statistics.median(rates), statistics.median(ratios)
        what = f"{workers} worker{'s' * (workers > 1)}, 200 records per message"
        yield Row(f"{what}, records per second", f"≥ {must:,}", f"{rate:,.0f}", rate >= must)
        yield Row(
            f"{what}, share of the bare statement, median of {pairs} pairs",
            "≥ 0.75",
            f"{ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            ratio >= 0.75,
        )


def signed_rows(bench: Bench, records: int, pairs: int) -> Iterator[Row]:
    """Signed records: the verification alone, and through two workers, which sign the acks."""
    keys, file = Keys({1: bytes(range(32))}), bench.folder / "keys.json"
    file.write_text(json.dumps({"1": bytes(range(32)).hex()}), "utf-8")
    some = signed(bench.next_hour(min(records, 100_000)), keys)
    began = time.process_time()
    decode(some.tobytes(), Keys({1: bytes(range(32))}))
    rate = len(some) / (time.process_time() - began)
    yield Row("signatures verified per second by one core", "stated", f"{rate:,.0f}", None)
    rates = []
    for _ in range(pairs):
        batch = signed(bench.next_hour(records), keys)
        with bench.workers(2, [*bench.command, "--keys", str(file)]):
            answered(bench.broker.port, signed(bench.next_hour(2000), keys), 200, 2000)
            rates.append(answered(bench.broker.port, batch, 200, 120_000))
    rate = statistics.median(rates)
    what = "2 workers, 200 signed records per message, records per second"
    yield Row(what, "≥ 60,000", f"{rate:,.0f}", rate >= 60_000)


def wal_row(bench: Bench, records: int) -> Row:
    """What the database writes ahead for each record: disks and replicas must carry it."""
    where: LiteralString = "SELECT pg_current_wal_lsn() - '0/0'"
    before = bench.number(where)
    bench.bare(bench.next_hour(records), 1)
    size = (bench.number(where) - before) / records
    return Row("bytes written ahead per record", "stated", f"{size:,.0f}", None)


def judging_row(bench: Bench, must_s: float) -> Row:
    """e-BH over all devices, each with a closed and a running epoch."""
    with psycopg.connect(bench.postgres.url, autocommit=True) as connection:
        connection.execute("UPDATE devices SET closed_epoch = 0, closed_evidence = evidence")
        connection.execute("VACUUM FULL ANALYZE devices")  # as if they had been stored so
        return discovery_row(connection, bench.devices, must_s)


def discovery_row(connection: "psycopg.Connection[Any]", devices: int, must_s: float) -> Row:
    """The median time of e-BH over all devices, as the judge runs it."""
    connection.execute("SET jit = off")
    times = []
    for _ in range(5):
        began = time.perf_counter()
        since = datetime.now(UTC) - timedelta(hours=3)
        counts, _ = count_evidence(connection, since, since - timedelta(days=30))
        counts.discovery(0.1)
        times.append(time.perf_counter() - began)
    took = statistics.median(times)
    what = f"e-BH over {devices:,} devices, seconds"
    return Row(what, f"≤ {must_s}", f"{took:.2f}", took <= must_s)


def large_rows(bench: Bench, records: int, large: int, pairs: int) -> Iterator[Row]:
    """The same at more devices: rate, size, judging."""
    small = statistics.median(bench.bare(bench.next_hour(records), 1) for _ in range(pairs))
    yield wal_row(bench, records)
    yield judging_row(bench, 0.5)
    bench.load(large)
    rate = statistics.median(bench.bare(bench.next_hour(records), 1) for _ in range(pairs))
    everybody = bench.next_hour(large)
    chosen = np.random.default_rng(0).choice(large, records, replace=False)
    random = bench.bare(everybody[chosen], 1)
    size = bench.number("SELECT pg_total_relation_size('devices')") / large
    hot = bench.number(
        "SELECT n_tup_hot_upd::float / n_tup_upd FROM pg_stat_user_tables WHERE relname = 'devices'"
    )
    yield Row(
        f"update rate at {large:,} devices, share of that before",
        "≥ 0.8",
        f"{rate / small:.2f} ({rate:,.0f} of {small:,.0f})",
        rate >= 0.8 * small,
    )
    yield Row("the same if records came in no order", "stated", f"{random / small:.2f}", None)
    yield Row("bytes per device, index included", "≤ 320", f"{size:.0f}", size <= 320)
    yield Row("updates that stay in their page", "stated", f"{hot:.1%}", None)
    yield judging_row(bench, 2.0)


def main() -> None:
    """Measure; --short: a tenth of it."""
    args = arguments()
    devices, records, pairs = (100_000, 60_000, 1) if args.short else (1_000_000, 300_000, PAIRS)
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), devices)
        try:
            bench.load(devices)
            rows = [
                decoding(),
                *single_rows(bench, records),
                *gateway_rows(bench, records, pairs),
                *large_rows(bench, records, 5 * devices, pairs),
                # Last: a device that has signed must go on signing.
                *signed_rows(bench, records, pairs),
            ]
            server = f"{bench.number('SHOW server_version_num') / 10_000:.4f}"
        finally:
            bench.close()
    tools = {"PostgreSQL": server}
    libraries = ("psycopg", "paho-mqtt")
    failed = {row.what for row in rows if row.passed is False}
    more = {"not_reached": {what: why for what, why in REASONS.items() if what in failed}}
    sys.exit(report("fleet_ingest", rows, libraries, write=args.write, tools=tools, more=more))


if __name__ == "__main__":
    main()
