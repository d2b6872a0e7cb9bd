# SPDX-License-Identifier: Apache-2.0
"""The judge's and the home page's questions in PostgreSQL and ClickHouse, side by side.

Both hold the same rows and take turns, so that other work on the machine meets both. ClickHouse
runs in this process (chdb). Each pair of figures is that of PostgreSQL, then that of ClickHouse.
"""

import os
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

import numpy as np
import psycopg

from fleet.measurements import clickhouse
from fleet.measurements.engine_questions import Answers, Fleet, Question, resident
from fleet.tests.fixtures.cpu import processes
from fleet.tests.fixtures.servers import open_folder
from results.result import Row, figure, parser, report
from tcuq_fleet.servers import Postgres
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.statements import COPY, STAGE

ROUNDS, BATCH = 5, 20_000
MONTH = 720  # records of a device that sends hourly
RECORD_SUMS: LiteralString = """
SELECT firmware, count(*), sum(abstained), sum(denied), sum(evidence) FROM kept GROUP BY firmware
"""
SUMMED: LiteralString = (
    "SELECT count(*), sum(sequence), sum(steps), sum(steps_added), sum(abstained_added),"
    " sum(alarms), sum(judged_q8), sum(closed_epoch), sum(histogram_shift) FROM devices"
)
COHORTS_SUMMED: LiteralString = (
    "SELECT sum(records), sum(steps), sum(abstained), sum(denied), sum(exceeded), sum(alarms)"
    " FROM cohorts"
)


def alike(first: Answers, second: Answers) -> bool:
    """Return whether two answers are the same, but for the last digits of fractions."""

    def same(a: object, b: object) -> bool:
        if isinstance(a, float) and isinstance(b, float | int):
            return abs(a - b) <= 1e-6
        return a == b

    return len(first) == len(second) and all(
        len(one) == len(other) and all(map(same, one, other))
        for one, other in zip(first, second, strict=True)
    )


def timed(action: Callable[[], Answers]) -> tuple[float, Answers]:
    """Return the seconds that an action takes, and its answers."""
    began = time.perf_counter()
    answers = action()
    return time.perf_counter() - began, answers


class Pair(NamedTuple):
    """Medians of PostgreSQL and of ClickHouse, and of the ratio within each turn."""

    postgres: float
    clickhouse: float
    ratio: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]], scale: float = 1.0) -> "Pair":
        """Return the medians of one or several turns, times a scale."""
        here, there = (scale * statistics.median(pair[at] for pair in pairs) for at in (0, 1))
        return cls(here, there, statistics.median(one / other for one, other in pairs))

    def row(self, what: str) -> Row:
        """Return a row that states both, and the ratio."""
        text = f"{shown(self.postgres)} / {shown(self.clickhouse)} ({shown(self.ratio)})"
        return figure(what, text)


def ask(question: Question, rounds: int) -> tuple[list[tuple[float, float]], bool]:
    """Ask both in turns; return the seconds of each, warm, and whether all answers are alike.

    Both again if an hour began meanwhile: then the last hours are other ones.
    """
    hour = None
    while hour != datetime.now(UTC).hour:
        hour = datetime.now(UTC).hour
        pairs = [(timed(question.postgres), timed(question.clickhouse)) for _ in range(rounds + 1)]
    same = all(alike(first, second) and first for (_, first), (_, second) in pairs)
    if not same:
        print(f"{question.what}: the answers differ", file=sys.stderr)
    return [(one[0], other[0]) for one, other in pairs[1:]], same


def question_rows(fleet: Fleet, rounds: int) -> Iterator[Row]:
    """Yield the milliseconds of each question, and whether the answers are the same."""
    same = []
    for question in fleet.questions():
        seconds, fine = ask(question, rounds)
        same.append(fine)
        yield Pair.of(seconds, 1e3).row(f"{question.what}, {fleet.devices:,} devices, ms")
    what = f"same answers to {len(same)} questions, {fleet.devices:,} devices"
    yield same_row(what, same=all(same))


