# SPDX-License-Identifier: Apache-2.0
"""Retention: cohorts' old hours become days of their sites, with the same sums."""

import os
import re
import subprocess
import threading
from pathlib import Path

import psycopg
import pytest

from tcuq_fleet.judge import retention
from tcuq_fleet.judge.retention import compact
from tcuq_fleet.store.store import Store


def add_hours(store: Store, hours: int, sites: int) -> None:
    """Insert one cohort row per hour and site, with counters that differ."""
    store.connection.execute(
        "INSERT INTO cohorts SELECT 1, 1 + site %% 2, site, date_trunc('hour', now())"
        " - h * interval '1 hour', 1 + h, 10 * h, h + site, site, 3, 1"
        " FROM generate_series(0, %s) AS h, generate_series(1, %s) AS site",
        [hours - 1, sites],
    )


def total(store: Store) -> tuple[int, ...]:
    """Return the sums over hours and days together."""
    row = store.connection.execute(
        "SELECT sum(records), sum(steps), sum(abstained), sum(denied), sum(exceeded), sum(alarms)"
        " FROM (SELECT records, steps, abstained, denied, exceeded, alarms FROM cohorts UNION ALL"
        " SELECT records, steps, abstained, denied, exceeded, alarms FROM site_days) AS stored"
    ).fetchone()
    assert row is not None
    return tuple(int(value) for value in row)


def test_old_hours_become_days_and_sums_stay(store: Store) -> None:
    """After a week an hour is part of its site's day; a second pass changes nothing."""
    add_hours(store, 240, 3)
    before = total(store)
    assert compact(store.connection) in (240 - retention.COHORT_HOURS, 239 - retention.COHORT_HOURS)
    assert total(store) == before
    assert compact(store.connection) == 0
    rows = store.connection.execute("SELECT count(DISTINCT hour) FROM cohorts").fetchone()
    assert rows is not None
    assert rows[0] in (retention.COHORT_HOURS, retention.COHORT_HOURS + 1)


def test_many_sites_keep_fewer_hours_in_full(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more rows than the limit only the newest hours stay, at least the last two."""
    monkeypatch.setattr(retention, "MAX_COHORT_ROWS", 100)
    add_hours(store, 24, 20)
    before = total(store)
    compact(store.connection)
    assert total(store) == before
    hours = store.connection.execute("SELECT count(DISTINCT hour) FROM cohorts").fetchone()
    assert hours == (5,)
    monkeypatch.setattr(retention, "MAX_COHORT_ROWS", 1)
    compact(store.connection)
    assert total(store) == before
    cursor = store.connection.execute("SELECT min(hour) > now() - interval '3 h' FROM cohorts")
    assert cursor.fetchone() == (True,)


def test_records_stored_while_hours_are_summed_are_counted_once(
    store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that adds to an hour while it is moved loses nothing."""
    monkeypatch.setattr(retention, "MAX_COHORT_ROWS", 0)
    monkeypatch.setattr(retention, "MIN_COHORT_HOURS", -1)
    add_hours(store, 1, 50)
    before, added = total(store), 300

    def add() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            for turn in range(added):
                connection.execute(
                    "INSERT INTO cohorts AS sum VALUES (1, %s, %s, date_trunc('hour', now()), 1, 1,"
                    " 1, 1, 1, 1) ON CONFLICT (hour, profile, firmware, site) DO UPDATE SET"
                    " records = sum.records + 1, steps = sum.steps + 1,"
                    " abstained = sum.abstained + 1, denied = sum.denied + 1,"
                    " exceeded = sum.exceeded + 1, alarms = sum.alarms + 1",
                    [1 + turn % 2, turn % 50],
                )

    writer = threading.Thread(target=add)
    writer.start()
    while writer.is_alive():
        compact(store.connection)
    writer.join()
    assert total(store) == tuple(value + added for value in before)


def test_the_pages_statements_delete_a_device_from_every_table(store: Store, database: str) -> None:
    """They run as typed and name each table with ids of devices; the registry's row stays."""
    page = (Path(__file__).parents[1] / "docs/operate.md").read_text("utf-8")
    (statements,) = re.findall(r"^\$ (psql .*?^SQL)$", page, re.MULTILINE | re.DOTALL)
    store.connection.execute(
        "INSERT INTO registry (device, state, name, changed_by) VALUES (1234, 'retired', 'a', 'b');"
        "INSERT INTO quarantine (device, site, boot, record) VALUES (1234, 1, 1, '')"
    )
    environment = {**os.environ, "DATABASE": database}
    subprocess.run(["bash", "-euc", statements], env=environment, check=True)
    left = store.connection.execute(
        "SELECT (SELECT count(*) FROM quarantine), (SELECT count(name) FROM registry), count(*)"
        " FROM registry"
    ).fetchone()
    assert left == (0, 0, 1)
    tables = store.connection.execute(
        "SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
        " WHERE relkind IN ('r', 'p') AND NOT relispartition AND attname = 'device'"
        " AND relnamespace = 'public'::regnamespace"
    ).fetchall()
    deleted = set(re.findall(r"DELETE FROM (\w+)", statements))
    assert {name for (name,) in tables} - {"registry"} <= deleted
