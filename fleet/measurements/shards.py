# SPDX-License-Identifier: Apache-2.0
"""The same fleet in one, two and four databases: cost of a record, judgement, page, and a loss.

Each database is a PostgreSQL of its own on this machine, and each batch gives it as many records as
the one database gets. The three fleets take turns, so that other work on the machine meets all.
More than two million devices are in one and in four databases, and only judged and looked at.
"""

import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import LiteralString, NamedTuple

import numpy as np
import psycopg
from psycopg import pq

from fleet.tests.fixtures.cpu import processes, server_cpu_s
from fleet.tests.fixtures.dashboard_server import get, get_page, live
from fleet.tests.fixtures.load import MIXING, durations, records_of, run_statement, stored_part
from fleet.tests.fixtures.servers import create_tables, new_database, open_folder
from results.result import Row, figure, parser, report
from tcuq.telemetry import MEANS, NO_MEAN, Reason
from tcuq_fleet.judge.judge import count_evidence, judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.servers import Postgres
from tcuq_fleet.store.batch import GATEWAY_ONLY, Batch, Part
from tcuq_fleet.store.claims import OPEN
from tcuq_fleet.store.connection import JUDGE, connect
from tcuq_fleet.store.interface import open_store
from tcuq_fleet.store.places import place_of
from tcuq_fleet.store.sharded_registry import ShardedRegistry
from tcuq_fleet.store.statements import INSERT

COUNTS = (1, 2, 4)
LARGE = 2_000_000  # devices, from which on there are fleets of one and of four databases alone
BATCHES = 2  # of each fleet per round
SITE, GATEWAY, MESSAGE = "berlin", "gate-1", 1000
LOADED_HOUR = 30  # by then every device has closed an epoch
# A judgement per hour reads the means of epochs that closed since: of one device in so many.
EPOCH_HOURS = 24
MOST_DIFFERENCE, MOST_RATIO = 0.10, 1.3
# Of 40,000 devices these are milliseconds, and pages written whole after a checkpoint.
NOISE_IN_SHORT = ("bytes written ahead", "processor time", "e-BH over", "home page, four")
WAL: LiteralString = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"


class Cost(NamedTuple):
    """What a record costs."""

    log_bytes: float
    servers_us: float  # of processors' time
    worker_us: float
    rate: float  # records per second


