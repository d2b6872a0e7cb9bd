# SPDX-License-Identifier: Apache-2.0
"""Closed epochs in the store: none is lost, and each belongs to its profile and firmware."""

from typing import Any

import numpy as np
import pytest

from fleet.tests.fixtures.records import put, record
from tcuq.telemetry import NO_MEAN
from tcuq_fleet.judge.evidence import judged_q8
from tcuq_fleet.store.store import Store


def epochs_of(store: Store) -> list[Any]:
    """Return the only device's closed epoch, its evidence, and what it is judged by."""
    query = "SELECT closed_epoch, closed_evidence, judged_q8 FROM devices"
    return list(store.connection.execute(query).fetchone() or ())


def history_of(store: Store) -> list[Any]:
    """Return epoch, evidence and steps of every closed epoch that is stored."""
    query = "SELECT epoch, evidence, steps FROM epochs ORDER BY boot, epoch"
    return store.connection.execute(query).fetchall()


def test_a_lost_record_loses_no_closed_epoch(store: Store) -> None:
    """The first record that arrives after an epoch brings that epoch's evidence."""
    put(store, record(7, 1, 0, 100, epoch=0, evidence=30))
    assert epochs_of(store) == [None, None, 128 * 30 - 256]
    put(store, record(7, 1, 9, 900, epoch=1, evidence=-2, closed=60))
    assert epochs_of(store) == [0, 60, 128 * 60 - 256]
    put(store, record(7, 1, 10, 950, epoch=1, evidence=60, closed=60))
    assert epochs_of(store) == [0, 60, 128 * 60]
    put(store, record(7, 1, 30, 3000, epoch=3, evidence=-128, closed=-40))
    assert epochs_of(store) == [2, -40, 128 * -40 - 256]
    assert history_of(store) == [(0, 60, 900), (2, -40, 3000)]


def test_what_closed_epochs_said_survives_reboots_and_lost_flash(store: Store) -> None:
    """A device that starts again at epoch 0 keeps its closed epoch until it closes another."""
    put(store, record(7, 1, 5, 500, epoch=12, evidence=20, closed=50))
    put(store, record(7, 2, 0, 100, epoch=12, evidence=22, closed=50))
    assert epochs_of(store)[:2] == [11, 50]
    put(store, record(7, 3, 0, 100, epoch=0, evidence=-10, closed=77))
    assert epochs_of(store) == [11, 50, 128 * 50 - 256]
    put(store, record(7, 3, 1, 200, epoch=1, evidence=-4, closed=-6))
    assert epochs_of(store)[:2] == [0, -6]
    assert history_of(store) == [(11, 50, 500), (0, -6, 200)]


def test_an_older_snapshot_does_not_bring_back_an_older_epoch(store: Store) -> None:
    """A power cut before the snapshot repeats an epoch: the stored one stays until it closes."""
    put(store, record(7, 1, 5, 500, epoch=12, evidence=-8, closed=50))
    put(store, record(7, 2, 0, 100, epoch=11, evidence=44, closed=2))
    assert epochs_of(store)[:2] == [11, 50]
    put(store, record(7, 2, 1, 200, epoch=12, evidence=-9, closed=46))
    assert epochs_of(store)[:2] == [11, 46]


def test_a_new_profile_has_no_closed_epoch_until_it_closes_one(store: Store) -> None:
    """A new profile starts at epoch 0 and is judged by its running epoch at first."""
    put(store, record(7, 1, 5, 500, epoch=12, evidence=60, closed=60, profile=1))
    put(store, record(7, 2, 0, 100, epoch=0, evidence=-5, closed=60, profile=2))
    assert epochs_of(store)[:2] == [None, None]
    assert epochs_of(store)[2] < 0
    put(store, record(7, 2, 1, 200, epoch=1, evidence=-5, closed=8, profile=2))
    assert epochs_of(store)[:2] == [0, 8]


