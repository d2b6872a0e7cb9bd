# SPDX-License-Identifier: Apache-2.0
"""The same devices in PostgreSQL and in ClickHouse, and the product's questions to both."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, LiteralString, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fleet.measurements import clickhouse
from fleet.measurements.clickhouse import ClickHouse, moment, write_parquet
from fleet.tests.fixtures.seed import LEVEL, seed
from tcuq.telemetry import NO_MEAN, RECORD, UNSIGNED_VERSION
from tcuq_fleet.judge.judge import count_evidence, judge
from tcuq_fleet.judge.persistence import FIRMWARE_ACCURACY, LEAST_ACCURATE
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.serve import accuracy_queries, group_queries, queries
from tcuq_fleet.serve.database import Reader, Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES, Group, device_number
from tcuq_fleet.servers import Postgres
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import firmware_code, to_signed

Array = NDArray[Any]
Answers = list[tuple[Any, ...]]
T = TypeVar("T")
SHOWN, HOURS, SITE = 10, 168, "lyon"
SILENT, GONE = timedelta(days=1), timedelta(days=30)
STATES = np.dtype([("device", "<i8"), ("profile", "<i4"), ("firmware", "<i4"), ("site", "<i4")])
# The seed's devices are alike but for their evidence; real counters do not compress as well.
VARIED: LiteralString = """
UPDATE devices SET steps = steps + (86400 * random())::bigint,
    abstained = abstained + (3000 * random())::bigint, denied = denied + (200 * random())::bigint,
    exceeded = exceeded + (9000 * random())::bigint, abstained_added = (250 * random())::bigint,
    denied_added = (12 * random())::bigint, exceeded_added = (420 * random())::bigint,
    novelty = novelty + (900 * random())::smallint,
    label_changes = label_changes + (1500 * random())::smallint,
    histogram = noise.histogram