class Fleet:
    """Devices in so many databases, and a clock that makes every record newer."""

    def __init__(self, servers: list[Postgres], devices: int, batch: int) -> None:
        count = len(servers)
        self.servers, self.devices, self.batch = servers, devices, batch * count
        self.urls = [new_database(server, f"of_{count}") for server in servers]
        create_tables(*self.urls)
        with ShardedRegistry(self.urls) as registry:
            registry.add_gateway(GATEWAY, [SITE])
        self.store = open_store(self.urls, OPEN)
        self._random = np.random.default_rng(count)
        # Of each device's last record, so that in every fleet as many records close an epoch.
        self._hours = np.full(devices, LOADED_HOUR, np.uint64)

    def load(self, at: int) -> None:
        """Store the first record of one database's devices by the store's own INSERT."""
        with psycopg.connect(self.urls[at], autocommit=True) as connection:
            connection.execute("SET synchronous_commit = off")
            for first in range(0, self.devices, self.batch):
                numbers = np.arange(first, min(first + self.batch, self.devices), dtype=np.uint64)
                numbers = numbers[place_of(numbers * MIXING, len(self.urls)) == at]
                records = stored_part(records_of(numbers, LOADED_HOUR))
                if self.devices > LARGE:
                    for name in MEANS:
                        records[name][numbers % EPOCH_HOURS != 0] = NO_MEAN
                rows = Batch.of([(records, 1)]).to_copy_binary(np.arange(len(records)))
                run_statement(connection, [rows], INSERT, history=False)
            connection.execute("VACUUM ANALYZE devices")

    def put(self, numbers: np.ndarray) -> None:
        """Store the next hour's records of these devices, as messages of a gateway."""
        self._hours[numbers] += 1
        records = stored_part(records_of(numbers, self._hours[numbers]))
        parts = [
            Part(records[at : at + MESSAGE], SITE, GATEWAY, GATEWAY_ONLY)
            for at in range(0, len(records), MESSAGE)
        ]
        batch, _ = self.store.put(parts, [])
        if (batch.reasons != Reason.FINE).any():
            raise RuntimeError(f"records were refused: {np.unique(batch.reasons)}")

    def next_batch(self) -> np.ndarray:
        """Return random devices for a batch."""
        return self._random.choice(self.devices, min(self.batch, self.devices), replace=False)

    def cost(self, batches: int) -> Cost:
        """Store some batches and return what a record costs."""
        numbers = [self.next_batch() for _ in range(batches)]
        log, servers, worker, began = (
            self._log_bytes(), self._servers_s(), time.process_time(), time.perf_counter(),
        )  # fmt: skip
        for some in numbers:
            self.put(some)
        seconds, worker_s = time.perf_counter() - began, time.process_time() - worker
        records = sum(len(some) for some in numbers)
        return Cost(
            (self._log_bytes() - log) / records,
            1e6 * (self._servers_s() - servers) / records,
            1e6 * worker_s / records,
            records / seconds,
        )

    def traffic(self) -> tuple[float, float]:
        """Return round trips, and bytes between worker and databases, per record of one batch."""
        stores = getattr(self.store, "_stores", [self.store])
        numbers, size, trips = self.next_batch(), 0, 0
        with ExitStack() as stack:
            files = []
            for store in stores:
                pgconn = store._store.connection.pgconn  # noqa: SLF001 - as the worker uses it
                file = stack.enter_context(tempfile.TemporaryFile("w+b"))
                pgconn.trace(file.fileno())
                pgconn.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
                stack.callback(pgconn.untrace)
                files.append(file)
            self.put(numbers)
            stack.pop_all()
            for store, file in zip(stores, files, strict=True):
                store._store.connection.pgconn.untrace()  # noqa: SLF001
                file.seek(0)
                for line in file:
                    if not line.startswith((b"F\t", b"B\t")):  # a statement's further lines
                        continue
                    _, length, kind = line.split(b"\t", 2)
                    size += int(length) + 1
                    trips += kind.startswith((b"ReadyForQuery", b"CopyInResponse"))
                file.close()
        return trips / len(numbers), size / len(numbers)

    def _log_bytes(self) -> int:
        return sum(self._number(url, WAL) for url in self.urls)

    @staticmethod
    def _number(url: str, query: LiteralString) -> int:
        with psycopg.connect(url) as connection:
            ((value,),) = connection.execute(query).fetchall()
            return int(value)

    def _servers_s(self) -> float:
        return sum(server_cpu_s(server) for server in self.servers)


def per_record_rows(fleets: Mapping[int, Fleet], rounds: int) -> Iterator[Row]:
    """Yield what a record costs in each fleet, beside the fleet of one database."""
    costs: dict[int, list[Cost]] = {count: [] for count in fleets}
    for fleet in fleets.values():
        fleet.cost(1)  # whole pages after the checkpoint
    for turn in range(rounds):
        for count in sorted(fleets, reverse=bool(turn % 2)):
            costs[count].append(fleets[count].cost(BATCHES))
    # The fewest of three batches: every few seconds, one also reads the gateways again.
    traffic = {count: min(fleet.traffic() for _ in range(3)) for count, fleet in fleets.items()}
    median = {
        name: {
            count: statistics.median(getattr(cost, name) for cost in some)
            for count, some in costs.items()
        }
        for name in Cost._fields
    }
    sent = {count: size for count, (_, size) in traffic.items()}
    trips = {count: 1000 * number for count, (number, _) in traffic.items()}
    both = {
        count: [cost.servers_us + cost.worker_us for cost in some] for count, some in costs.items()
    }
    yield constant("bytes between worker and databases per record", sent, "{:.1f}")
    yield constant("bytes written ahead per record", median["log_bytes"], "{:.0f}")
    yield constant("round trips per 1,000 records", trips, "{:.2f}")
    yield paired("processor time per record, databases and worker, µs", both)
    for name, what in (("servers_us", "databases"), ("worker_us", "worker")):
        text = " / ".join(f"{median[name][count]:.1f}" for count in fleets)
        yield Row(f"processor time per record, {what} alone, µs", "stated", text, None)
    rates = median["rate"]
    text = ", ".join(f"{count}: {rates[count] / rates[1]:.2f}" for count in fleets)
    what = "records per second of one worker, as a share of that with one database"
    yield Row(what, "stated", f"{text} ({rates[1]:,.0f} per second with one)", None)


