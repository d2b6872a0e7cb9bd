# SPDX-License-Identifier: Apache-2.0
"""Storing is exact for repeated, late and reordered records, and for concurrent workers."""

import threading
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from fleet.tests.fixtures.records import put, record
from tcuq.telemetry import Reason
from tcuq_fleet.errors import FleetError
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.migrate import migrate, migrations
from tcuq_fleet.store.store import Store

Array = NDArray[Any]


def sums(store: Store) -> tuple[int, int, int]:
    """Return records, steps and abstentions over all cohorts."""
    row = store.connection.execute(
        "SELECT sum(records), sum(steps), sum(abstained) FROM cohorts"
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def test_a_record_adds_its_difference(store: Store) -> None:
    """A record adds the difference of its cumulative counters."""
    put(store, record(7, 1, 0, 100))
    put(store, record(7, 1, 1, 250))
    assert sums(store) == (2, 250, 25)


def test_a_repeated_record_adds_nothing_and_is_acknowledged(store: Store) -> None:
    """A record that is stored three times counts once and gets three acks."""
    acks = [put(store, record(7, 1, 0, 100)) for _ in range(3)]
    assert sums(store) == (1, 100, 10)
    assert [tuple(ack[0]) for ack in acks] == [(7, 1, 0)] * 3


def test_a_late_record_changes_nothing(store: Store) -> None:
    """An older sequence or boot changes nothing, and its ack holds the stored state."""
    put(store, record(7, 2, 5, 500))
    assert tuple(put(store, record(7, 2, 3, 300))[0]) == (7, 2, 5)
    assert tuple(put(store, record(7, 1, 9, 900))[0]) == (7, 2, 5)
    assert sums(store) == (1, 500, 50)


def test_boots_in_one_batch_are_each_counted(store: Store) -> None:
    """Of three boots in one batch the newest record of each is counted."""
    acks = put(
        store,
        record(7, 3, 0, 30),
        record(7, 1, 4, 100),
        record(7, 2, 1, 20),
        record(7, 1, 2, 50),
    )
    assert sums(store) == (3, 150, 15)
    assert [tuple(row) for row in acks] == [(7, 1, 4), (7, 2, 1), (7, 3, 0)]


def test_counters_wrap(store: Store) -> None:
    """A counter that wraps at 2^32 keeps adding to the sum."""
    put(store, record(7, 1, 0, 2**32 - 50, histogram_shift=20))
    put(store, record(7, 1, 1, 2**32 + 50, histogram_shift=20))
    assert sums(store)[1] == 2**32 + 50


def test_a_record_may_add_any_number_below_2_to_the_32(store: Store) -> None:
    """What a record adds is exact from 2^31 on too, where it exceeds a signed integer."""
    large = 3 * 2**30
    put(store, record(7, 1, 0, large))
    put(store, record(7, 1, 1, 2 * large))
    put(store, record(7, 2, 0, large))
    assert sums(store) == (3, 3 * large, 3 * (large // 10))


def test_a_page_holds_29_devices_or_more(store: Store) -> None:
    """A row takes 200 bytes at most, with a closed epoch and without one."""
    put(store, record(7, 1, 0, 100), record(8, 1, 0, 100, epoch=1, closed=3))
    sizes = store.connection.execute("SELECT max(pg_column_size(devices)) FROM devices").fetchone()
    assert sizes is not None
    assert sizes[0] <= 200


def test_large_unsigned_numbers_are_stored(store: Store) -> None:
    """Ids, boots and sequences of 2^31, 2^63 and more keep their order."""
    big = 2**32 - 1
    put(store, record(2**64 - 1, big - 1, big, 100, profile=big, firmware=big))
    acks = put(store, record(2**64 - 1, big, 0, 60, profile=big, firmware=big))
    assert tuple(acks[0]) == (2**64 - 1, big, 0)
    assert sums(store)[1] == 160


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_concurrent_workers_count_once_and_never_deadlock(database: str, workers: int) -> None:
    """Workers that store overlapping records of known and new devices at once count each once.

    Devices appear while others are updated, and some batches hold two boots of a device.
    """
    rng = np.random.default_rng(workers)
    known = np.concatenate([record(device, 1, 0, 100) for device in range(200)])
    with Store(database) as store:
        put(store, known)
    failures: list[BaseException] = []

    def work(batches: list[Array]) -> None:
        try:
            with Store(database) as store:
                for batch in batches:
                    put(store, batch)
        except psycopg.Error as error:
            failures.append(error)

    for step in range(1, 6):
        records = np.repeat(known, 2)
        records = np.concatenate([records, records])
        records["device"] = np.arange(len(records)) // 2 + 40 * step
        records["boot"] = np.arange(len(records)) % 2 + 2 * step
        batches = [
            records[np.repeat(rng.random(len(records) // 2) < 0.5, 2)] for _ in range(4 * workers)
        ]
        batches[-1] = records
        threads = [
            threading.Thread(target=work, args=(batches[turn::workers],)) for turn in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
    with Store(database) as store:
        assert sums(store)[:2] == (200 + 5 * 800, 100 * (200 + 5 * 800))


def test_a_batch_that_fails_leaves_nothing(store: Store) -> None:
    """A failed transaction stores neither records nor dead letters."""
    bad = record(7, 1, 0, 100)
    batch = Batch.of([(bad, 2**31 - 1)])
    store.connection.execute("ALTER TABLE cohorts ADD CHECK (site < 1000)")
    with pytest.raises(psycopg.errors.CheckViolation):
        store.put(batch, [(Reason.SIZE, "tcuq/x/y/record", b"short")])
    for table in ("devices", "cohorts", "dead_letters"):
        row = store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        assert row == (0,)


def test_the_same_dead_letter_is_one_row(store: Store) -> None:
    """A repeated dead letter is stored once."""
    dead_letters = [(Reason.CHECKSUM, "tcuq/x/7/record", b"\x01damaged")] * 3
    store.put(Batch.of([]), dead_letters)
    store.put(Batch.of([]), dead_letters)
    rows = store.connection.execute("SELECT reason, topic, payload FROM dead_letters").fetchall()
    assert rows == [(Reason.CHECKSUM, "tcuq/x/7/record", b"\x01damaged")]


def test_migrating_twice_changes_nothing_and_a_newer_schema_is_refused(store: Store) -> None:
    """A second migration changes nothing, and a schema newer than tcuq's is an error."""
    newest = migrations()[-1][0]
    assert migrate(store.connection) == newest
    store.connection.execute("INSERT INTO schema_version VALUES (%s)", [newest + 1])
    with pytest.raises(FleetError, match="upgrade tcuq first"):
        migrate(store.connection)