@pytest.mark.parametrize("same_record", [False, True])
def test_a_new_firmware_is_not_judged_by_the_old_ones_evidence(
    store: Store, *, same_record: bool
) -> None:
    """Only epochs that began with the firmware count; all of them stay in the history."""
    put(store, record(7, 1, 0, 100, epoch=4, evidence=40, closed=50, firmware=1))
    new = 5 if same_record else 4
    put(store, record(7, 2, 0, 10, epoch=new, evidence=45, closed=new * 10, firmware=2))
    assert epochs_of(store) == [None, None, None]
    put(store, record(7, 2, 1, 20, epoch=new + 1, evidence=-20, closed=48, firmware=2))
    assert epochs_of(store)[:2] == [None, None]
    assert epochs_of(store)[2] < 0
    put(store, record(7, 2, 2, 30, epoch=new + 2, evidence=0, closed=-18, firmware=2))
    assert epochs_of(store)[:2] == [new + 1, -18]
    assert len(history_of(store)) == (4 if same_record else 3)


def test_a_mixed_epoch_that_nobody_saw_end_does_not_hide_the_next(store: Store) -> None:
    """If records of a whole epoch are lost, the last closed one began with the new firmware."""
    put(store, record(7, 1, 0, 100, epoch=4, evidence=40, closed=50, firmware=1))
    put(store, record(7, 2, 0, 10, epoch=4, evidence=45, closed=50, firmware=2))
    put(store, record(7, 2, 9, 900, epoch=6, evidence=0, closed=14, firmware=2))
    assert epochs_of(store)[:2] == [5, 14]


def test_the_judged_evidence_is_the_mean_of_two_e_values(store: Store) -> None:
    """All pairs of half bits give the rounded mean, in the store and in Python."""
    closed, running = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    records = np.repeat(record(0, 1, 0, 0, epoch=1), closed.size)
    records["device"] = np.arange(closed.size)
    records["closed"], records["evidence"] = closed.ravel(), running.ravel()
    put(store, records)
    rows = store.connection.execute("SELECT judged_q8 FROM devices ORDER BY device").fetchall()
    stored = np.array(rows).ravel()
    np.testing.assert_array_equal(stored, judged_q8(closed.ravel(), running.ravel()))
    e_values = [np.where(e == -128, 0.0, np.exp2(e / 2)).ravel() for e in (closed, running)]
    loss = np.log2(np.maximum(sum(e_values) / 2, 1e-300)) - stored / 256
    assert loss[stored > -30 * 256].min() > -1e-9
    assert loss[stored > -30 * 256].max() < 2 / 256


def errors_of(store: Store) -> tuple[int | None, list[int | None]]:
    """Return the device's expected error, and that of each stored epoch."""
    row = store.connection.execute("SELECT expected_error FROM devices").fetchone()
    query = "SELECT expected_error FROM epochs ORDER BY boot, epoch"
    return (row or (None,))[0], [error for (error,) in store.connection.execute(query)]


def test_the_expected_error_is_of_the_first_epoch_so_far_then_of_the_last_closed(
    store: Store,
) -> None:
    """Only closed epochs are kept, and a device that lost its flash keeps the stored one."""
    put(store, record(7, 1, 0, 100, epoch=0, expected_error=NO_MEAN))
    assert errors_of(store) == (None, [])
    put(store, record(7, 1, 1, 200, epoch=0, expected_error=900))
    assert errors_of(store) == (900, [])
    put(store, record(7, 1, 2, 300, epoch=1, expected_error=800))
    put(store, record(7, 1, 3, 400, epoch=1, expected_error=800))
    assert errors_of(store) == (800, [800])
    put(store, record(7, 2, 0, 100, epoch=0, expected_error=5))
    assert errors_of(store) == (800, [800])


def test_a_new_firmware_has_no_estimate_until_it_closes_its_own_epoch(store: Store) -> None:
    """The epoch that began under another firmware counts for neither."""
    put(store, record(7, 1, 0, 100, firmware=1, epoch=4, expected_error=800))
    for sequence, epoch in ((1, 4), (2, 5)):
        put(store, record(7, 1, sequence, 200, firmware=2, epoch=epoch, expected_error=900))
        assert errors_of(store)[0] is None
    put(store, record(7, 1, 3, 300, firmware=2, epoch=6, expected_error=700))
    assert errors_of(store)[0] == 700