def constant(what: str, values: Mapping[int, float], form: str) -> Row:
    """Return the row of a figure that must not depend on the number of databases."""
    worst = max(abs(value / values[1] - 1) for value in values.values())
    text = " / ".join(form.format(value) for value in values.values())
    must = f"within {MOST_DIFFERENCE:.0%} of one database".replace("%", " %")
    return Row(what, must, f"{text} (1 / 2 / 4 databases)", worst <= MOST_DIFFERENCE)


def paired(what: str, values: Mapping[int, list[float]]) -> Row:
    """Return the same row of a noisy figure: the median of its ratios within each round."""
    ratios = {
        count: statistics.median(a / b for a, b in zip(some, values[1], strict=True))
        for count, some in values.items()
    }
    one = statistics.median(values[1])
    return constant(what, {count: ratio * one for count, ratio in ratios.items()}, "{:.1f}")


def ratio_row(what: str, actions: Mapping[int, Callable[[], object]], rounds: int) -> Row:
    """Return the row of a duration over four databases, beside that over one with all devices."""
    seconds: dict[int, list[float]] = {count: [] for count in actions}
    for turn in range(rounds):
        for count in sorted(actions, reverse=bool(turn % 2)):
            seconds[count] += durations(actions[count], 1)
    middle = {count: statistics.median(times) for count, times in seconds.items()}
    ratio = statistics.median(a / b for a, b in zip(seconds[4], seconds[1], strict=True))
    text = " / ".join(f"{value:.3f}" for value in middle.values())
    counts = " / ".join(map(str, middle))
    return Row(
        f"{what}, four databases beside one",
        f"≤ {MOST_RATIO}",
        f"{ratio:.2f} ({text} s with {counts})",
        ratio <= MOST_RATIO,
    )


