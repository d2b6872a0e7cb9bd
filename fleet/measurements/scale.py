# SPDX-License-Identifier: Apache-2.0
"""Twenty million devices in one database: update rate, log, size, judgement and first page.

Devices send in random order. Rates are of one connection that stores batches of 20,000 records, at
one million devices and at twenty million in the same run. PostgreSQL writes a whole page to its log
when the page changes for the first time after a checkpoint, so the rate right after a checkpoint is
stated apart.
"""

import statistics
import sys
import time
from collections.abc import Iterator
from typing import LiteralString

import numpy as np
import psycopg

from fleet.measurements.ingest import discovery_row
from fleet.tests.fixtures.dashboard_server import get_page, live
from fleet.tests.fixtures.load import durations, records_of, stored_part
from fleet.tests.fixtures.servers import private_postgres
from results.result import Row, arguments, not_reached, report
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.servers import Postgres
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.migrate import migrate
from tcuq_fleet.store.store import Store

BATCH, ROUNDS, VIEWS = 20_000, 11, 7
SMALL, LARGE, MEMORY = 1_000_000, 20_000_000, "8GB"
RECORDS = 300_000  # per round
# Twenty million devices that send hourly store 10 M records per half hour: checkpoints by time.
CHECKPOINTS = "max_wal_size = 32GB\ncheckpoint_timeout = 30min\n"
LOADED_HOUR = 30  # by then every device has closed an epoch
LEAST_SHARE, MOST_BYTES, MOST_JUDGING_S, MOST_VIEW_S = 0.7, 340, 8.0, 1.0
REASONS = {
    f"update rate at {LARGE:,} devices in random order, share of that at {SMALL:,}": (
        "whole pages in the log after a checkpoint, and memory accesses over 6 GB; checkpoints by"
        " time instead of by log raised it from 0.43; measured beside other work on two cores"
    ),
}
WAL: LiteralString = "SELECT pg_current_wal_lsn() - '0/0'"
SIZE: LiteralString = "SELECT pg_total_relation_size('devices')"


class Fleet:
    """A store that grows, and a clock that advances so that every record is newer."""

    def __init__(self, server: Postgres) -> None:
        self.store = Store(server.url)
        migrate(self.store.connection)
        self.site = self.store.site("berlin")
        self.devices, self._hour = 0, LOADED_HOUR
        self._rng = np.random.default_rng(0)

    def grow(self, devices: int) -> None:
        """Store the first record of further devices, then let the database settle."""
        while self.devices < devices:
            last = min(self.devices + BATCH, devices)
            self._put(np.arange(self.devices, last), LOADED_HOUR)
            self.devices = last
            if last % 1_000_000 == 0:
                print(f"{last:,} devices", file=sys.stderr, flush=True)
        self.store.connection.execute("VACUUM ANALYZE devices")
        self.store.connection.execute("CHECKPOINT")

    def store_at_random(self, records: int) -> tuple[float, float]:
        """Store records of random devices; return records per second and log bytes per record."""
        self._hour += 1
        numbers = self._rng.choice(self.devices, records, replace=False)
        before, began = self.number(WAL), time.perf_counter()
        for at in range(0, records, BATCH):
            self._put(numbers[at : at + BATCH], self._hour)
        took = time.perf_counter() - began
        return records / took, (self.number(WAL) - before) / records

    def _put(self, numbers: np.ndarray, hour: int) -> None:
        records = stored_part(records_of(numbers, hour))
        self.store.put(Batch.of([(records, self.site)]))

    def number(self, query: LiteralString) -> float:
        """Return the number that a query yields."""
        ((value,),) = self.store.connection.execute(query).fetchall()
        return float(value)


def rates(fleet: Fleet, records: int, rounds: int) -> tuple[list[float], list[float]]:
    """Return the rate and the log bytes per record of each round after a checkpoint."""
    every = [fleet.store_at_random(records) for _ in range(rounds)]
    return [rate for rate, _ in every], [log for _, log in every]


def view_row(server: Postgres) -> Row:
    """Return the time of the home page, requested several times."""
    with live(server.url) as address:
        times = durations(lambda: get_page(address), VIEWS)
    worst = max(times)
    measured = f"{statistics.median(times):.2f}, longest {worst:.2f}"
    return Row("home page, seconds", f"≤ {MOST_VIEW_S:g}", measured, worst <= MOST_VIEW_S)


def measured(server: Postgres, sizes: tuple[int, int], records: int, rounds: int) -> Iterator[Row]:
    """Yield all rows, at the smaller and then at the larger fleet."""
    fleet = Fleet(server)
    small, large = sizes
    fleet.grow(small)
    before, _ = rates(fleet, records, rounds)
    fleet.grow(large)
    size = fleet.number(SIZE) / large
    after, log = rates(fleet, records, rounds)
    share = statistics.median(after) / statistics.median(before)
    yield Row(
        f"update rate at {large:,} devices in random order, share of that at {small:,}",
        f"≥ {LEAST_SHARE}",
        f"{share:.2f} ({statistics.median(after):,.0f} of {statistics.median(before):,.0f} "
        "records per second)",
        share >= LEAST_SHARE,
    )
    first = f"{after[0]:,.0f} records per second, {log[0]:,.0f} B of log per record"
    yield Row(f"the first {records:,} records after a checkpoint", "stated", first, None)
    what = "database per device, index included, bytes"
    yield Row(what, f"≤ {MOST_BYTES}", f"{size:.0f}", size <= MOST_BYTES)
    yield discovery_row(fleet.store.connection, large, MOST_JUDGING_S)
    judge(fleet.store.connection, Rules())
    yield view_row(server)


def main() -> None:
    """Measure; --short: a small part of it."""
    args = arguments()
    sizes, records, rounds, memory = (SMALL, LARGE), RECORDS, ROUNDS, MEMORY
    if args.short:
        sizes, records, rounds, memory = (20_000, 300_000), 20_000, 2, "512MB"
    with private_postgres(memory, CHECKPOINTS) as server:
        rows = list(measured(server, sizes, records, rounds))
        with psycopg.connect(server.url) as connection:
            version = f"{connection.info.server_version / 10_000:.4f}"
    tools = {"PostgreSQL": version}
    more = not_reached(rows, REASONS)
    sys.exit(report("fleet_scale", rows, ("psycopg",), write=args.write, tools=tools, more=more))


if __name__ == "__main__":
    main()