def same_row(what: str, *, same: bool) -> Row:
    """Return a row that holds if both gave the same."""
    return Row(what, "yes", "yes" if same else "no", same)


def shown(value: float) -> str:
    """Return a number with at most two digits behind the point, or with separators."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size_row(fleet: Fleet) -> Row:
    """Return the bytes of a device's current state on the disk."""
    size = fleet.query("SELECT pg_total_relation_size('devices')")[0][0]
    what = f"bytes on disk per device, {fleet.devices:,} devices"
    there = fleet.clickhouse.bytes_of("devices")
    return Pair.of([(size / fleet.devices, there / fleet.devices)]).row(what)


def update_rows(fleet: Fleet, batch: int, rounds: int) -> Iterator[Row]:
    """Yield the rates of storing newer records of known devices, and e-BH right after."""
    fleet.clickhouse.run(clickhouse.ROLLED)
    rates = []
    for _ in range(rounds + 1):
        records, sites = fleet.next_records(batch)
        seconds, _ = timed(lambda some=(records, sites): list(fleet.store.put(Batch.of([some]))))  # type: ignore[misc]
        began = time.perf_counter()
        file = fleet.parquet(records, sites)
        fleet.clickhouse.run(clickhouse.insert_newer(file))
        rates.append((batch / seconds, batch / (time.perf_counter() - began)))
    what = f"newer records of known devices stored per second, {fleet.devices:,} devices"
    yield Pair.of(rates[1:]).row(what)
    before = state_sums(fleet)
    fleet.store.put(Batch.of([(records, sites)]))
    fleet.clickhouse.run(clickhouse.insert_newer(file))
    again = state_sums(fleet)
    same = all(alike(before[0], other) for other in (before[1], *again))
    what = f"same state after it and after a repeated batch, {fleet.devices:,} devices"
    yield same_row(what, same=same)
    question = Question("e-BH", fleet.discover, fleet.discover_there)
    times, fine = ask(question, rounds)
    what = f"e-BH right after {rounds + 2} batches of {batch:,}, {fleet.devices:,} devices, ms"
    yield Pair.of(times, 1e3).row(what)
    yield same_row(f"same discoveries after it, {fleet.devices:,} devices", same=fine)


def state_sums(fleet: Fleet) -> tuple[Answers, Answers]:
    """Return sums over the devices' rows and over the cohorts' hours, of each."""
    here = fleet.query(SUMMED) + fleet.query(COHORTS_SUMMED)
    there = fleet.clickhouse.rows(SUMMED + " FINAL") + fleet.clickhouse.rows(COHORTS_SUMMED)
    return here, there