def judging_rows(fleets: Mapping[int, Fleet], devices: int, rounds: int) -> Iterator[Row]:
    """Yield the time of e-BH over all devices, of a judgement and of the home page."""
    since = datetime.now(UTC) - timedelta(hours=3)
    with ExitStack() as stack:
        connections = {
            count: [stack.enter_context(connect(url, JUDGE)) for url in fleet.urls]
            for count, fleet in fleets.items()
        }
        for some in connections.values():
            for connection in some:
                connection.execute("SET jit = off")
                connection.execute("CHECKPOINT")  # so that nothing is written meanwhile

        def discover(count: int) -> object:
            counts, _ = count_evidence(connections[count], since, since - timedelta(days=30))
            return counts.discovery(0.1)

        discovered = {count: discover(count) for count in fleets}
        same = len(set(map(str, discovered.values()))) == 1
        yield Row("discoveries by e-BH, the same in all", "yes", "yes" if same else "no", same)
        actions = {count: partial(discover, count) for count in fleets}
        yield ratio_row(f"e-BH over {devices:,} devices", actions, rounds)
        judging = {count: partial(judge, some, Rules()) for count, some in connections.items()}
        for action in judging.values():
            action()  # the first one opens alarms and folds every device's epoch
        judgement = ratio_row(f"a judgement of {devices:,} devices", judging, max(1, rounds // 4))
        yield figure(judgement.what, judgement.measured)
        addresses = {
            count: stack.enter_context(live(fleet.urls)) for count, fleet in fleets.items()
        }
        pages = {count: partial(get_page, url) for count, url in addresses.items()}
        for page in pages.values():
            page()
        yield ratio_row("home page", pages, 3 * rounds)


def loss_rows(fleet: Fleet) -> Iterator[Row]:
    """Yield what still works while the last database is lost, and that all is stored after it."""
    numbers = fleet.next_batch()
    records = stored_part(records_of(numbers, fleet.devices))
    part = [Part(records, SITE, GATEWAY, GATEWAY_ONLY)]
    with live(fleet.urls) as address:
        get_page(address)
        fleet.servers[-1].crash()
        began = time.perf_counter()
        batch, _ = fleet.store.put(part, [])
        seconds = time.perf_counter() - began
        share = float((batch.reasons == Reason.FINE).mean())
        yield Row(
            "of the records, stored while one of four databases is lost", "0.75 ± 0.02",
            f"{share:.3f}, the first batch in {seconds:.1f} s", abs(share - 0.75) <= 0.02,
        )  # fmt: skip
        began = time.perf_counter()
        page = get(address)
        seconds = time.perf_counter() - began
        names_it = page.is_success and "Database 4 of 4 does not answer" in page.text
        again = durations(lambda: get_page(address), 3)
        text = f"{'said' if names_it else 'not said'}; {seconds:.1f} s, then {min(again):.2f} s"
        yield Row("home page meanwhile says which database is away", "said", text, names_it)
    fleet.servers[-1].start()
    yield return_row(fleet, part, "records of its devices that are sent again are stored")


def return_row(fleet: Fleet, part: list[Part], what: str) -> Row:
    """Return whether all records are stored again soon after a database came back."""
    began = time.perf_counter()
    while True:
        batch, _ = fleet.store.put(part, [])
        whole = bool((batch.reasons == Reason.FINE).all())
        if whole or time.perf_counter() - began > 60:
            break
        time.sleep(0.2)
    text = f"{'all' if whole else 'not all'}, after {time.perf_counter() - began:.1f} s"
    return Row(what, "all", text, whole)


def hang_rows(fleet: Fleet) -> Iterator[Row]:
    """Yield how long the other databases' records wait for one that hangs, and its return."""
    records = stored_part(records_of(fleet.next_batch(), fleet.devices + 1))
    part = [Part(records, SITE, GATEWAY, GATEWAY_ONLY)]
    for process, _ in processes(fleet.servers[-1]):
        os.kill(process, signal.SIGSTOP)
    first, *others = durations(lambda: fleet.store.put(part, []), 4)
    for process, _ in processes(fleet.servers[-1]):
        os.kill(process, signal.SIGCONT)
    text = f"{first:.1f}, then {max(others):.1f}"
    what = "seconds that a batch waits for one of four databases that is stopped (SIGSTOP)"
    yield Row(what, "≤ 25, then ≤ 5", text, first <= 25 and max(others) <= 5)
    yield return_row(fleet, part, "records of its devices that are sent again after SIGCONT")


def measured(devices: int, batch: int, rounds: int, memory: str, *, short: bool) -> Iterator[Row]:
    """Yield all rows; the short form without a hanging database, which takes 20 s."""
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        settings = "max_wal_size = 32GB\ncheckpoint_timeout = 30min\n"
        servers = [
            stack.enter_context(Postgres(folder / f"p{at}", memory, settings)) for at in range(4)
        ]
        counts = COUNTS if devices <= LARGE else (1, 4)
        fleets = {count: Fleet(servers[:count], devices, batch) for count in counts}
        databases = [(fleet, at) for fleet in fleets.values() for at in range(len(fleet.urls))]
        with ThreadPoolExecutor(len(databases)) as threads:
            list(threads.map(lambda one: one[0].load(one[1]), databases))
        for fleet in fleets.values():
            stack.callback(fleet.store.close)
        if devices <= LARGE:
            yield from per_record_rows(fleets, rounds)
        yield from judging_rows(fleets, devices, rounds)
        if devices <= LARGE:
            yield from loss_rows(fleets[4])
        if devices <= LARGE and not short:
            yield from hang_rows(fleets[4])


def main() -> None:
    """Measure; --short: a small fleet; --devices: of all databases together."""
    options = parser(__doc__)
    options.add_argument("--devices", type=int, default=1_000_000)
    args = options.parse_args()
    name, devices, batch, rounds, memory = "fleet_shards", args.devices, 20_000, 7, "1GB"
    if devices > LARGE:
        name, rounds, memory = f"fleet_shards_{devices // 1_000_000}m", 5, "8GB"
    if args.short:
        devices, batch, rounds, memory = 40_000, 2_000, 3, "128MB"
    rows = measured(devices, batch, rounds, memory, short=args.short)
    if args.short:
        rows = (
            figure(row.what, row.measured) if row.what.startswith(NOISE_IN_SHORT) else row
            for row in rows
        )
    sys.exit(report(name, rows, ("psycopg",), write=args.write))


if __name__ == "__main__":
    main()