FROM noise WHERE noise.number = device & 65535
"""


class Question(NamedTuple):
    """What both are asked; each of the two returns the same rows."""

    what: str
    postgres: Callable[[], Answers]
    clickhouse: Callable[[], Answers]


class Fleet:
    """The same devices in PostgreSQL and in ClickHouse, and a clock that makes records newer."""

    def __init__(self, server: Postgres, folder: Path, devices: int, stack: ExitStack) -> None:
        self.devices, self.server, self.folder = devices, server, folder
        self.random, self._next = np.random.default_rng(0), count(1)
        seed(server.url, devices, judged=False)
        self.store = stack.enter_context(Store(server.url))
        self.connection = self.store.connection
        self._vary()
        judge(self.connection, Rules(level=LEVEL, silent_after=SILENT.total_seconds()))
        self.connection.execute("VACUUM ANALYZE")
        self.connection.execute("SET jit = off")
        self.connection.execute("SET work_mem = '256MB'")  # as in a judgement
        self.clickhouse = stack.enter_context(closing(ClickHouse(folder / "clickhouse")))
        for table in clickhouse.TABLES:
            self.clickhouse.copy(self.connection, table)
        self.states = np.frombuffer(
            self.clickhouse.run("SELECT device, profile, firmware, site FROM devices", "RowBinary"),
            STATES,
        )
        self.since = datetime.now(UTC) - SILENT
        self._reader = Reader(server.url, lambda _name, _seconds: None)
        self._reader.open()
        stack.callback(self._reader.close)

    def _vary(self) -> None:
        """Give every device counters and a histogram of its own, then store the table anew."""
        bins = np.arange(16)
        rate = 28_000 * np.exp(-bins / 2.1) * self.random.uniform(0.5, 1.5, (65536, 1))
        noise = np.minimum(self.random.poisson(rate), 65535).astype("<u2")
        self.connection.execute("CREATE TEMPORARY TABLE noise (number bigint, histogram bytea)")
        with self.connection.cursor() as cursor, cursor.copy("COPY noise FROM STDIN") as copy:
            for number, row in enumerate(noise):
                copy.write_row((number, row.tobytes()))
        self.connection.execute(VARIED)
        self.connection.execute("VACUUM FULL ANALYZE devices")

    def next_records(self, number: int) -> tuple[Array, Array]:
        """Return newer records of random devices, and their sites."""
        hour = next(self._next)
        states = self.states[self.random.choice(self.devices, number, replace=False)]
        records = np.zeros(number, RECORD)
        for name in ("device", "profile", "firmware"):
            records[name] = states[name].view(f"<u{states[name].dtype.itemsize}")
        for name, value in (
            ("version", UNSIGNED_VERSION), ("boot", 3), ("sequence", 680 + hour), ("epoch", 130),
            ("histogram_shift", 6), ("expected_error", NO_MEAN), ("health", NO_MEAN),
            ("novelty", NO_MEAN), ("confidence", NO_MEAN), ("label_changes", NO_MEAN),
        ):  # fmt: skip
            records[name] = value
        records["evidence"] = np.minimum(self.random.geometric(0.2, number) - 8, 127)
        for name, base, spread in (
            ("steps", 3_000_000, 86400), ("abstained", 120_000, 9000), ("denied", 6000, 400),
            ("exceeded", 180_000, 9000),
        ):  # fmt: skip
            records[name] = base + hour * spread + self.random.integers(0, spread, number)
        rate = 28_000 * np.exp(-np.arange(16) / 2.1)
        records["histogram"] = np.minimum(self.random.poisson(rate, (number, 16)), 65535)
        return records, states["site"].copy()

    def parquet(self, records: Array, sites: Array) -> Path:
        """Write a batch to a Parquet file that lives as long as the fleet."""
        file = self.folder / f"{next(self._next)}.parquet"
        write_parquet(file, records, sites)
        return file

    def discover(self) -> Answers:
        """Apply e-BH as the judge does."""
        counts, _ = count_evidence(self.connection, self.since, self.since - GONE)
        discovery = counts.discovery(LEVEL)
        return [(discovery,)] if discovery.count else []

    def discover_there(self) -> Answers:
        """Apply e-BH to ClickHouse's rows."""
        discovery = self.clickhouse.discovery(self.connection, self.since, self.since - GONE, LEVEL)
        return [(discovery,)]

    def look_up(self, devices: list[int]) -> Answers:
        """Read single devices' rows."""
        query: LiteralString = (
            "SELECT boot, sequence, evidence, judged_q8 FROM devices WHERE device = %s"
        )
        return [row for one in devices for row in self.connection.execute(query, [one]).fetchall()]

    def look_up_there(self, devices: list[int]) -> Answers:
        """Read single devices' rows in ClickHouse."""
        some = (clickhouse.DEVICE.format(device=one) for one in devices)
        return [row for query in some for row in self.clickhouse.rows(query)]

    def page(self, action: Callable[[Session], T]) -> T:
        """Return what the dashboard's code reads, in a session as a page opens it."""
        with self._reader.session() as session:
            return action(session)

    def query(self, query: LiteralString, **values: object) -> Answers:
        """Return a query's rows from PostgreSQL."""
        return [tuple(map(number_of, row)) for row in self.connection.execute(query, values)]

    def questions(self) -> Iterator[Question]:
        """Yield the judge's questions, then those of the home page."""
        there, since, limit = self.clickhouse.rows, moment(self.since), 10_000
        yield Question("e-BH", self.discover, self.discover_there)
        least = LEAST_ACCURATE[LEAST_ACCURATE.index("SELECT") :]
        yield Question(
            "ranking of all by accuracy",
            lambda: self.query(least, since=self.since, limit=limit),
            lambda: there(clickhouse.LEAST_ACCURATE.format(since=since, limit=limit)),
        )
        yield Question(
            "accuracy of each firmware",
            lambda: sorted(self.query(FIRMWARE_ACCURACY, since=self.since)),
            lambda: sorted(there(clickhouse.FIRMWARE_ACCURACY.format(since=since))),
        )
        yield Question(
            "home page, counts",
            lambda: self.page(count_rows),
            lambda: there(clickhouse.NEWEST),
        )
        yield from self._lists()
        of_site = clickhouse.OF_SITE.format(site=SITE)
        for what, group, table in (
            ("home page, hours", ALL_DEVICES, "hours"),
            ("home page, cohort hours of a site", Group(site=SITE), of_site),
        ):
            yield Question(
                what,
                lambda group=group: self.page(lambda session: hour_rows(session, group)),  # type: ignore[misc]
                lambda table=table: there(clickhouse.HOURS.format(table=table, hours=HOURS)),  # type: ignore[misc]
            )
        some = self.random.choice(self.states["device"], 20).tolist()
        yield Question(
            "rows of 20 devices", lambda: self.look_up(some), lambda: self.look_up_there(some)
        )

    def _lists(self) -> Iterator[Question]:
        judged = self.page(queries.newest)
        if judged is None:
            raise RuntimeError("the fleet was not judged")
        owners = self.page(lambda session: queries.owners(session, judged.judgement))
        cutoffs = {row.owner: row.cutoff_q8 or 0 for row in owners}
        values = {"judgement": judged.judgement, "cutoff": min(cutoffs.values()), "limit": SHOWN}

        def suspects(session: Session) -> Answers:
            rows = group_queries.suspects(
                session, judged.judgement, cutoffs, ALL_DEVICES, page=1, limit=SHOWN
            )
            return [
                (device_number(r.device), to_signed(int(r.profile, 16), 32),
                 to_signed(firmware_code(r.firmware), 32), r.site, r.evidence_bits)
                for r in rows
            ]  # fmt: skip

        def ranked(session: Session) -> Answers:
            rows = accuracy_queries.least_accurate(session, ALL_DEVICES, limit=SHOWN)
            return [(device_number(r.device), r.estimated_accuracy, r.past_accuracy) for r in rows]

        there = self.clickhouse.rows
        yield Question(
            "home page, suspects first", lambda: self.page(suspects),
            lambda: there(clickhouse.SUSPECTS.format(**values)),
        )  # fmt: skip
        yield Question(
            "home page, least accurate", lambda: self.page(ranked),
            lambda: there(clickhouse.RANKED.format(**values)),
        )  # fmt: skip


def count_rows(session: Session) -> Answers:
    """Return the dashboard's counts."""
    judged = queries.newest(session)
    if judged is None:
        return []
    return [(judged.devices, judged.silent, judged.judgeable, judged.discovered)]


def hour_rows(session: Session, group: Group) -> Answers:
    """Return the dashboard's hours."""
    return [
        (int(r.hour.timestamp()), r.records, r.steps, r.abstained, r.denied, r.alarms)
        for r in queries.hours(session, group, HOURS)
    ]


def number_of(value: object) -> object:
    """Return PostgreSQL's decimal as a number."""
    return int(value) if isinstance(value, int | np.integer) else value


def resident() -> int:
    """Return the bytes of memory that this process holds."""
    status = Path("/proc/self/status").read_text("utf-8")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])
