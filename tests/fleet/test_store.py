# SPDX-License-Identifier: Apache-2.0
"""Storing is exact for repeated, late and reordered records, and for concurrent workers."""

import threading
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from tcuq.errors import FleetError
from tcuq.fleet.store.batch import Batch
from tcuq.fleet.store.migrate import migrate, migrations
from tcuq.fleet.store.store import Store
from tcuq.telemetry import RECORD, Reason

Array = NDArray[Any]


def record(device: int, boot: int, sequence: int, steps: int, **fields: int) -> Array:
    """Return one record; a tenth of its steps abstained."""
    row = np.zeros(1, RECORD)
    row["version"], row["device"], row["boot"], row["sequence"] = 1, device, boot, sequence
    row["steps"], row["abstained"] = steps % 2**32, steps // 10 % 2**32
    for name, value in fields.items():
        row[name] = value
    return row


def put(store: Store, *records: Array) -> Array:
    """Store records as one batch from one site; return the acks."""
    return store.put(Batch.of([(np.concatenate(records), store.site("berlin"))]))


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


def test_large_unsigned_numbers_are_stored(store: Store) -> None:
    """Ids, boots and sequences of 2^31, 2^63 and more keep their order."""
    big = 2**32 - 1
    put(store, record(2**64 - 1, big - 1, big, 100, profile=big, firmware=big))
    acks = put(store, record(2**64 - 1, big, 0, 60, profile=big, firmware=big))
    assert tuple(acks[0]) == (2**64 - 1, big, 0)
    assert sums(store)[1] == 160


def test_an_epoch_closes_with_its_last_evidence(store: Store) -> None:
    """The first record of an epoch closes the previous one with its last evidence."""
    put(store, record(7, 1, 0, 100, epoch=3, evidence_q8=700))
    put(store, record(7, 1, 1, 200, epoch=3, evidence_q8=900))
    put(store, record(7, 1, 2, 300, epoch=4, evidence_q8=-20))
    put(store, record(7, 1, 3, 400, epoch=4, evidence_q8=-40))
    state = store.connection.execute(
        "SELECT closed_epoch, closed_evidence_q8, epoch, evidence_q8 FROM devices"
    ).fetchall()
    assert state == [(3, 900, 4, -40)]
    past = store.connection.execute("SELECT epoch, evidence_q8, steps FROM epochs").fetchall()
    assert past == [(3, 900, 300)]


@pytest.mark.parametrize("same_record", [False, True])
def test_a_new_firmware_is_not_judged_by_the_old_ones_evidence(
    store: Store, *, same_record: bool
) -> None:
    """A new firmware has no closed epoch until it closes its own."""
    put(store, record(7, 1, 0, 100, epoch=3, evidence_q8=900, firmware=1))
    put(store, record(7, 1, 1, 200, epoch=4, evidence_q8=800, firmware=1))
    new = 5 if same_record else 4
    put(store, record(7, 2, 0, 10, epoch=new, evidence_q8=-10, firmware=2))
    query = "SELECT closed_epoch >= 0, closed_evidence_q8 FROM devices"
    ((judgeable, _),) = store.connection.execute(query).fetchall()
    assert not judgeable
    put(store, record(7, 2, 1, 20, epoch=new, evidence_q8=-20, firmware=2))
    put(store, record(7, 2, 2, 30, epoch=new + 1, evidence_q8=0, firmware=2))
    assert store.connection.execute(query).fetchall() == [(True, -20)]
    past = store.connection.execute("SELECT epoch, evidence_q8 FROM epochs ORDER BY epoch")
    assert past.fetchall() == [(3, 900), *([(4, 800), (5, -20)] if same_record else [(4, -20)])]


def test_concurrent_workers_count_once(database: str) -> None:
    """Four workers that store the same shuffled records count each once."""
    rng = np.random.default_rng(5)
    records = np.concatenate(
        [
            record(device, boot, sequence, 100 * (sequence + 1))
            for device in range(50)
            for boot in (1, 2)
            for sequence in range(4)
        ]
    )
    # A device sends nothing of a boot until the previous boot is acknowledged.
    first, second = records[records["boot"] == 1], records[records["boot"] == 2]
    failures: list[BaseException] = []

    def work(part: Array, order: Array) -> None:
        try:
            with Store(database) as store:
                for chunk in np.array_split(part[order], 10):
                    put(store, chunk)
        except psycopg.Error as error:
            failures.append(error)

    for part in (first, second):
        threads = [
            threading.Thread(target=work, args=(part, rng.permutation(len(part)))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
    with Store(database) as store:
        assert sums(store)[1] == 50 * 2 * 400


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