def kept_rows(fleet: Fleet, records: int, batch: int, rounds: int) -> Iterator[Row]:
    """Yield the cost of keeping every record, which the product does not, and of a scan of them."""
    with fleet.connection.transaction():
        fleet.connection.execute(STAGE)
        fleet.connection.execute("CREATE TABLE kept (LIKE stage)")
    copy_to = re.sub("^COPY stage", "COPY kept", COPY)
    here = there = 0.0
    size = 0
    for number in range(records // batch):
        some, sites = fleet.next_records(batch)
        began = time.perf_counter()
        rows = Batch.of([(some, sites)]).to_copy_binary(np.arange(batch))
        with (
            fleet.connection.transaction(),
            fleet.connection.cursor() as cursor,
            cursor.copy(copy_to.encode()) as copy,
        ):
            copy.write(rows)
        middle = time.perf_counter()
        file = fleet.parquet(some, sites)
        if not number:
            fleet.clickhouse.run(clickhouse.CREATE_RECORDS.format(file=file))
        fleet.clickhouse.run(clickhouse.INSERT_RECORDS.format(file=file))
        here, there = here + middle - began, there + time.perf_counter() - middle
        size += file.stat().st_size
        file.unlink()
    fleet.connection.execute("VACUUM ANALYZE kept")
    yield Pair.of([(records / here, records / there)]).row("records appended per second")
    fleet.clickhouse.run("OPTIMIZE TABLE kept FINAL")
    relation = fleet.query("SELECT pg_total_relation_size('kept')")[0][0]
    stored = fleet.clickhouse.bytes_of("kept")
    sizes = [(relation / records, stored / records)]
    yield Pair.of(sizes).row("bytes on disk per kept record")
    what = "bytes per record in Parquet files of the example consumer"
    yield figure(what, f"{size / records:.0f}")
    question = Question(
        "kept",
        lambda: sorted(fleet.query(RECORD_SUMS)),
        lambda: sorted(fleet.clickhouse.rows(clickhouse.RECORD_SUMS)),
    )  # fmt: skip
    seconds, same = ask(question, rounds)
    yield Pair.of(seconds, 1e3).row(f"sums by firmware over {records:,} kept records, ms")
    rates = [(records / one, records / other) for one, other in seconds]
    yield Pair.of(rates, 1e-6).row("million kept records read in one second")
    what = "devices whose month of hourly records is read in one second"
    yield Pair.of(rates, 1 / MONTH).row(what)
    yield same_row("same sums over kept records", same=same)


def memory_row(fleet: Fleet, before: int) -> Row:
    """Return the megabytes that the server's processes hold, and by which ours has grown."""
    used = 0
    for process, _ in processes(fleet.server):
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text("utf-8")
        used += 1024 * int(rollup.partition("\nPss:")[2].split()[0])
    what = f"memory held at the end, {fleet.devices:,} devices, MB"
    return Pair.of([(used / 1e6, (resident() - before) / 1e6)]).row(what)


def measured(devices: int, batch: int, records: int, rounds: int, memory: str) -> Iterator[Row]:
    """Yield all rows of one size; `records` are kept in full, if any."""
    before = resident()
    with ExitStack() as stack:
        folder = stack.enter_context(open_folder())
        settings = "max_wal_size = 32GB\ncheckpoint_timeout = 30min\n"
        server = stack.enter_context(Postgres(folder / "p", memory, settings))
        fleet = Fleet(server, folder, devices, stack)
        yield size_row(fleet)
        yield from question_rows(fleet, rounds)
        yield from update_rows(fleet, batch, rounds)
        if records:
            yield from kept_rows(fleet, records, batch, rounds)
        yield memory_row(fleet, before)


def apart(*values: Any) -> list[Row]:  # noqa: ANN401 - the arguments of `measured`
    """Measure one size in a process of its own, whose memory holds nothing of another size."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(rows_of, values).result()


def rows_of(values: tuple[Any, ...]) -> list[Row]:
    """Return the rows of `measured`."""
    return list(measured(*values))


def versions() -> dict[str, str]:
    """Return the versions of both."""
    with open_folder() as folder, Postgres(folder) as server, psycopg.connect(server.url) as some:
        return {"PostgreSQL": f"{some.info.server_version / 10_000:.4f}"}


def main() -> None:
    """Measure; --short: a small fleet."""
    options = parser(__doc__)
    options.add_argument("--devices", type=int, nargs="+", default=[100_000, 1_000_000])
    args = options.parse_args()
    sizes, batch, records, memory = args.devices, BATCH, 1_000_000, "4GB"
    if args.short:
        sizes, batch, records, memory = [40_000], 2_000, 20_000, "256MB"

    def rows() -> Iterator[Row]:
        yield figure("load of this machine's two cores before the run", f"{os.getloadavg()[0]:.1f}")
        for devices in sizes:
            extra = records if devices == sizes[-1] else 0
            yield from apart(devices, batch, extra, ROUNDS, memory)

    libraries = ("psycopg", "pyarrow", "chdb")
    tools = versions()
    sys.exit(report("fleet_engines", rows(), libraries, write=args.write, tools=tools))


if __name__ == "__main__":
    main()
