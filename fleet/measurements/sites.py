# SPDX-License-Identifier: Apache-2.0
"""A million devices at 50,000 sites: the judgement, the first page, and a year of history."""

import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg

from fleet.tests.fixtures.dashboard_server import get_page, live
from fleet.tests.fixtures.load import durations
from fleet.tests.fixtures.seed import seed
from fleet.tests.fixtures.servers import private_postgres
from results.result import Row, arguments, report
from tcuq_fleet.judge import retention
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.retention import Retention, compact
from tcuq_fleet.judge.rules import Rules

DEVICES, SITES, SEEDED_HOURS = 1_000_000, 50_000, 4
ROUNDS = 3
KEPT_ROWS = retention.MAX_COHORT_ROWS
MOST_JUDGE_S, MOST_PAGE_S, MOST_GB = 30.0, 1.0, 20.0
HOURS_A_YEAR = 24 * 365
# 1 % of the sites fall silent, and at 0.2 % every device drifts.
STORM: LiteralString = """
UPDATE devices SET
    last_seen = CASE WHEN site % 100 = 0 THEN now() - interval '5 hours' ELSE last_seen END,
    evidence = CASE WHEN site % 500 = 1 THEN 60 ELSE evidence END
WHERE site % 100 = 0 OR site % 500 = 1
"""
SUMS: LiteralString = """
SELECT sum(records)::text, sum(steps)::text, sum(abstained)::text, sum(denied)::text,
    sum(exceeded)::text, sum(alarms)::text
FROM (
    SELECT records, steps, abstained, denied, exceeded, alarms FROM cohorts UNION ALL
    SELECT records, steps, abstained, denied, exceeded, alarms FROM site_days
) AS stored
"""
TOTALS: LiteralString = """
SELECT sum(records)::text, sum(steps)::text, sum(abstained)::text, sum(denied)::text,
    sum(exceeded)::text, sum(alarms)::text
FROM hours
"""
SIZES: LiteralString = """
SELECT name, coalesce((SELECT sum(pg_total_relation_size(relid))::bigint
    FROM pg_partition_tree(name::regclass)), pg_total_relation_size(name::regclass)), rows
FROM (VALUES
    ('cohorts', (SELECT count(*) FROM cohorts)), ('hours', (SELECT count(*) FROM hours)),
    ('site_days', (SELECT count(*) FROM site_days)),
    ('groups', (SELECT count(*) FROM groups)), ('evidence', (SELECT count(*) FROM evidence)),
    ('owner_counts', (SELECT count(*) FROM owner_counts)),
    ('judgements', (SELECT count(*) FROM judgements))) AS stored (name, rows)
"""


def judge_rows(connection: "psycopg.Connection[Any]", rounds: int) -> Iterator[Row]:
    """Yield how long a judgement takes, on a usual day and in a storm."""
    for what in ("a judgement", "a judgement in a storm of silent and drifting sites"):
        if what != "a judgement":
            connection.execute(STORM)
            connection.execute("VACUUM ANALYZE devices")
        times = durations(lambda: judge(connection, Rules()), rounds)
        judgement = judge(connection, Rules())
        named = judgement.groups if judgement else 0
        middle = statistics.median(times)
        text = f"{middle:.1f} and {max(times):.1f} ({named} groups named)"
        must, passed = f"≤ {MOST_JUDGE_S:g}", middle <= MOST_JUDGE_S
        yield Row(f"{what}, seconds: median and longest of {rounds}", must, text, passed)


def page_row(database: str, rounds: int) -> Row:
    """Return the time of the fleet's page, with the dashboard started for each view."""
    times = []
    for _ in range(rounds):
        with live(database) as address:
            times += durations(lambda: get_page(address), 1)
    middle = statistics.median(times)
    text = f"{middle:.2f} and {max(times):.2f}"
    return Row(
        f"the fleet's page, seconds, dashboard just started: median and longest of {rounds}",
        f"≤ {MOST_PAGE_S:g}",
        text,
        middle <= MOST_PAGE_S,
    )


def history_rows(connection: "psycopg.Connection[Any]", sites: int) -> Iterator[Row]:
    """Move old hours into days, then extrapolate each table to a year of hourly judgements."""
    before = connection.execute(SUMS).fetchone()
    retention.MAX_COHORT_ROWS = 1  # so that few hours suffice
    began = time.perf_counter()
    moved = compact(connection)
    took = (time.perf_counter() - began) / max(moved, 1)
    same = connection.execute(SUMS).fetchone() == before == connection.execute(TOTALS).fetchone()
    yield Row(
        "old hours moved into days; sums before, after and over all sites",
        "the same",
        f"{moved} hours, {took:.1f} s each; {'the same' if same else 'different'}",
        same and moved > 0,
    )
    connection.execute("VACUUM FULL")
    sizes = {name: (size, rows) for name, size, rows in connection.execute(SIZES).fetchall()}
    judged = sizes["judgements"][1]
    an_hour = sizes["cohorts"][1] / _hours(connection, "cohorts")
    stored = KEPT_ROWS + an_hour
    gigabytes = {
        "cohorts": _bytes_each(sizes["cohorts"]) * stored,
        "site_days": _bytes_each(sizes["site_days"]) * sites * Retention().cohorts,
        "hours": sizes["hours"][0] / _hours(connection, "hours") * HOURS_A_YEAR,
        "judgements": sum(sizes[name][0] for name in ("groups", "evidence", "owner_counts"))
        / judged
        * 24
        * Retention().judgements,
    }
    parts = ", ".join(f"{name} {value / 1e9:.2f}" for name, value in gigabytes.items())
    total = sum(gigabytes.values()) / 1e9
    yield Row(
        "history after a year, judged hourly, GB",
        f"≤ {MOST_GB:g}",
        f"{total:.1f} ({parts})",
        total <= MOST_GB,
    )
    groups = sizes["groups"]
    yield Row(
        "groups written per judgement, and their MB",
        "stated",
        f"{groups[1] / judged:,.0f} and {groups[0] / judged / 1e6:.2f}",
        None,
    )


def _bytes_each(size: tuple[int, int]) -> float:
    return size[0] / max(size[1], 1)


def _hours(connection: "psycopg.Connection[Any]", table: LiteralString) -> int:
    query = "SELECT count(DISTINCT hour) FROM " + table  # noqa: S608 - our own names
    ((count,),) = connection.execute(query).fetchall()
    return int(count)


def measured(database: str, devices: int, sites: int, rounds: int) -> list[Row]:
    """Return all rows."""
    began = time.monotonic()
    seed(database, devices, judged=False, sites=sites, hours=SEEDED_HOURS)
    took = time.monotonic() - began
    with psycopg.connect(database, autocommit=True) as connection:
        ((cohorts, used),) = connection.execute(
            "SELECT count(DISTINCT (profile, firmware, site)), count(DISTINCT site) FROM devices"
        ).fetchall()
        text = f"{devices:,} devices, {used:,} sites, {cohorts:,} cohorts in {took:.0f} s"
        rows = [Row("fleet made by SQL", "stated", text, None)]
        rows += judge_rows(connection, rounds)
        rows.append(page_row(database, rounds))
        rows += history_rows(connection, sites)
    return rows


def main() -> None:
    """Measure and report; --short: a twentieth of the fleet."""
    args = arguments()
    part = 20 if args.short else 1
    with private_postgres() as server:
        rounds = 2 if args.short else ROUNDS
        rows = measured(server.url, DEVICES // part, SITES // part, rounds)
    sys.exit(report("fleet_sites", rows, ("psycopg", "fastapi"), write=args.write))


if __name__ == "__main__":
    main()
