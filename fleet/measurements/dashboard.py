# SPDX-License-Identifier: Apache-2.0
"""The dashboard over a million devices: its first view, and every query."""

import random
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from playwright.sync_api import Browser

from fleet.tests.fixtures.seed import seed
from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import fleet_command, private_postgres, running_process
from results.result import ROOT, Row, arguments, report
from tcuq_fleet.serve import alarm_queries, group_queries, levels, queries
from tcuq_fleet.serve import device as devices
from tcuq_fleet.serve.database import Reader, Session
from tcuq_fleet.serve.identifiers import ALL_DEVICES, Group
from tcuq_fleet.serve.view import HOURS
from tcuq_fleet.servers import Postgres, free_port, is_listening
from tests.fixtures.browser import PHONE, Scheme, chromium, visited

DEVICES, SHORT = 1_000_000, 100_000
FIRST_S, QUERY_S = 1.0, 0.2
GROUPS = (
    ALL_DEVICES,
    Group(firmware="1.8.0"),
    Group(site="tromso"),
    Group(firmware="1.7.1", site="lyon"),
    Group("b81e22d4", "1.8.0", "oulu"),
)
PICTURES: dict[str, tuple[int, Scheme, int]] = {  # width, colours, height
    "fleet.png": (1060, "light", 760),
    "fleet-phone.png": (PHONE, "dark", 1060),
}
MOST_BYTES = 150_000
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


@contextmanager
def command(database: str) -> Iterator[str]:
    """Start `tcuq fleet serve`; yield its URL."""
    port = free_port()
    line = fleet_command("serve", "--database", database, "--port", str(port))
    with running_process(line):
        wait_for(lambda: is_listening(port))
        yield f"http://127.0.0.1:{port}"


def first_rows(browser: Browser, server: Postgres, database: str, rounds: int) -> Iterator[Row]:
    """Yield the time to a loaded page, with database, dashboard and browser just started."""
    times = []
    for _ in range(rounds):
        server.stop()
        server.start()
        with command(database) as address, visited(browser, address, address) as view:
            times.append(view.page.evaluate(LOADED) / 1000)
    text = f"{statistics.median(times):.2f} and {max(times):.2f}"
    yield Row(
        f"first view, seconds, all started afresh: median and longest of {rounds}",
        f"≤ {FIRST_S:g}",
        text,
        statistics.median(times) <= FIRST_S,
    )


def query_rows(database: str, numbers: list[int]) -> Iterator[Row]:
    """Yield the times of every query of the pages without a cache, each run three times."""
    rounds = [_query_times(database, numbers) for _ in range(3)]
    names = [name for name, _ in rounds[0]]
    times = [statistics.median(alike) for alike in zip(*map(_seconds, rounds), strict=True)]
    longest = max(range(len(times)), key=times.__getitem__)
    yield Row(
        f"longest of {len(times):,} queries of {len(set(names))} kinds, median of three, ms",
        f"≤ {1000 * QUERY_S:.0f}",
        f"{1000 * times[longest]:.0f} ({names[longest]})",
        times[longest] <= QUERY_S,
    )


def _seconds(query_times: list[tuple[str, float]]) -> list[float]:
    return [seconds for _, seconds in query_times]


def _query_times(database: str, numbers: list[int]) -> list[tuple[str, float]]:
    """Return name and seconds of every query, in order."""
    times: list[tuple[str, float]] = []
    for hours in HOURS:
        for group in GROUPS:
            for level in (None, *levels.LEVELS):
                with _open_session(database, times) as session:
                    _query_page(session, group, level, hours)
    with _open_session(database, times) as session:
        judged = queries.newest(session)
        for number in numbers:
            state = devices.state(session, number, judged.judgement if judged else None)
            if state is not None:
                devices.history(session, state)
            alarm_queries.alarms_of_device(session, number)
    return times


@contextmanager
def _open_session(database: str, times: list[tuple[str, float]]) -> Iterator[Session]:
    reader = Reader(database, lambda name, seconds: times.append((name, seconds)))
    reader.open()
    with reader.session() as session:
        yield session
    reader.close()


def _query_page(session: Session, group: Group, level: float | None, hours: int) -> None:
    judged = queries.judgements(session, hours)[0]
    finding = levels.finding_at(session, judged, level)
    levels.findings(session, judged, finding)
    levels.drifting(session, judged, finding)
    queries.hours(session, group, hours)
    alarm_queries.alarm_counts(session)
    alarm_queries.alarms(session, "device", queries.MAX_PAGE)
    alarm_queries.alarms(session, None, 1)
    group_queries.named_groups(session, judged.judgement)
    if group.parts:
        own = group_queries.judged_group(session, judged, group)
        levels.count_discoveries(session, judged, finding, [own] if own else [])
        group_queries.cohorts(session, judged.judgement, group)
        alarm_queries.alarms_of_group(session, group)
    for page in (1, queries.MAX_PAGE):
        group_queries.suspects(session, judged.judgement, finding.cutoffs_q8, group, page=page)


def picture(browser: Browser, address: str) -> None:
    """Take the pictures of the fleet for the documents."""
    for name, (width, scheme, height) in PICTURES.items():
        target = ROOT / "fleet/docs" / name
        with visited(browser, address, address, width, scheme) as view:
            clip = {"x": 0, "y": 0, "width": width, "height": height}
            view.page.screenshot(path=target, clip=clip, full_page=True)  # type: ignore[arg-type]
        size = target.stat().st_size
        if size > MOST_BYTES:
            raise ValueError(f"{name} must have at most {MOST_BYTES:,} bytes, got {size:,}")


def main() -> None:
    """Measure and report."""
    args = arguments()
    count = SHORT if args.short else DEVICES
    with private_postgres() as server, chromium() as browser:
        rows, more = measured(browser, server, count, write=args.write, short=args.short)
        tools = {"chromium": browser.version, "postgresql": more}
    libraries = ("fastapi", "jinja2", "psycopg", "uvicorn", "playwright")
    sys.exit(report("fleet_dashboard", rows, libraries, write=args.write, tools=tools))


def measured(
    browser: Browser, server: Postgres, count: int, *, write: bool, short: bool
) -> tuple[list[Row], str]:
    """Return all rows, and the database's version."""
    started = time.monotonic()
    seed(server.url, count)
    took = time.monotonic() - started
    with psycopg.connect(server.url) as connection:
        some = connection.execute(
            "SELECT device FROM devices TABLESAMPLE SYSTEM (1) LIMIT 300"
        ).fetchall()
        (sizes,) = connection.execute(
            "SELECT (SELECT count(*) FROM devices), (SELECT count(*) FROM suspects),"
            " (SELECT count(*) FROM cohorts), (SELECT count(*) FROM alarms)"
        ).fetchall()
        ((version,),) = connection.execute("SHOW server_version").fetchall()
    what = "{:,} devices, {:,} suspects, {:,} cohort hours, {:,} alarms".format(*sizes)
    rows = [Row("fleet made by SQL", "stated", f"{what} in {took:.0f} s", None)]
    rows += first_rows(browser, server, server.url, 3 if short else 7)
    numbers = [row[0] for row in some]
    random.Random(0).shuffle(numbers)  # noqa: S311 - an order, not a secret
    rows += query_rows(server.url, numbers)
    if write:
        with command(server.url) as address:
            picture(browser, address)
    return rows, str(version).split()[0]


if __name__ == "__main__":
    main()
